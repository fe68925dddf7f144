"""Brings history into the ledger, by the same door as anybody's files: newest first."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.cache import cache

from accounting.actions.imports import import_files
from accounting.audit import SYSTEM
from portal.demo.engine import Engine
from portal.demo.history import Stretch, write
from portal.demo.memory import Memory
from portal.demo.setup import CLUSTER

PROGRESS = "demo-history"  # cache key: (stretches that are in, of how many)
PROGRESS_S = 600  # seconds until a progress that nobody renews is forgotten

Tell = Callable[[Stretch, str, int, int], None]  # which, what is done, how far, of what


def load_next(engine: Engine, memory: Memory, tell: Tell) -> None:
    """Write the newest missing stretch as a file, import it and forget the file."""
    stretch = memory.missing[0]
    engine.advance(max(engine.now_s, stretch.last_s))
    with TemporaryDirectory(prefix="gpu-ledger-demo-") as folder:
        path = Path(folder) / f"{stretch.start_s}.om"
        write(engine, stretch, path)
        import_files(
            CLUSTER,
            [path],
            actor=SYSTEM,
            on_progress=lambda what, done, of: tell(stretch, what, done, of),
        )
    memory.done(stretch)
    share(memory)


def share(memory: Memory) -> None:
    """Let the pages know how much of the history is in."""
    done = memory.total - len(memory.missing)
    if memory.missing:
        cache.set(PROGRESS, (done, memory.total), PROGRESS_S)
    else:
        cache.delete(PROGRESS)


def progress() -> tuple[int, int] | None:
    """Stretches that are in, and of how many; None when all are."""
    found: tuple[int, int] | None = cache.get(PROGRESS)
    return found
