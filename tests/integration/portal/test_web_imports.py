"""What processes load: the web no way to a cluster, workers no pages, the scheduler no tasks."""

import subprocess
import sys

LOAD = """
import sys
import portal.wsgi
assert "accounting.usage.pages" in sys.modules, "each process would import the pages"
from celery import current_app
assert current_app.main == "gpu_ledger", "pages would ring at a broker of nobody"
found = [n for n in ("kubernetes", "prometheus_api_client") if n in sys.modules]
import gc
from portal.http.collector import NEW_OBJECTS
assert gc.isenabled(), "its garbage would stay"
assert gc.get_freeze_count() and gc.get_threshold()[0] == NEW_OBJECTS, "pages wait for it"
import os, threading
assert threading.active_count() == 1, "processes are forked here, without other threads"
links = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
opened = [os.readlink(link) for link in links if os.path.islink(link)]
assert not [one for one in opened if one.startswith("socket:")], "they would share it"
sys.exit(", ".join(found) if found else 0)
"""

LOAD_TASKS = """
import sys
import portal.celery
portal.celery.app.loader.import_default_modules()
assert "accounting.tasks.sweep" in portal.celery.app.tasks
sys.exit("it has pages" if "portal.urls" in sys.modules else 0)
"""

LOAD_TIMETABLE = """
import logging, sys
import portal.beat
from portal.timetable import TIMETABLE
assert portal.beat.app.conf.beat_schedule == TIMETABLE
assert logging.getLogger().handlers, "its errors would go nowhere"
found = [n for n in ("accounting.models", "accounting.tasks", "numpy") if n in sys.modules]
sys.exit(", ".join(found) if found else 0)
"""


def test_the_web_process_cannot_speak_to_clusters() -> None:
    """35 MB and 0.2 s that it does without, and no request can wait on a cluster."""
    assert_ends_well(LOAD)


def test_workers_have_no_pages() -> None:
    """70 MB and 0.8 s that each does without."""
    assert_ends_well(LOAD_TASKS)


def test_the_scheduler_has_a_timetable_and_no_tasks() -> None:
    """40 MB and 1.4 s of processor time that it does without."""
    assert_ends_well(LOAD_TIMETABLE)


def assert_ends_well(code: str) -> None:
    """A new process that runs some code has nothing to complain about."""
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr[-500:]
