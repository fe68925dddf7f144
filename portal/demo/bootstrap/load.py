"""Imports history into the ledger in the same way as any file: newest first."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from accounting.kit.audit import SYSTEM
from accounting.metering.tasks.imports import keep_files
from accounting.usage.tasks.import_files import import_files
from portal.demo.bootstrap.setup import CLUSTER
from portal.demo.bootstrap.state import Memory
from portal.demo.metrics.history import FileInterval, write
from portal.demo.scenario.engine import Engine


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


def days_text(stretch: FileInterval) -> str:
    """A part of the history, as text."""
    day = time.strftime("%d %b", time.gmtime(stretch.last_s))
    hours = (stretch.last_s - stretch.start_s) / 3600
    return f"{hours:.0f} h up to {day}" if hours >= 1 else "the last minutes"
