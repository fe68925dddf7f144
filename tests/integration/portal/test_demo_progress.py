"""The demo says how much is loaded, and goes on while Redis does not answer.

Redis is an embedded server of these tests, halted by SIGSTOP. Not here: a killed manager of the
services (test_services).
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.cache import cache

from portal.demo.bootstrap.progress import PROGRESS, ProgressReport
from portal.embedded import lease
from tests.processes import processes_of


@pytest.fixture
def redis_pid(tmp_path: Path, settings: LazySettings) -> Iterator[int]:
    """The process of a Redis that is the cache."""
    home = tmp_path / "home"
    places = lease.acquire(home, is_temporary=True)
    default = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": places.redis_url,
        "OPTIONS": {"socket_timeout": 0.2},
    }
    settings.CACHES = {**settings.CACHES, "default": default}
    pids = [
        pid for pid, line in processes_of(str(home)).items() if "redis-server" in line
    ]
    yield pids[0]
    lease.release(home)


def test_demo_says_once_that_redis_does_not_answer(redis_pid: int) -> None:
    said: list[str] = []
    report = ProgressReport(said.append)
    cache.set(PROGRESS, (3, 57))
    report.look()
    report.look()
    assert said == ["History: 3 of 57 days are loaded"]
    os.kill(redis_pid, signal.SIGSTOP)
    try:
        report.look()
        report.look()
    finally:
        os.kill(redis_pid, signal.SIGCONT)
    cache.set(PROGRESS, (4, 57))
    report.look()
    assert len(said) == 4
    assert said[1].startswith("Redis does not answer (")
    assert said[2:] == ["Redis answers again", "History: 4 of 57 days are loaded"]
