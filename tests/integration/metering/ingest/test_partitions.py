"""Partitions are there whenever facts are written, whatever became of those created before.

Not here: which ones expire (tests/integration/usage/test_retention.py).
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from pytest_django import DjangoAssertNumQueries

from accounting.metering.tasks.facts import partitions

pytestmark = pytest.mark.django_db(transaction=True)

START = datetime(2031, 1, 30, 23, tzinfo=UTC)  # of no other test
END = START + timedelta(hours=49)
NAMES = {
    *("usage_window_20310130", "usage_window_20310131", "usage_window_20310201"),
    *("usage_gpu_hour_20310101", "usage_gpu_hour_20310201"),
    "usage_day_20310101",
}
TABLES = (partitions.WINDOWS, partitions.GPU_HOURS, partitions.DAYS)


def there() -> set[str]:
    """The partitions of that year."""
    with connection.cursor() as cursor:
        cursor.execute(r"SELECT relname FROM pg_class WHERE relname ~ '_2031\d{4}$'")
        return {name for (name,) in cursor.fetchall()}


@pytest.fixture(autouse=True)
def none_left(transactional_db: None) -> Iterator[None]:
    """No partition of that year, before and after each test."""
    del transactional_db
    drop_all()
    yield
    drop_all()


def drop_all() -> None:
    """Drop the partitions of that year."""
    with connection.cursor() as cursor:
        for name in there():
            cursor.execute(f"DROP TABLE {name}")


def test_those_of_a_period_are_created_once(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    assert partitions.ensure(TABLES, START, END) == len(NAMES)
    assert there() == NAMES
    with django_assert_num_queries(1):
        assert partitions.ensure(TABLES, START, END) == 0


def test_one_has_the_columns_and_the_key_of_its_table() -> None:
    """`INSERT ... ON CONFLICT` needs the key."""
    partitions.ensure(TABLES, START, END)
    for table, name in (
        ("usage_window", "usage_window_20310130"),
        ("usage_gpu_hour", "usage_gpu_hour_20310101"),
        ("usage_day", "usage_day_20310101"),
    ):
        assert columns(name) == columns(table)
        assert indexes(name) == indexes(table) != []


def columns(table: str) -> list[tuple[object, ...]]:
    """Names, types, whether they may be NULL, and defaults."""
    return rows(
        """SELECT column_name, data_type, numeric_precision, is_nullable, column_default
           FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position""",
        table,
    )


def indexes(table: str) -> list[tuple[object, ...]]:
    """Whether they are primary or unique, and their columns by number."""
    return rows(
        """SELECT indisprimary, indisunique, indkey::text FROM pg_index
           WHERE indrelid = %s::regclass ORDER BY 3""",
        table,
    )


def rows(query: str, table: str) -> list[tuple[object, ...]]:
    """The answer to a question about a table."""
    with connection.cursor() as cursor:
        cursor.execute(query, [table])
        return list(cursor.fetchall())


def test_a_creation_that_was_rolled_back_is_repeated() -> None:
    """The hours by GPU are created in the transaction that writes them."""
    with transaction.atomic():
        partitions.ensure(TABLES, START, END)
        transaction.set_rollback(True)
    assert there() == set()
    assert partitions.ensure(TABLES, START, END) == len(NAMES)


def test_one_that_another_process_has_dropped_is_created_again() -> None:
    """Retention runs in one worker; an old file may be imported by another one later."""
    partitions.ensure(TABLES, START, END)
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("DROP TABLE usage_window_20310131")
    assert there() == NAMES - {"usage_window_20310131"}
    assert partitions.ensure(TABLES, START, END) == 1
    assert there() == NAMES


def test_one_that_another_process_creates_meanwhile_is_seen() -> None:
    """A session remembers that a name is of no table, until it locks one."""
    is_created = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(create_and_wait, is_created)
        assert is_created.wait(30)
        assert partitions.ensure(TABLES, START, END) == 0
        assert other.result(timeout=60) == len(NAMES)
    assert there() == NAMES


def create_and_wait(is_created: threading.Event) -> int:
    """Create the partitions, and commit when another session waits for them."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            count = partitions.ensure(TABLES, START, END)
            is_created.set()
            wait_until_one_waits(cursor)
        return count
    finally:
        connection.close()


def wait_until_one_waits(cursor: CursorWrapper) -> None:
    """Until another session waits for an advisory lock."""
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    until = time.monotonic() + 30
    while True:
        cursor.execute(waits)
        if cursor.fetchone()[0]:
            return
        assert time.monotonic() < until, "no session waits for the lock"
        time.sleep(0.01)


@contextmanager
def read_at_length() -> Iterator[Callable[[], None]]:
    """Another session that has read these tables, in a transaction that goes on.

    Yields:
        Reads them again, and one more that was not read before.
    """
    with closing(connection.copy()) as other, other.cursor() as cursor:

        def read(*further: partitions.Table) -> None:
            for table in (*TABLES, *further):
                cursor.execute(f"SELECT count(*) FROM {table.name}")  # noqa: S608  # a name of ours

        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        read()
        yield partial(read, partitions.INTENSITY_WINDOWS)


def test_they_are_created_while_the_tables_are_read() -> None:
    """An export reads for minutes, and `verify` reads one table after the other."""
    with (
        read_at_length() as read_again,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET LOCAL lock_timeout = '100ms'")
        assert partitions.ensure(TABLES, START, END) == len(NAMES)
        read_again()
    assert there() == NAMES


def test_a_table_that_is_read_loses_its_partitions_later() -> None:
    """The reader goes on: PostgreSQL would end it, as one of two that wait for each other."""
    partitions.ensure(TABLES, START, END)
    with read_at_length() as read_again, transaction.atomic():
        assert partitions.drop_expired(partitions.WINDOWS, END) == []
        read_again()
    assert there() == NAMES
    windows = {name for name in NAMES if name.startswith("usage_window")}
    with transaction.atomic():  # it drops those of other tests, too
        assert windows <= set(partitions.drop_expired(partitions.WINDOWS, END))
        assert there() == NAMES - windows
        transaction.set_rollback(True)
