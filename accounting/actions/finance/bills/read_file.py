"""The rows of a bill's file as text: CSV, compressed CSV or Parquet (money.md M41)."""

import csv
import gzip
import io
import zlib
from collections.abc import Generator, Iterator
from datetime import datetime
from typing import IO, Any

from accounting.domain.billing.bills.columns import BillFileError

try:
    from pyarrow import ArrowInvalid, parquet
except ModuleNotFoundError:
    parquet = None

MOST_ROWS = 20_000_000
LONGEST_LINE = 1 << 20  # characters
BATCH = 8192  # rows of Parquet that are decoded at once
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"

NumberedRow = tuple[int, list[str]]


def rows_of(file: IO[bytes]) -> Generator[NumberedRow]:
    """The header and each row with its line (Parquet: its number, the header being 1).

    Args:
        file: one that can be read again from its start; the format is known by its first bytes.

    Raises:
        BillFileError: not such a file, no header, too many rows.
    """
    file.seek(0)
    start = file.read(4)
    file.seek(0)
    if start == _PARQUET:
        yield from _parquet_rows(file)
    elif start.startswith(_GZIP):
        with gzip.open(file) as unpacked:
            try:
                yield from _csv_rows(unpacked)  # type: ignore[arg-type]  # it reads bytes
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise BillFileError(
                    f"the compressed file is damaged: {error}"
                ) from error
    else:
        yield from _csv_rows(file)


def _csv_rows(file: IO[bytes]) -> Iterator[NumberedRow]:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    reader = csv.reader(_lines(text), strict=True)
    number = 0
    try:
        header = next(reader, [])
        if not any(cell.strip() for cell in header):
            raise BillFileError("the file has no header")
        yield reader.line_num, header
        for cells in reader:
            if not cells:
                continue
            number += 1
            if number > MOST_ROWS:
                raise BillFileError(f"more than {MOST_ROWS:,} rows: split the file")
            yield reader.line_num, cells
    except csv.Error as error:
        raise BillFileError(f"line {reader.line_num}: not valid CSV: {error}") from None
    except UnicodeDecodeError as error:
        raise BillFileError(
            f"line {reader.line_num + 1} or later: not UTF-8"
        ) from error
    finally:
        text.detach()  # the caller closes the file


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Lines, none of which can fill the memory."""
    while line := text.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise BillFileError(
                f"a line is longer than {LONGEST_LINE:,} characters: this is not CSV"
            )
        yield line


def _parquet_rows(file: IO[bytes]) -> Iterator[NumberedRow]:
    if parquet is None:
        raise BillFileError(
            "Parquet needs pyarrow: install GPU Ledger with the extra 'parquet', or export CSV"
        )
    try:
        table = parquet.ParquetFile(file)
        if table.metadata.num_rows > MOST_ROWS:
            raise BillFileError(f"more than {MOST_ROWS:,} rows: split the file")
        names = [name for name in table.schema_arrow.names if _is_plain(table, name)]
        yield 1, names
        number = 1
        for batch in table.iter_batches(BATCH, columns=names, use_threads=False):
            columns = [batch.column(name).to_pylist() for name in names]
            for values in zip(*columns, strict=True):
                number += 1
                yield number, [_text(value) for value in values]
    except (ArrowInvalid, OSError) as error:
        raise BillFileError(f"not valid Parquet: {error}") from error


def _is_plain(table: Any, name: str) -> bool:
    """False for maps and lists, as tags are: nothing here reads them."""
    return int(table.schema_arrow.field(name).type.num_fields) == 0


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)
