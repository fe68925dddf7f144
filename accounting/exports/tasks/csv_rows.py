"""A CSV file in parts: PostgreSQL writes the rows, this process only passes them on.

Lines are read in blocks: some teams of one kind, sorted alone. So a file of any length needs little
memory here, and no large sort in the database.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db import connection, transaction

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.parallel import exported_snapshot, in_order
from accounting.exports.tasks.request import Export, LineGroup
from accounting.exports.tasks.rows_sql import copy_rows

PART_BYTES = 262_144  # passed on at once
BLOCK_ROWS = 10_000  # then a block ends with its team: some MB are sorted at once
FEW_ROWS = 20_000  # fewer are read faster than other connections are opened


@contextmanager
def snapshot() -> Iterator[None]:
    """Reads of one moment; inside another transaction, reads of that transaction."""
    is_first = not connection.in_atomic_block
    with transaction.atomic():
        if is_first:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
                )
        yield


def csv_parts(export: Export, *, guarded: bool = True) -> Iterator[bytes]:
    """The file: a header, also if there are no rows, then its rows; in a `snapshot`.

    The first part is the header. Each part ends with a row.

    Args:
        export: from `prepare` in the same snapshot.
        guarded: whether text that a spreadsheet would execute gets a leading `'`.
    """
    yield header(export)
    for block in _blocks(export):
        yield from _copied(export, block, guarded=guarded)


def csv_parts_quickly(export: Export) -> Iterator[bytes]:
    """The same bytes, read on two connections if there are enough rows.

    It needs the transaction of a `snapshot` of its own: others do not see what an outer transaction
    has written.
    """
    if export.row_count < FEW_ROWS or len(connection.savepoint_ids) > 0:
        yield from csv_parts(export)
        return
    readers = [
        partial(_copied, export, block, guarded=True) for block in _blocks(export)
    ]
    yield header(export)
    yield from in_order(readers, exported_snapshot())


def header(export: Export) -> bytes:
    """The first line: the names of the columns need no quotes."""
    return (",".join(column.name for column in export.table.columns) + "\n").encode()


def _blocks(export: Export) -> Iterator[dict[str, Any]]:
    """Parameters of each statement, in the order of the rows."""
    if export.request.what in {What.STATEMENTS, What.JOURNAL}:
        yield {}
        return
    block: list[LineGroup] = []
    for group in export.groups:
        rows = sum(one.row_count for one in block)
        if block and (block[0].kind != group.kind or rows >= BLOCK_ROWS):
            yield _block(block)
            block = []
        block.append(group)
    if block:
        yield _block(block)


def _block(groups: list[LineGroup]) -> dict[str, Any]:
    return {"kind": groups[0].kind, "teams": [group.team for group in groups]}


def _copied(export: Export, block: dict[str, Any], *, guarded: bool) -> Iterator[bytes]:
    rows = copy_rows(export.table, export.booking, guarded=guarded)
    values = export.parameters() | block
    statement = f"COPY ({rows}) TO STDOUT WITH (FORMAT csv, ENCODING 'UTF8')"
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        _patient(cursor).copy(statement, values) as copy,
    ):
        held: list[Any] = []
        size = 0
        for row in copy:
            held.append(row)
            size += len(row)
            if size >= PART_BYTES:
                yield b"".join(held)
                held.clear()
                size = 0
        if held:
            yield b"".join(held)


def _patient(cursor: Any) -> Any:
    """A cursor whose server waits for a slow reader of the file: no machine is lost there."""
    cursor.execute("SET LOCAL tcp_user_timeout = 0")
    return cursor
