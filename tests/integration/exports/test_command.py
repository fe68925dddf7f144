"""`export` and `report charges` as finance uses them: from usage to one total everywhere.

Not here: cells and formats (`test_csv.py`, `test_files.py`).
"""

import csv
import io
import json
from datetime import date
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import pytest

from accounting.core.charge_lines import FIELDS
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.close import close_period
from tests.integration.commands.conftest import Ended, run
from tests.integration.months.days import H100, Days

pytestmark = pytest.mark.django_db
OCTOBER, NOVEMBER = date(2026, 10, 5), date(2026, 11, 10)


@pytest.fixture
def month(days: Days) -> Days:
    days.price(H100, "1.234567")
    days.use("vision", OCTOBER, 378_001)
    days.use("search", OCTOBER, 1_000_003)
    days.use("vision", NOVEMBER, 300_000)
    return days


def exported(what: str, folder: Path, *options: str) -> tuple[Path, dict[str, object]]:
    ended = run("export", what, "--period", "2026-10", "-o", str(folder), *options)
    assert ended.code == 0, ended.err
    name = "focus-1.4" if what == "focus" else what
    (path,) = folder.glob(f"gpu-ledger_{name}_*.csv")
    metadata = json.loads(path.with_name(f"{path.name}.metadata.json").read_text())
    assert metadata["sha256"] in ended.out
    return path, metadata


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(), newline="")))


def charges(*options: str) -> list[dict[str, str]]:
    ended = run(
        "report", "charges", "--period", "2026-10", "--format", "json", *options
    )
    assert ended.code == 0, ended.err
    found: list[dict[str, str]] = json.loads(ended.out)["rows"]
    return found


def test_every_file_and_report_has_one_total(month: Days, tmp_path: Path) -> None:
    close_period("2026-10")
    payable = PeriodRevision.objects.get(period="2026-10").payable
    focus, metadata = exported("focus", tmp_path)
    lines, _ = exported("charges", tmp_path)
    statements, _ = exported("statements", tmp_path)
    totals = {
        "metadata": Decimal(str(metadata["sum"])),
        "focus": sum(Decimal(row["BilledCost"]) for row in rows_of(focus)),
        "charges": sum(Decimal(row["charge"]) for row in rows_of(lines)),
        "statements": sum(Decimal(row["payable"]) for row in rows_of(statements)),
        "by team": sum(Decimal(row["charge"]) for row in charges()),
        "by day": sum(Decimal(row["charge"]) for row in charges("--by", "day,model")),
        "all": Decimal(charges("--by", "")[0]["charge"]),
    }
    assert set(totals.values()) == {payable}
    assert payable > 0
    del month


def test_the_lines_of_a_file_have_the_hash_of_the_close(
    month: Days, tmp_path: Path
) -> None:
    """A file of charges is enough to check the hash, as a stranger would."""
    del month
    revision = close_period("2026-10")
    path, metadata = exported("charges", tmp_path)
    arrays = []
    for row in rows_of(path):
        cells: list[str | None] = [row[name] for name in FIELDS]
        for name in ("raw", "charge"):
            cells[FIELDS.index(name)] = row[name] or None
        arrays.append(cells)
    payable = str(metadata["payable"])
    header = [
        *("gpu-ledger-close-v1", metadata["period"], str(metadata["revision"])),
        *(metadata["period_start"], metadata["period_end"], metadata["time_zone"]),
        *(metadata["currency"], str(len(payable.partition(".")[2]))),
        *(metadata["method"], str(len(arrays)), payable, metadata["previous_hash"]),
    ]
    texts = [
        json.dumps(array, ensure_ascii=False, separators=(",", ":"))
        for array in (header, *arrays)
    ]
    assert texts[1:] == sorted(texts[1:], key=str.encode)
    digest = sha256("".join(f"{text}\n" for text in texts).encode()).hexdigest()
    assert digest == metadata["close_hash"] == revision.hash


def test_a_running_period_is_computed_when_it_is_written(
    month: Days, tmp_path: Path
) -> None:
    path, metadata = exported("focus", tmp_path)
    assert path.name == "gpu-ledger_focus-1.4_2026-10_running.csv"
    assert metadata["close_hash"] is None
    first = Decimal(str(metadata["sum"]))
    month.use("search", date(2026, 10, 6), 3_600_000)
    _, again = exported("focus", tmp_path)
    assert Decimal(str(again["sum"])) > first
    assert {row["InvoiceId"] for row in rows_of(path)} == {""}


def test_charges_of_a_team_and_a_model(month: Days) -> None:
    del month
    rounding, row = charges("--team", "vision", "--by", "team,model")
    assert (rounding["model"], rounding["charge"]) == ("", "0.000370")
    assert (row["team"], row["model"]) == ("vision", H100)
    assert row["gpu_hours"] == "0.105000"
    assert row["charge"] == "0.129630"  # 378,001 ms x 1.234567 / 3,600,000
    assert (row["currency"], row["revision"]) == ("EUR", "running")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["export", "focus", "--period", "October", "-o", "x"], "is not a month"),
        (
            ["export", "focus", "--period", "2026-10", "--team", "no", "-o", "x"],
            "no has no statement in 2026-10-r1",
        ),
        (
            [
                *("export", "charges", "--period", "2026-10", "--profile"),
                *("focus-1.2", "-o", "x"),
            ],
            "charges have no profile",
        ),
        (
            ["export", "focus", "--period", "2026-10", "-o", "/nowhere/x.csv"],
            "/nowhere/x.csv cannot be written: No such file or directory",
        ),
        (
            ["export", "focus", "--period", "2026-10", "--revision", "7", "-o", "x"],
            "2026-10, revision 7 has no booking",
        ),
        (["report", "charges"], "charges need --period"),
        (
            ["report", "charges", "--period", "2026-10", "--by", "gpu"],
            "charges have no field 'gpu'. Fields: cluster, corrects, day",
        ),
        (
            ["report", "charges", "--period", "2026-10", "--from", "2026-10-01"],
            "do not support --from",
        ),
        (["report", "usage", "--period", "2026-10"], "do not support --period"),
    ],
)
def test_wrong_use_is_explained(month: Days, words: list[str], sentence: str) -> None:
    del month
    ended: Ended = run(*words)
    assert ended.code == 2
    assert sentence in ended.err
