"""Copies of the test database, for data that takes long to write and that many tests read.

The data is written and committed once. Each test has it inside its own transaction, which is rolled
back: see `books_of_days` in `tests/integration/usage/test_rollups_by_gpu.py`.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper


@contextmanager
def written_once(label: str, write: Callable[[], object]) -> Iterator[str]:
    """The name of a copy in which `write` has written; dropped at the end."""
    empty = connection.settings_dict["NAME"]
    with copy_of(empty, f"{empty}_{label}") as name:
        with connected_to(name):
            write()
        yield name


@contextmanager
def copy_of(template: str, name: str) -> Iterator[str]:
    """A copy of a database, to which nobody may be connected; dropped at the end."""
    _drop(name)
    connection.close()
    with _maintenance() as cursor:
        cursor.execute(
            f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY'
        )
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


def _connect(name: str) -> None:
    connection.close()
    settings.DATABASES["default"]["NAME"] = name
    connection.settings_dict["NAME"] = name


def _drop(name: str) -> None:
    with _maintenance() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _maintenance() -> AbstractContextManager[CursorWrapper]:
    """A cursor on the server's own database, outside of any transaction."""
    return connection._nodb_cursor()
