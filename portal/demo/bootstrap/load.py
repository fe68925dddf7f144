"""Imports history into the ledger in the same way as any file: newest first."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.cache import cache

from accounting.audit import SYSTEM
from accounting.domain.core.interval import DAY_MS, WINDOW_MS, Interval
from accounting.ingest.imports import import_files, keep_files
from accounting.ingest.windows.backlog import backlog
from accounting.models import Cluster
from portal.demo.bootstrap.setup import CLUSTER
from portal.demo.bootstrap.state import Memory
from portal.demo.metrics.history import FileInterval, write
from portal.demo.scenario.engine import Engine

PROGRESS = "demo-history"  # cache key: (imported parts, total)
PROGRESS_S = 600  # seconds after which a progress that is not renewed is discarded


def load_next(engine: Engine, memory: Memory) -> None:
    """Import the newest missing part: its windows are computed when this returns."""
    stretch = memory.missing[0]
    with _written(engine, stretch) as path:
        import_files(CLUSTER, [path], actor=SYSTEM)
    memory.done(stretch)


def keep_next(engine: Engine, memory: Memory) -> None:
    """Store the newest missing part; its windows are due when this returns."""
    stretch = memory.missing[0]
    with _written(engine, stretch) as path:
        keep_files(CLUSTER, [path], actor=SYSTEM)
    memory.done(stretch)


@contextmanager
def _written(engine: Engine, stretch: FileInterval) -> Iterator[Path]:
    """The file of a part, until it is imported."""
    engine.advance(max(engine.now_s, stretch.last_s))
    with TemporaryDirectory(prefix="gpu-ledger-demo-") as folder:
        path = Path(folder) / f"{stretch.start_s}.om"
        write(engine, stretch, path)
        yield path


def waiting_days(memory: Memory) -> int:
    """Full days of history that are stored and not computed yet."""
    history = Interval(0, memory.until_s * 1000)
    found = backlog(Cluster.objects.get(name=CLUSTER).pk, history)
    return (found.due + found.claimed) * WINDOW_MS // DAY_MS


def share(memory: Memory) -> None:
    """Publish the progress of the import for the pages."""
    left = len(memory.missing) + waiting_days(memory)
    if left:
        cache.set(PROGRESS, (memory.total - left, memory.total), PROGRESS_S)
    else:
        cache.delete(PROGRESS)


def progress() -> tuple[int, int] | None:
    """Imported parts, and their total number; None when all are imported."""
    found: tuple[int, int] | None = cache.get(PROGRESS)
    return found


def days_text(stretch: FileInterval) -> str:
    """A part of the history, as text."""
    day = time.strftime("%d %b", time.gmtime(stretch.last_s))
    hours = (stretch.last_s - stretch.start_s) / 3600
    return f"{hours:.0f} h up to {day}" if hours >= 1 else "the last minutes"
