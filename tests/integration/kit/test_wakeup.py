"""What wakes a worker: when it is sent, and what a Redis that hangs costs.

Not here: Redis that is not there (tests/integration/changes/test_wakeup.py).
"""

import os
import re
import socket
import subprocess
import sys
import time

import pytest
from django.db import transaction

from accounting.kit.wakeup import WRITE_EXPORTS, wake_worker
from tests.integration.wakeups import BROKER, sent_tasks

NOT_WAITED_S = 5.0  # Celery would wait 30 s

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_task_is_sent_when_its_transaction_commits(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sent_tasks(redis_url, monkeypatch) as sent:
        with transaction.atomic():
            wake_worker("accounting.tasks.ingest", 7)
        with transaction.atomic():
            wake_worker("accounting.tasks.ingest", 8)
            transaction.set_rollback(True)
    assert sent == [("accounting.tasks.ingest", "(7,)")]


COMMAND = """
import django
django.setup()
from accounting.kit import wakeup
wakeup._send(wakeup.WRITE_EXPORTS, ())
"""  # without a database there is no transaction to wait for


def test_a_command_wakes_the_workers_of_its_installation(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`manage.py` imports no Celery application: tasks went to Celery's own default broker."""
    with sent_tasks(redis_url, monkeypatch) as sent:
        own = re.sub(r"(\?db=|/)\d+$", r"\g<1>15", redis_url)
        environment = {key: value for key, value in os.environ.items() if key != BROKER}
        environment |= {
            "REDIS_URL": own,
            "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
            "DJANGO_SETTINGS_MODULE": "portal.settings",
        }
        subprocess.run(
            [sys.executable, "-c", COMMAND], env=environment, check=True, timeout=60
        )
    assert sent == [(WRITE_EXPORTS, "()")]


def test_nobody_waits_for_a_redis_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv(BROKER, f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        began = time.monotonic()
        wake_worker(WRITE_EXPORTS)
        assert time.monotonic() - began < NOT_WAITED_S
