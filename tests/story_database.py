"""The story of `tests.story` in a database, written once per run and copied by each process.

Writing it takes seconds, and 38 modules of tests read it. Each of them has it inside a
transaction that is rolled back, so that a module leaves nothing to the next one.
"""

import fcntl
import hashlib
import pickle
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from django.db import connection, transaction

from tests.database_copies import connected_to, copy_of, written_once
from tests.story import Story, cast, tell


@contextmanager
def written(until: datetime, folder: Path) -> Iterator[tuple[str, bytes]]:
    """A copy of the test database with the story in it; dropped at the end.

    The first process that uses a server writes the story, and takes it away when it ends; one
    that needs it after that writes another.

    Args:
        until: the end of the story's data.
        folder: of all processes of this run.

    Yields:
        The name of the database, and the pickled story.
    """
    server = repr([connection.settings_dict[name] for name in ("HOST", "PORT")])
    note = folder / f"story-{hashlib.sha256(server.encode()).hexdigest()[:12]}.pickle"
    own = f"{connection.settings_dict['NAME']}_story"
    with ExitStack() as stack:
        with _alone(folder):
            if not note.exists():
                found = stack.enter_context(_written(until))
                note.write_bytes(pickle.dumps(found))
                stack.callback(_taken_away, note)
            template, story = pickle.loads(note.read_bytes())  # noqa: S301  # of this run
            stack.enter_context(copy_of(template, own))
        yield own, story


@contextmanager
def _written(until: datetime) -> Iterator[tuple[str, bytes]]:
    found: list[bytes] = []

    def write() -> None:
        story = tell(until)
        cast(story)
        found.append(pickle.dumps(story))

    with written_once("story_template", write) as name:
        yield name, found[0]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process of this run is here."""
    with (folder / "story.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _taken_away(note: Path) -> None:
    with _alone(note.parent):
        note.unlink()


@contextmanager
def borrowed(name: str, story: bytes) -> Iterator[Story]:
    """The story for one module; what the module writes is rolled back."""
    with connected_to(name), transaction.atomic():
        yield pickle.loads(story)  # noqa: S301  # of this run
        transaction.set_rollback(True)
