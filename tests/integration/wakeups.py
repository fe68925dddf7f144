"""What this process sends to workers: a broker of its own, which no worker of other tests reads."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

BROKER = "CELERY_BROKER_URL"  # Celery prefers it to the settings


@contextmanager
def sent_tasks(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[tuple[str, str]]]:
    """The names and arguments of the tasks that were sent; complete when the context ends."""
    own = re.sub(r"(\?db=|/)\d+$", r"\g<1>15", redis_url)
    assert own != redis_url
    address = own.replace("unix://", "redis+socket://").replace("?db", "?virtual_host")
    found: list[tuple[str, str]] = []
    with monkeypatch.context() as patched, redis.Redis.from_url(own) as client:
        patched.setenv(BROKER, address)
        client.flushdb()
        yield found
        sent = [json.loads(one)["headers"] for one in client.lrange("celery", 0, -1)]
        found += [(one["task"], one["argsrepr"]) for one in reversed(sent)]
        client.flushdb()
