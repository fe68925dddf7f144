"""A sender that is killed between sending and storing, or right after it: nothing is lost, and a
repeat has the Message-ID of the first.
"""

import signal
from collections import Counter

import pytest

from accounting.notifications.actions import enqueue
from accounting.notifications.models import (
    Notification,
    NotificationKind,
    NotificationState,
)
from tests.integration.faults.support import environment, process
from tests.mail_server import Mailbox, mail_server

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(180),
]
SEND = ("shell", "--no-imports", "-c")
CODE = "from accounting.notifications.tasks import send_due; print(send_due(for_s=30))"
COUNT = 5  # messages


def run(mailbox: Mailbox, redis_url: str, failpoint: str = "") -> int:
    """Send in a process of its own; its exit status."""
    seen = environment(redis_url, failpoint) | {
        "SMTP_URL": f"smtp://127.0.0.1:{mailbox.port}?tls=none",
        "MAIL_FROM": "ledger@example.org",
    }
    return process(seen, *SEND, CODE).returncode


@pytest.mark.parametrize(
    ("failpoint", "repeats"), [("notification_sent", 1), ("notification_stored", 0)]
)
def test_a_killed_sender_loses_nothing(
    failpoint: str, repeats: int, redis_url: str
) -> None:
    for number in range(COUNT):
        to = f"p{number}@example.org"
        enqueue(to, NotificationKind.ALERT, "Hot", "91 °C", key=f"k{number}")
    wanted = {*Notification.objects.values_list("message_id", flat=True)}
    kills = 0
    with mail_server() as mailbox:
        for at in (1, 2, 2):  # the first message it tries, then the second
            kills += 1
            status = run(mailbox, redis_url, f"{failpoint}:kill:{at}")
            assert status == -signal.SIGKILL
        assert run(mailbox, redis_url) == 0
    assert {*mailbox.ids} == wanted
    assert len(mailbox.ids) == COUNT + repeats * kills
    assert max(Counter(mailbox.ids).values()) <= 1 + repeats * kills
    states = Notification.objects.values_list("state", flat=True)
    assert [*states] == [NotificationState.SENT] * COUNT
