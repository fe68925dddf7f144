"""The rows of a bill's file as text: CSV, compressed CSV or Parquet (money.md M41)."""

import csv
import gzip
import io
import time
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from accounting.bills.rules.columns import BillFileError

try:
    from pyarrow import ArrowInvalid, parquet
except ModuleNotFoundError:
    parquet = None

LONGEST_LINE = 1 << 20  # characters
_TIMED_LINES = 1024  # between two looks at the clock
BATCH = 8192  # rows of Parquet that are decoded at once
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"

NumberedRow = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the work on one file may take; made when the work begins.

    Attributes:
        lines: of text, blank ones too; rows of Parquet.
        characters: after decompression; None: any number.
        seconds: of the whole import; None: any time.
    """

    lines: int = 20_000_000
    characters: int | None = None
    seconds: float | None = None
    _began: float = field(default_factory=time.monotonic)

    def check_time(self) -> None:
        """Between two pieces of work.

        Raises:
            BillFileError: the time is over.
        """
        if self.left_ms == 0:
            raise self.late()

    def late(self) -> BillFileError:
        """What to say when the time is over."""
        return BillFileError(
            f"the import takes longer than {self.seconds:g} s: split the file, or use "
            "manage.py import_bill"
        )

    @property
    def left_ms(self) -> int | None:
        """The time that is left, never below 0; None: any."""
        if self.seconds is None:
            return None
        left = self._began + self.seconds - time.monotonic()
        return max(0, round(left * 1000))

    def check_size(self, lines: int, characters: int) -> None:
        """What was read until now.

        Raises:
            BillFileError: too much.
        """
        if lines > self.lines:
            raise BillFileError(f"more than {self.lines:,} lines: split the file")
        if self.characters is not None and characters > self.characters:
            raise BillFileError(
                f"more than {self.characters >> 20} MB after decompression: split the file, or "
                "use manage.py import_bill"
            )
        if lines % _TIMED_LINES == 0:
            self.check_time()


def rows_of(file: IO[bytes], bounds: Bounds) -> Generator[NumberedRow]:
    """The header and each row with its line (Parquet: its number, the header being 1).

    Args:
        file: one that can be read again from its start; the format is known by its first bytes.
        bounds: of the text, however small the file is.

    Raises:
        BillFileError: not such a file, no header, too many lines.
    """
    file.seek(0)
    start = file.read(4)
    file.seek(0)
    if start == _PARQUET:
        yield from _parquet_rows(file, bounds)
    elif start.startswith(_GZIP):
        with gzip.open(file) as unpacked:
            try:
                yield from _csv_rows(unpacked, bounds)  # type: ignore[arg-type]  # it reads bytes
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise BillFileError(
                    f"the compressed file is damaged: {error}"
                ) from error
    else:
        yield from _csv_rows(file, bounds)


def _csv_rows(file: IO[bytes], bounds: Bounds) -> Iterator[NumberedRow]:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    reader = csv.reader(_lines(text, bounds), strict=True)
    try:
        header = next(reader, [])
        if not any(cell.strip() for cell in header):
            raise BillFileError("the file has no header")
        yield reader.line_num, header
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise BillFileError(f"line {reader.line_num}: not valid CSV: {error}") from None
    except UnicodeDecodeError as error:
        raise BillFileError(
            f"line {reader.line_num + 1} or later: not UTF-8"
        ) from error
    finally:
        text.detach()  # the caller closes the file


def _lines(text: io.TextIOWrapper, bounds: Bounds) -> Iterator[str]:
    """Lines within the bounds, none of which can fill the memory."""
    number = characters = 0
    while line := text.readline(LONGEST_LINE):
        number += 1
        characters += len(line)
        bounds.check_size(number, characters)
        if len(line) == LONGEST_LINE:
            raise BillFileError(
                f"a line is longer than {LONGEST_LINE:,} characters: this is not CSV"
            )
        yield line


def _parquet_rows(file: IO[bytes], bounds: Bounds) -> Iterator[NumberedRow]:
    if parquet is None:
        raise BillFileError(
            "Parquet needs pyarrow: install GPU Ledger with the extra 'parquet', or export CSV"
        )
    try:
        table = parquet.ParquetFile(file)
        bounds.check_size(table.metadata.num_rows, _unpacked(table.metadata))
        names = [name for name in table.schema_arrow.names if _is_plain(table, name)]
        yield 1, names
        number, characters = 1, 0
        for batch in table.iter_batches(BATCH, columns=names, use_threads=False):
            columns = [batch.column(name).to_pylist() for name in names]
            for values in zip(*columns, strict=True):
                number += 1
                cells = [_text(value) for value in values]
                characters += sum(map(len, cells))
                bounds.check_size(number - 1, characters)
                yield number, cells
    except (ArrowInvalid, OSError) as error:
        raise BillFileError(f"not valid Parquet: {error}") from error


def _unpacked(metadata: Any) -> int:
    """Bytes of all columns after decompression, as the file states them."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return sum(group.total_byte_size for group in groups)


def _is_plain(table: Any, name: str) -> bool:
    """False for maps and lists, as tags are: nothing here reads them."""
    return int(table.schema_arrow.field(name).type.num_fields) == 0


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)
