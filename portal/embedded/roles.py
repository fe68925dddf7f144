"""The command line of each role, in one place: for containers and for the demo.

`python -m portal.embedded.roles web` becomes the web server of this environment.
"""

import os
import sys
import tempfile
from pathlib import Path

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
WEB_THREADS = 8  # per process; a page waits for PostgreSQL most of the time
WEB_PROCESSES = 2
WEB_TIMEOUT_S = 60  # of a process that does not respond; a slow download is in a thread
WORKER_PROCESSES = 2
OBSERVER_ALIVE = Path(tempfile.gettempdir()) / "gpu-ledger-observer"  # of a container


def web(
    bind: str = "0.0.0.0:8000",  # every address of its container
    timeout_s: int = WEB_TIMEOUT_S,
) -> list[str]:
    """The pages and the API."""
    return [
        *(sys.executable, "-m", "gunicorn", "portal.wsgi"),
        f"--bind={bind}",
        "--worker-class=portal.http.patient_worker.PatientWorker",  # gthread that never waits
        "--no-sendfile",  # it would wait
        "--preload",  # imported once, for all processes and their successors
        f"--workers={os.environ.get('WEB_PROCESSES', WEB_PROCESSES)}",
        f"--threads={WEB_THREADS}",
        f"--timeout={timeout_s}",
        "--graceful-timeout=10",
        "--max-requests=5000",
        "--max-requests-jitter=500",
        "--forwarded-allow-ips=",  # scheme and path come from our settings, not from a
        "--forwarder-headers=",  # header of a process on the same machine
        "--no-control-socket",  # it would need a writable home
        "--worker-tmp-dir=/dev/shm",  # heartbeats do not wait for a disk
        "--logger-class=portal.http.server_log.ServerLog",
        "--log-level=warning",
    ]


def worker() -> list[str]:
    """One worker with its child processes; start more of them to scale."""
    return [
        *(sys.executable, "-m", "celery", "--app=portal", "worker"),
        f"--concurrency={os.environ.get('WORKER_PROCESSES', WORKER_PROCESSES)}",
        # after Redis was lost, they have stopped workers from responding
        "--without-mingle",
        "--without-gossip",
        # Nobody reads worker events. Without Redis, sending one is retried without end, and a
        # worker that should stop does not.
        "--without-heartbeat",
        "--loglevel=warning",
    ]


def beat() -> list[str]:
    """The scheduler of tasks; a second one waits for the lock of the first."""
    return [
        *(sys.executable, "-m", "celery", "--app=portal.beat", "beat"),
        "--scheduler=redbeat.RedBeatScheduler",
        "--pidfile=",
        "--loglevel=warning",
    ]


def observer() -> list[str]:
    """Follows the quotas and priority classes of every cluster with a reader."""
    command = [sys.executable, str(MANAGE), "observe", "--follow"]
    return [*command, f"--alive-file={OBSERVER_ALIVE}"]


def migrate() -> list[str]:
    """Migrates the tables and grants the services' role its permissions, then ends."""
    return [sys.executable, str(MANAGE), "prepare_database"]


ROLES = {
    "web": web,
    "worker": worker,
    "beat": beat,
    "observer": observer,
    "migrate": migrate,
}


def main(arguments: list[str]) -> int:
    """Become the role in the only argument; returns for wrong use only."""
    role = ROLES.get(arguments[0]) if len(arguments) == 1 else None
    if role is not None:
        command = role()
        os.execv(command[0], command)  # noqa: S606  # signals must reach the role
    sys.stderr.write(f"one of these is needed: {', '.join(ROLES)}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
