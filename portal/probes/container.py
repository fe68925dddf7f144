"""Health checks of containers: `python -m portal.probes.container web|worker|beat|observer`.

Exits with 0 if the role works. `web` calls the server of its own container, `worker` its own worker
over Redis (a connected worker may not respond), `beat` checks the lock that a working beat renews,
`observer` the file that it updates while all its watches run.
"""

import json
import os
import socket
import sys
import time
import urllib.request
from urllib.error import URLError

from portal.embedded.roles import OBSERVER_ALIVE

PATIENCE = 10  # seconds
OBSERVER_SILENT = 120  # seconds; it updates its file several times as often
BEAT_LOCK = "redbeat::lock"  # redbeat's own key; it expires if it is not renewed


def web() -> bool:
    """True if the server is ready."""
    port = os.environ.get("PORT", "8000")
    address = f"http://127.0.0.1:{port}/readyz"
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return all(json.load(answer).values())
    except (URLError, TimeoutError, ValueError):
        return False


def worker() -> bool:
    """True if the worker of this container accepts tasks."""
    from portal.celery import app  # noqa: PLC0415  # the web probe does without

    name = f"celery@{socket.gethostname()}"
    return bool(app.control.inspect([name], timeout=PATIENCE).ping())


def beat() -> bool:
    """True while a beat process holds the lock."""
    import redis  # noqa: PLC0415  # the web probe does without

    from portal.beat import app  # noqa: PLC0415  # the web probe does without

    with redis.Redis.from_url(app.conf.redbeat_redis_url) as client:
        return bool(client.exists(BEAT_LOCK))


def observer() -> bool:
    """True while every cluster is followed, including clusters that do not respond."""
    try:
        return time.time() - OBSERVER_ALIVE.stat().st_mtime < OBSERVER_SILENT
    except FileNotFoundError:
        return False


def main(arguments: list[str]) -> int:
    """Run one probe."""
    probes = {"web": web, "worker": worker, "beat": beat, "observer": observer}
    if len(arguments) != 1 or arguments[0] not in probes:
        sys.stderr.write(f"one of these is needed: {', '.join(probes)}\n")
        return 2
    return 0 if probes[arguments[0]]() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
