"""Files on disk: formats, names, metadata; a file that is not complete is never found.

Not here: cells (`test_csv.py`), the validators of FOCUS (`test_validators.py`).
"""

import csv
import hashlib
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.files import WriteProgress, write_file
from accounting.exports.tasks.request import ExportError, ExportRequest, Format, prepare
from accounting.exports.tasks.stream import stream
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.lines import BookingError
from accounting.months.rules.close_hash import Line
from tests.integration.exports.bookings import book, random_lines
from tests.integration.months.people import reopening

pytestmark = pytest.mark.django_db
FOCUS = ExportRequest(What.FOCUS, "2026-10")


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(), newline="")))


@pytest.fixture
def lines(db: None) -> list[Line]:
    del db
    found = random_lines(5, 200)
    book(found)
    return found


def test_names_say_what_a_file_has(lines: list[Line], tmp_path: Path) -> None:
    del lines
    team = ExportRequest(What.CHARGES, "2026-10", team="vision")
    assert (
        write_file(FOCUS, tmp_path).path.name == "gpu-ledger_focus-1.4_2026-10_r1.csv"
    )
    written = write_file(team, tmp_path)
    assert written.path.name == "gpu-ledger_charges_2026-10_r1_vision.csv"
    assert written.metadata_path.name == f"{written.path.name}.metadata.json"


def test_metadata_describe_the_file(lines: list[Line], tmp_path: Path) -> None:
    written = write_file(FOCUS, tmp_path)
    found = json.loads(written.metadata_path.read_text())
    data = written.path.read_bytes()
    charged = [line for line in lines if line.charge is not None]
    assert found["bytes"] == len(data)
    assert found["sha256"] == hashlib.sha256(data).hexdigest()
    assert found["rows"] == len(rows_of(written.path)) == len(charged)
    total = sum(line.charge or 0 for line in charged)
    assert Decimal(found["sum"]) == total
    assert Decimal(found["sum"]) == sum(
        Decimal(row["BilledCost"]) for row in rows_of(written.path)
    )
    lost = sum(line.ms for line in lines if line.charge is None)
    assert found["without_money_ms"] == lost > 0
    assert len(found["close_hash"]) == 64
    assert (found["revision"], found["state"]) == (1, "closed")
    assert (found["currency"], found["method"]) == ("EUR", "alloc-v1")
    names = [column["ColumnName"] for column in found["focus"]["ColumnDefinition"]]
    assert names == list(rows_of(written.path)[0])
    assert found["focus"]["FocusVersion"] == "1.4"


def test_a_team_has_only_its_rows_and_its_payable(
    lines: list[Line], tmp_path: Path
) -> None:
    team = ExportRequest(What.FOCUS, "2026-10", team="vision")
    written = write_file(team, tmp_path)
    rows = rows_of(written.path)
    assert {row["SubAccountId"] for row in rows} == {"vision"}
    total = sum(line.charge for line in lines if line.team == "vision" and line.charge)
    assert Decimal(written.metadata["sum"]) == total
    assert Decimal(written.metadata["payable"]) == round(total, 2)


def test_the_same_revision_has_the_same_bytes(
    lines: list[Line], tmp_path: Path
) -> None:
    del lines
    for format_ in Format:
        request = ExportRequest(What.FOCUS, "2026-10", format=format_)
        first = write_file(request, tmp_path).path.read_bytes()
        assert b"".join(stream(request)) == first


def test_statements_are_one_row_for_each(lines: list[Line], tmp_path: Path) -> None:
    written = write_file(ExportRequest(What.STATEMENTS, "2026-10"), tmp_path)
    rows = rows_of(written.path)
    assert [row["team"] for row in rows] == sorted({line.team for line in lines})
    assert rows[0]["number"] == f"2026-10-{rows[0]['team']}-r1"
    total = sum((line.charge for line in lines if line.charge), Decimal(0))
    assert sum(Decimal(row["payable"]) for row in rows) == total
    assert all(row["held_ms"] == "6" for row in rows)


def test_a_file_without_rows_has_its_header(tmp_path: Path) -> None:
    book([])
    for format_ in Format:
        write_file(ExportRequest(What.FOCUS, "2026-10", format=format_), tmp_path)
    text = (tmp_path / "gpu-ledger_focus-1.4_2026-10_r1.csv").read_text()
    assert text.startswith("BilledCost,")
    assert text.count("\n") == 1
    table = pq.read_table(tmp_path / "gpu-ledger_focus-1.4_2026-10_r1.parquet")
    assert table.num_rows == 0
    assert table.column_names == text.strip().split(",")


def test_parquet_has_exact_decimals_and_times(
    lines: list[Line], tmp_path: Path
) -> None:
    del lines
    request = ExportRequest(What.FOCUS, "2026-10", format=Format.PARQUET)
    table = pq.read_table(write_file(request, tmp_path).path)
    assert table.schema.field("BilledCost").type == pa.decimal128(38, 14)
    assert table.schema.field("ListUnitPrice").type == pa.decimal128(38, 16)
    assert table.schema.field("ChargePeriodStart").type == pa.timestamp("ms", "UTC")
    rows = rows_of(write_file(FOCUS, tmp_path).path)
    found = table.to_pylist()
    assert len(found) == len(rows)
    for got, wanted in zip(found, rows, strict=True):
        for name, value in got.items():
            text = wanted[name]
            if value is None:
                assert text == "", name
            elif isinstance(value, Decimal):
                assert value == Decimal(text), name
            elif isinstance(value, datetime):
                assert value.astimezone(UTC).isoformat().replace("+00:00", "Z") == text
            elif isinstance(value, int):
                assert value == int(text)
            else:
                guarded = value[:1] in "=+-@\uff1d\uff0b\uff0d\uff20\t\n\r"
                assert text == ("'" + value if guarded else value), name


def test_unknown_periods_teams_and_profiles_are_refused(
    lines: list[Line], tmp_path: Path
) -> None:
    del lines
    with pytest.raises(BookingError, match="2026-09 has no booking"):
        write_file(ExportRequest(What.FOCUS, "2026-09"), tmp_path)
    with pytest.raises(BookingError, match=r"revision 2 .*2026-10-r1 \(closed\)"):
        write_file(ExportRequest(What.FOCUS, "2026-10", revision=2), tmp_path)
    with pytest.raises(ExportError, match="nobody has no statement in 2026-10-r1"):
        stream(ExportRequest(What.FOCUS, "2026-10", team="nobody"))
    with pytest.raises(ExportError, match=r"Profiles: focus-1\.4, focus-1\.2"):
        ExportRequest(What.FOCUS, "2026-10", "focus-9")


def test_a_file_that_cannot_be_completed_leaves_nothing(
    lines: list[Line], tmp_path: Path
) -> None:
    del lines

    def stop(so_far: WriteProgress) -> None:
        assert so_far.size
        assert 0 <= so_far.rows <= so_far.row_count
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(FOCUS, tmp_path, progress=stop)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ExportError, match="cannot be written"):
        write_file(FOCUS, tmp_path / "missing" / "x.csv")


def test_an_older_revision_stays_readable(lines: list[Line], tmp_path: Path) -> None:
    del lines
    old = write_file(FOCUS, tmp_path).path.read_bytes()
    PeriodRevision.objects.update(**reopening(datetime(2026, 11, 6, tzinfo=UTC)))
    book(random_lines(6, 20), revision=2)
    assert prepare(FOCUS).name == "gpu-ledger_focus-1.4_2026-10_r2.csv"
    again = ExportRequest(What.FOCUS, "2026-10", revision=1)
    assert write_file(again, tmp_path).path.read_bytes() == old
