"""Two people choose the first threshold of a rule at the same moment (alerts.md R18).

Not here: who may choose which (test_alert_pages.py).
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from threading import Barrier, BrokenBarrierError

import pytest
from django.contrib.auth.models import User
from django.db import connection

from accounting.access.models.people import OrganizationRole
from accounting.kit.reads.database_clock import database_now
from scheduler_view.alerts import actions
from scheduler_view.alerts.models import AlertThreshold
from scheduler_view.alerts.rules.catalogue import AlertRule
from tests.integration.months.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def test_both_are_kept_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    people = [person(name, OrganizationRole.ADMIN) for name in ("ana", "ben")]
    both_have_read = Barrier(2)

    def now() -> datetime:
        with suppress(BrokenBarrierError):
            both_have_read.wait(0.5)
        return database_now()

    def choose(value: int, who: User) -> None:
        try:
            actions.set_threshold(AlertRule.IDLE, None, value, "Too loud.", who)
        finally:
            connection.close()

    monkeypatch.setattr(actions, "database_now", now)
    with ThreadPoolExecutor(2) as two:
        assert [*two.map(choose, (30, 60), people)] == [None, None]
    assert AlertThreshold.objects.get().value in {30, 60}
