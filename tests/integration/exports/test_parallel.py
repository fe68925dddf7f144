"""A file on disk is read on two connections: the same bytes, one moment, nothing left.

Not here: how fast it is (`bench/exports.py`, P9).
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, connection

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks import csv_rows, parallel
from accounting.exports.tasks.csv_rows import csv_parts, snapshot
from accounting.exports.tasks.files import WriteProgress, write_file
from accounting.exports.tasks.parallel import exported_snapshot, in_order
from accounting.exports.tasks.request import ExportRequest, prepare
from accounting.months.models.charge import RunningLine
from tests.integration.exports.bookings import book, random_lines
from tests.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
FOCUS = ExportRequest(What.FOCUS, "2026-10")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks and parts of few rows."""
    monkeypatch.setattr(csv_rows, "FEW_ROWS", 1)
    monkeypatch.setattr(csv_rows, "BLOCK_ROWS", 10)
    monkeypatch.setattr(csv_rows, "PART_BYTES", 1000)
    monkeypatch.setattr(parallel, "HELD_PARTS", 2)


def sessions() -> int:
    """Connections of clients with this database."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend'"""
        )
        return int(cursor.fetchone()[0])


def wait_for_end(threads: int) -> None:
    """Until only the test's own session and as many threads as before are left.

    The server ends a session shortly after its client has closed it.
    """
    wait_until(
        lambda: (sessions(), threading.active_count()) == (1, threads), seconds=10.0
    )


def test_two_connections_give_the_bytes_of_one(tmp_path: Path) -> None:
    book(random_lines(21, 400), is_closed=False)
    with snapshot():
        wanted = b"".join(csv_parts(prepare(FOCUS)))
    threads = threading.active_count()
    assert write_file(FOCUS, tmp_path).path.read_bytes() == wanted
    wait_for_end(threads)


def test_slow_reader_is_not_taken_for_a_lost_machine() -> None:
    """The server sends nothing for as long as the file is not read (`portal.settings.SESSION`)."""
    book(random_lines(23, 40), is_closed=False)
    asked = []

    def note(execute: Any, sql: str, *more: Any) -> Any:
        asked.append(sql)
        return execute(sql, *more)

    with snapshot(), connection.execute_wrapper(note):
        assert list(csv_parts(prepare(FOCUS)))
    assert "SET LOCAL tcp_user_timeout = 0" in asked


def test_all_rows_are_of_one_moment(tmp_path: Path) -> None:
    """Rows that are replaced after the first part do not change the file."""
    book(random_lines(22, 400), is_closed=False)
    with snapshot():
        wanted = b"".join(csv_parts(prepare(FOCUS)))
    other = connection.copy()
    is_gone = False

    def replace(_so_far: WriteProgress) -> None:
        nonlocal is_gone
        if not is_gone:
            with other.cursor() as cursor:
                cursor.execute("DELETE FROM running_line")
            is_gone = True

    found = write_file(FOCUS, tmp_path, progress=replace).path.read_bytes()
    other.close()
    assert not RunningLine.objects.exists()
    assert found == wanted


def test_a_reader_that_stops_leaves_nothing(tmp_path: Path) -> None:
    book(random_lines(23, 400), is_closed=False)
    threads = threading.active_count()

    def stop(so_far: WriteProgress) -> None:
        if so_far.size > 20_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(FOCUS, tmp_path, progress=stop)
    assert list(tmp_path.iterdir()) == []
    wait_for_end(threads)


def test_an_error_of_the_database_is_raised() -> None:
    def fine() -> Iterator[bytes]:
        yield b"1"

    def wrong() -> Iterator[bytes]:
        yield b"2"
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    with snapshot():
        parts = in_order([fine, wrong, fine], exported_snapshot())
        assert [next(parts), next(parts)] == [b"1", b"2"]
        with pytest.raises(DataError):
            next(parts)
