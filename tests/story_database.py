"""The story of `tests.story` in a database of its own, written once per process.

Writing it takes seconds, and 38 modules of tests read it. Each of them has it inside a
transaction that is rolled back, so that a module leaves nothing to the next one.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction

from tests.database_copies import connected_to, written_once
from tests.story import Story, cast, tell


@contextmanager
def written(until: datetime) -> Iterator[tuple[str, bytes]]:
    """A copy of the test database with the story in it; dropped at the end.

    Yields:
        The name of the database, and the pickled story.
    """
    found: list[bytes] = []

    def write() -> None:
        story = tell(until)
        cast(story)
        found.append(pickle.dumps(story))

    with written_once("story", write) as name:
        yield name, found[0]


@contextmanager
def borrowed(name: str, story: bytes) -> Iterator[Story]:
    """The story for one module; what the module writes is rolled back."""
    with connected_to(name), transaction.atomic():
        yield pickle.loads(story)  # noqa: S301  # of this process
        transaction.set_rollback(True)
