"""XLSX files for spreadsheets: text as text, never a formula (money.md M45).

Needs the extra `xlsx`. Rows go through a temporary file, so that memory does not grow with them.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from accounting.domain.core.file_columns import CellType, FileColumn
from accounting.exports.csv_rows import csv_parts
from accounting.exports.part_files import ReadableParts
from accounting.exports.request import Export, ExportError
from accounting.work_folders import work_folder

try:
    import xlsxwriter
except ModuleNotFoundError:
    xlsxwriter = None

SHEET_ROWS = 1_048_575  # of a sheet below its header: the limit of the format
EXACT_DIGITS = 15  # a spreadsheet's numbers are binary: more digits would change
PART_BYTES = 262_144
_DECIMALS = frozenset({CellType.DECIMAL, CellType.INTEGER})
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # the same rows give the same bytes


def xlsx_parts(export: Export) -> Iterator[bytes]:
    """The file in parts; in a `snapshot`.

    Raises:
        ExportError: xlsxwriter is not installed.
    """
    if xlsxwriter is None:
        raise ExportError(
            "XLSX needs xlsxwriter: install GPU Ledger with the extra 'xlsx'"
        )
    return _parts(export)


def _parts(export: Export) -> Iterator[bytes]:
    with work_folder("xlsx") as folder:
        path = folder / "export.xlsx"
        options = {
            "constant_memory": True,
            "tmpdir": str(folder),
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        }
        with xlsxwriter.Workbook(path, options) as book:
            book.set_properties({"created": _EPOCH.replace(tzinfo=None)})
            _write(book, export)
        with path.open("rb") as found:
            while part := found.read(PART_BYTES):
                yield part


def _write(book: Any, export: Export) -> None:
    columns = export.table.columns
    found = io.BufferedReader(ReadableParts(csv_parts(export, guarded=False)))
    rows = csv.reader(io.TextIOWrapper(found, encoding="utf-8", newline=""))
    next(rows)  # the header, on every sheet
    sheet = _sheet(book, export, 1)
    below = 0
    number = 1
    for row in rows:
        if below == SHEET_ROWS:
            number, below = number + 1, 0
            sheet = _sheet(book, export, number)
        below += 1
        _write_row(sheet, below, columns, row)


def _sheet(book: Any, export: Export, number: int) -> Any:
    name = str(export.request.what)
    sheet = book.add_worksheet(name if number == 1 else f"{name} {number}")
    sheet.freeze_panes(1, 0)
    for place, column in enumerate(export.table.columns):
        sheet.write_string(0, place, column.name)
    return sheet


def _write_row(
    sheet: Any, at: int, columns: Sequence[FileColumn], row: Sequence[str]
) -> None:
    for place, (column, cell) in enumerate(zip(columns, row, strict=True)):
        if not cell:
            continue
        if column.type in _DECIMALS and is_exact(cell):
            sheet.write_number(at, place, float(cell))
        else:
            sheet.write_string(at, place, cell)


def is_exact(cell: str) -> bool:
    """Whether a spreadsheet shows this decimal unchanged."""
    _, digits, _ = Decimal(cell).normalize().as_tuple()
    return len(digits) <= EXACT_DIGITS
