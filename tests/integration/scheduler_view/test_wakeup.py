"""The message that wakes a worker: where it goes, and what a lost Redis costs.

Not here: that the work is found without it (tests/integration/faults/test_services_lost.py).
"""

import json
import re
import time

import pytest
import redis

from scheduler_view.wakeup import WORK, ring
from tests.ports import free_port

BROKER = "CELERY_BROKER_URL"  # Celery prefers it to the settings
NOT_WAITED_S = 1.0  # Celery would take 6 s

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_task_is_sent_to_redis(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a database of its own: workers of other tests read the first
    own = re.sub(r"(\?db=|/)\d+$", r"\g<1>15", redis_url)
    assert own != redis_url
    address = own.replace("unix://", "redis+socket://").replace("?db", "?virtual_host")
    monkeypatch.setenv(BROKER, address)
    ring(7)
    with redis.Redis.from_url(own) as client:
        sent = [json.loads(one)["headers"] for one in client.lrange("celery", 0, -1)]
        client.flushdb()
    assert [(one["task"], one["argsrepr"]) for one in sent] == [(WORK, "(7,)")]


def test_a_page_does_not_wait_for_a_lost_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BROKER, f"redis://127.0.0.1:{free_port()}/0")
    began = time.monotonic()
    ring(7)
    assert time.monotonic() - began < NOT_WAITED_S
