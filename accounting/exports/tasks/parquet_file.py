"""Parquet files: exact decimals and UTC times, from the rows that PostgreSQL writes (money.md M45).

Needs the extra `parquet`.
"""

from collections.abc import Iterator
from typing import Any

from accounting.exports.rules.column_types import CellType, FileColumn
from accounting.exports.tasks.csv_rows import csv_parts
from accounting.exports.tasks.part_files import WrittenParts
from accounting.exports.tasks.request import Export, ExportError

try:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet
except ModuleNotFoundError:
    pa = None

BLOCK_BYTES = 8 << 20  # of CSV that are decoded at once, into a row group
GROUP_ROWS = 65_536  # of a row group at most


def parquet_parts(export: Export) -> Iterator[bytes]:
    """The file in parts; in a `snapshot`. Text is stored as it is: nothing executes it.

    Raises:
        ExportError: pyarrow is not installed.
    """
    if pa is None:
        raise ExportError(
            "Parquet needs pyarrow: install GPU Ledger with the extra 'parquet'"
        )
    return _parts(export)


def _parts(export: Export) -> Iterator[bytes]:
    schema = pa.schema(
        [pa.field(column.name, _type(column)) for column in export.table.columns]
    )
    out = WrittenParts()
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for table in _tables(export, schema):
            writer.write_table(table, row_group_size=GROUP_ROWS)
            yield from out.taken()
    yield from out.taken()


def _tables(export: Export, schema: Any) -> Iterator[Any]:
    """Rows in blocks. Arrow must not read the rows itself: it would use a thread of its own."""
    parts = csv_parts(export, guarded=False)
    next(parts)  # the header
    held = bytearray()
    for part in parts:
        if len(held) >= BLOCK_BYTES:
            yield _decoded(bytes(held), schema)
            held.clear()
        held += part
    if held:
        yield _decoded(bytes(held), schema)


def _decoded(rows: bytes, schema: Any) -> Any:
    return arrow_csv.read_csv(
        pa.BufferReader(rows),
        read_options=arrow_csv.ReadOptions(
            column_names=schema.names, block_size=len(rows) + 1, use_threads=False
        ),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _type(column: FileColumn) -> Any:
    if column.type is CellType.DECIMAL:
        return pa.decimal128(column.precision, column.scale)
    return {
        CellType.TEXT: pa.string(),
        CellType.INTEGER: pa.int64(),
        CellType.TIME: pa.timestamp("ms", tz="UTC"),
        CellType.DATE: pa.date32(),
    }[column.type]
