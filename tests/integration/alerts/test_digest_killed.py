"""A worker that is killed right after it has told a person: both the mail and its record are gone,
and the next one writes one mail to each.
"""

import signal
from datetime import timedelta

import pytest
from django.utils import timezone

from accounting.access.models.people import OrganizationRole
from accounting.notifications.models import Notification
from scheduler_view.alerts.models import Alert, AlertTold
from scheduler_view.alerts.rules.catalogue import AlertRule
from tests.integration.faults.support import environment, process
from tests.integration.months.people import person

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(180),
]
TELL = ("shell", "--no-imports", "-c")
CODE = "from portal.digest.send import tell_everybody; print(tell_everybody())"


def test_a_killed_worker_tells_each_once(redis_url: str) -> None:
    for name in ("ana", "bea", "cleo"):
        person(name, OrganizationRole.FINANCE)
    fired = timezone.now() - timedelta(minutes=10)
    Alert.objects.create(
        rule=AlertRule.LATE,
        key="waste",
        what="waste is late",
        **dict.fromkeys(("since", "fired_at", "seen_at", "marked_at"), fired),
        figure=1,
        marked_figure=1,
        mark="new",
    )
    for done in (0, 1):
        dies = environment(redis_url, f"alerts_told:kill:{1 + done}")
        assert process(dies, *TELL, CODE).returncode == -signal.SIGKILL
        assert Notification.objects.count() == AlertTold.objects.count() == done
    for _ in range(2):
        assert process(environment(redis_url), *TELL, CODE).returncode == 0
    names = Notification.objects.values_list("person__username", flat=True)
    assert sorted(names) == ["ana", "bea", "cleo"]
    assert AlertTold.objects.count() == 3
