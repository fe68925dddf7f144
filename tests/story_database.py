"""The story of `tests.story` in a database of its own, written once per process.

Writing it takes seconds, and 38 modules of tests read it. Each of them has it inside a
transaction that is rolled back, so that a module leaves nothing to the next one.
"""

import pickle
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from accounting.ingest.facts import partitions
from tests.story import Story, cast, tell


@contextmanager
def written(until: datetime) -> Iterator[tuple[str, bytes]]:
    """A copy of the test database with the story in it; dropped at the end.

    Yields:
        The name of the database, and the pickled story.
    """
    empty = connection.settings_dict["NAME"]
    with copy_of(empty, f"{empty}_story") as name:
        with connected_to(name):
            story = tell(until)
            cast(story)
        yield name, pickle.dumps(story)


@contextmanager
def copy_of(template: str, name: str) -> Iterator[str]:
    """A copy of a database, to which nobody may be connected; dropped at the end."""
    _drop(name)
    connection.close()
    with _maintenance() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    try:
        yield name
    finally:
        _drop(name)


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    """Let Django's connection be one to another database of the same server."""
    before = connection.settings_dict["NAME"]
    _connect(name)
    try:
        yield
    finally:
        _connect(before)


@contextmanager
def borrowed(name: str, story: bytes) -> Iterator[Story]:
    """The story for one module; what the module writes is rolled back."""
    with connected_to(name), transaction.atomic():
        yield pickle.loads(story)  # noqa: S301  # of this process
        transaction.set_rollback(True)


def _connect(name: str) -> None:
    connection.close()
    settings.DATABASES["default"]["NAME"] = name
    connection.settings_dict["NAME"] = name
    partitions.forget_known()


def _drop(name: str) -> None:
    with _maintenance() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _maintenance() -> AbstractContextManager[CursorWrapper]:
    """A cursor on the server's own database, outside of any transaction."""
    return connection._nodb_cursor()
