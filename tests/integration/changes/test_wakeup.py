"""The message that wakes a worker: where it goes, and what a lost Redis costs.

Not here: that the work is found without it (tests/integration/faults/test_services_lost.py).
"""

import time

import pytest

from scheduler_view.changes.actions.change_sets import WORK, wake_for_cluster
from tests.integration.wakeups import BROKER, sent_tasks
from tests.ports import free_port

NOT_WAITED_S = 1.0  # Celery would take 6 s

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_task_is_sent_to_redis(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sent_tasks(redis_url, monkeypatch) as sent:
        wake_for_cluster(7)
    assert sent == [(WORK, "(7,)")]


def test_a_page_does_not_wait_for_a_lost_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BROKER, f"redis://127.0.0.1:{free_port()}/0")
    began = time.monotonic()
    wake_for_cluster(7)
    assert time.monotonic() - began < NOT_WAITED_S
