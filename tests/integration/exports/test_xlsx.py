"""XLSX files: rows as xlsxwriter writes them, text as text, parts before the last row is read."""

import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pytest
import xlsxwriter

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks import xlsx_file
from accounting.exports.tasks.csv_rows import snapshot
from accounting.exports.tasks.files import write_file
from accounting.exports.tasks.request import ExportRequest, Format, prepare
from accounting.exports.tasks.xlsx_file import row_text, xlsx_parts
from tests.integration.exports.bookings import book, random_lines

CHARGES = ExportRequest(What.CHARGES, "2026-10", format=Format.XLSX)
CHARACTERS = "a_x0041 \t\n\r\x01\x1f\"'&<>=é\xa0\ufffe😀"


@pytest.mark.django_db
def test_xlsx_has_text_as_text_and_exact_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx_file, "SHEET_ROWS", 70)
    monkeypatch.setattr(xlsx_file, "PART_ROWS", 8)
    lines = random_lines(5, 200)
    book(lines)
    book_ = openpyxl.load_workbook(write_file(CHARGES, tmp_path).path)
    assert book_.sheetnames == ["charges", "charges 2", "charges 3"]
    rows = []
    for sheet in book_:
        assert sheet.freeze_panes == "A2"
        header, *below = sheet.iter_rows()
        names = [cell.value for cell in header]
        assert len(below) <= 70
        rows += [dict(zip(names, row, strict=True)) for row in below]
    assert len(rows) == len(lines)
    cells = [cell for row in rows for cell in row.values()]
    assert not any(cell.data_type == "f" for cell in cells)
    for name in ("workload", "namespace", "model"):
        texts = sorted(str(row[name].value or "") for row in rows)
        assert texts == sorted(getattr(line, name) for line in lines)
    assert any(cell.data_type == "n" and cell.value for cell in cells)
    total = sum(Decimal(str(row["charge"].value or 0)) for row in rows)
    assert total == sum(line.charge or 0 for line in lines)


@pytest.mark.django_db
def test_parts_are_sent_before_the_last_row_is_read() -> None:
    book(random_lines(5, 3_000))
    with snapshot():
        sizes = [len(part) for part in xlsx_parts(prepare(CHARGES))]
    assert len(sizes) > 3
    assert max(sizes) < sum(sizes) / 2


@pytest.mark.parametrize(
    ("cell", "exact"),
    [
        ("0.1", True),
        ("-123456789.012345", True),
        ("1234567890.123456", False),
        ("1000000000000000000", True),
    ],
)
def test_more_than_15_digits_stay_text(cell: str, *, exact: bool) -> None:
    assert xlsx_file.is_exact(cell) is exact


def test_rows_are_those_of_xlsxwriter(tmp_path: Path) -> None:
    dice = random.Random(7)
    rows = [
        ["".join(dice.choices(CHARACTERS, k=dice.randrange(6))), number(dice), "end"]
        for _ in range(2_000)
    ]
    places = [("A", False), ("B", True), ("C", False)]
    texts = [row_text(at, places, row) for at, row in enumerate(rows, 1)]
    assert "".join(texts) == by_xlsxwriter(rows, tmp_path / "expected.xlsx")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # xlsxwriter takes this for a cell of several fonts, and the file cannot be opened.
        ("<r>&</r>", "&lt;r&gt;&amp;&lt;/r&gt;"),
        # xlsxwriter escapes only the first of two that share a `_`: the second would be `B`.
        ("_x0041_x0042_", "_x005F_x0041_x005F_x0042_"),
    ],
)
def test_text_that_looks_like_xml_is_text(text: str, expected: str) -> None:
    assert row_text(2, [("A", False)], [text]) == (
        f'<row r="2"><c r="A2" t="inlineStr"><is><t>{expected}</t></is></c></row>'
    )


def number(dice: random.Random) -> str:
    """A decimal as PostgreSQL writes it, or an empty cell."""
    if dice.random() < 0.1:
        return ""
    return f"{Decimal(dice.randrange(-(10**16), 10**16)).scaleb(-dice.randrange(17)):f}"


def by_xlsxwriter(rows: Sequence[Sequence[str]], path: Path) -> str:
    """The rows of a sheet that xlsxwriter wrote cell by cell."""
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as made:
        sheet = made.add_worksheet()
        for at, row in enumerate(rows):
            for place, cell in enumerate(row):
                if cell and place == 1 and xlsx_file.is_exact(cell):
                    sheet.write_number(at, place, float(cell))
                elif cell:
                    sheet.write_string(at, place, cell)
    with ZipFile(path) as found:
        text = found.read("xl/worksheets/sheet1.xml").decode()
    return text.split("<sheetData>")[1].split("</sheetData>")[0]
