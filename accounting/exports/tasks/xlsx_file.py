"""XLSX files for spreadsheets: text as text, never a formula (money.md M45).

Needs the extra `xlsx`. xlsxwriter writes a workbook of empty sheets. Their rows are written here,
because a call for each cell took three quarters of the time of a file. Rows are sent while they
are read, so that memory does not grow with them.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from zipfile import ZIP_DEFLATED, ZipFile

from accounting.exports.rules.column_types import CellType, FileColumn
from accounting.exports.tasks.csv_rows import csv_parts
from accounting.exports.tasks.part_files import ReadableParts, WrittenParts
from accounting.exports.tasks.request import Export, ExportError

try:
    import xlsxwriter
    from xlsxwriter.utility import xl_col_to_name
except ModuleNotFoundError:
    xlsxwriter = None

SHEET_ROWS = 1_048_575  # of a sheet below its header: the limit of the format
EXACT_DIGITS = 15  # a spreadsheet's numbers are binary: more digits would change
COMPRESSION = 4  # a file is 5% larger than at 6, for half the time
PART_ROWS = 256  # compressed at once
LARGE_CELLS = 16_000_000  # of a sheet that may exceed the 2 GiB of a plain zip file
_DECIMALS = frozenset({CellType.DECIMAL, CellType.INTEGER})
_EPOCH = datetime(2000, 1, 1)  # noqa: DTZ001  # the same rows give the same bytes
_ESCAPED = re.compile(r"[&<>\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


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
    out = WrittenParts()
    rows = _cells(export)
    header = next(rows)
    left = export.row_count
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=COMPRESSION) as book:
        for name, empty in _empty_book(export):
            if not name.startswith("xl/worksheets/"):
                with book.open(name, "w") as part:
                    part.write(empty)
                continue
            below = min(left, SHEET_ROWS)
            left -= below
            texts = _sheet(
                empty, export.table.columns, chain([header], islice(rows, below)), below
            )
            is_large = below * len(header) > LARGE_CELLS
            with book.open(name, "w", force_zip64=is_large) as part:
                for text in texts:
                    part.write(text.encode())
                    yield from out.taken()
    yield from out.taken()


def _cells(export: Export) -> Iterator[list[str]]:
    """The header, then the rows."""
    found = io.BufferedReader(ReadableParts(csv_parts(export, guarded=False)))
    return csv.reader(io.TextIOWrapper(found, encoding="utf-8", newline=""))


def _empty_book(export: Export) -> Iterator[tuple[str, bytes]]:
    """The parts of a workbook whose sheets have no rows; the sheets in their order."""
    held = io.BytesIO()
    with xlsxwriter.Workbook(held, {"in_memory": True}) as book:
        book.set_properties({"created": _EPOCH})
        for first in range(0, max(export.row_count, 1), SHEET_ROWS):
            number = first // SHEET_ROWS + 1
            what = str(export.request.what)
            sheet = book.add_worksheet(what if number == 1 else f"{what} {number}")
            sheet.freeze_panes(1, 0)
    with ZipFile(held) as found:
        for name in found.namelist():
            yield name, found.read(name)


def _sheet(
    empty: bytes, columns: Sequence[FileColumn], rows: Iterator[list[str]], below: int
) -> Iterator[str]:
    """The text of a sheet: an empty one, with rows."""
    end = f"{xl_col_to_name(len(columns) - 1)}{below + 1}"
    sized = empty.decode().replace(
        '<dimension ref="A1"/>', f'<dimension ref="A1:{end}"/>'
    )
    before, after = sized.split("<sheetData/>")
    yield f"{before}<sheetData>"
    names = [xl_col_to_name(place) for place in range(len(columns))]
    yield row_text(1, [(name, False) for name in names], next(rows))
    places = [
        (name, one.type in _DECIMALS) for name, one in zip(names, columns, strict=True)
    ]
    numbered = enumerate(rows, 2)
    while texts := [
        row_text(at, places, row) for at, row in islice(numbered, PART_ROWS)
    ]:
        yield "".join(texts)
    yield f"</sheetData>{after}"


def row_text(at: int, places: Sequence[tuple[str, bool]], row: Sequence[str]) -> str:
    """A row as a sheet has it; no cell where there is no text.

    Args:
        at: its number, from 1.
        places: name of each column, and whether its cells are numbers.
    """
    cells = [f'<row r="{at}">']
    for (name, is_decimal), cell in zip(places, row, strict=True):
        if not cell:
            continue
        if is_decimal and is_exact(cell):
            cells.append(f'<c r="{name}{at}"><v>{float(cell):.16G}</v></c>')
            continue
        text = _ESCAPED.sub(_escape, cell)
        kept = "" if text == text.strip() else ' xml:space="preserve"'
        cells.append(
            f'<c r="{name}{at}" t="inlineStr"><is><t{kept}>{text}</t></is></c>'
        )
    cells.append("</row>")
    return "".join(cells)


def _escape(found: re.Match[str]) -> str:
    """What XML cannot have is written as `_x0001_`; so the `_` of such a text is escaped, too."""
    return _ENTITIES.get(found[0]) or f"_x{ord(found[0]):04X}_"


def is_exact(cell: str) -> bool:
    """Whether a spreadsheet shows this decimal unchanged."""
    if len(cell) <= EXACT_DIGITS:
        return True
    _, digits, _ = Decimal(cell).normalize().as_tuple()
    return len(digits) <= EXACT_DIGITS
