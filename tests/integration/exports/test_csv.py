"""CSV files of a booking: every cell as the rule over values gives it, in the order of the hash.

Not here: what the cells of each kind of line are (`tests/unit/exports/focus`),
memory and speed (`make bench`).
"""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from accounting.core.charge_lines import FIELDS
from accounting.exports.rules.focus.columns import PROFILES
from accounting.exports.rules.focus.row import row_of
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.csv_rows import csv_parts, snapshot
from accounting.exports.tasks.request import ExportRequest, prepare
from accounting.months.models.charge import ChargeLine, RunningLine
from accounting.months.rules.close_hash import Line, line_id, line_text
from tests.integration.exports.bookings import book, random_lines

pytestmark = pytest.mark.django_db
FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\n\r\0")


def written(request: ExportRequest, *, guarded: bool = True) -> bytes:
    with snapshot():
        return b"".join(csv_parts(prepare(request), guarded=guarded))


def cell(value: object) -> str:
    """A cell as the rule M45 says, without the product's code."""
    if value is None or value == "":
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, date):
        return value.isoformat()
    text = str(value)
    if isinstance(value, str) and text.startswith(FORMULA):
        text = "'" + text
    if any(one in text for one in ',"\r\n'):
        text = '"' + text.replace('"', '""') + '"'
    return text


def file_of(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    lines = [",".join(columns), *(",".join(map(cell, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def stored(model: type[ChargeLine | RunningLine] = ChargeLine) -> list[Line]:
    """The lines with the decimal places of the database, in the order of the hash."""
    rows = model.objects.values_list(*FIELDS)
    return sorted(
        (Line(*row) for row in rows), key=lambda line: line_text(line).encode()
    )


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "running"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_cell_is_that_of_the_rule(
    seed: int, profile: str, *, is_closed: bool
) -> None:
    book([], period="2026-09")
    book(random_lines(seed, 300), is_closed=is_closed)
    request = ExportRequest(What.FOCUS, "2026-10", profile)
    context = prepare(request).context()
    lines = [
        line
        for line in stored(ChargeLine if is_closed else RunningLine)
        if line.charge is not None
    ]
    chosen = PROFILES[profile]
    rows = [row_of(line, context, chosen).values() for line in lines]
    names = [column.name for column in chosen.columns]
    assert len(rows) > 200
    assert written(request).decode().split("\n") == file_of(names, rows).decode().split(
        "\n"
    )


def test_charges_are_the_lines_as_the_hash_reads_them() -> None:
    lines = random_lines(4, 200)
    book(lines)
    found = written(ExportRequest(What.CHARGES, "2026-10"), guarded=False)
    rows = list(csv.DictReader(io.StringIO(found.decode(), newline="")))
    assert list(rows[0]) == ["line_id", *FIELDS]
    ordered = sorted(lines, key=lambda line: line_text(line).encode())
    assert [row["line_id"] for row in rows] == [
        line_id(line, "2026-10", 1) for line in ordered
    ]
    assert sum(Decimal(row["charge"] or 0) for row in rows) == sum(
        line.charge or 0 for line in lines
    )
