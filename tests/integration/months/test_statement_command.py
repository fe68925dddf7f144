"""The statement of a team as text."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.months.actions import periods
from accounting.months.tasks.close import close_period
from tests.integration.months.command import command
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

OCTOBER, NOVEMBER = date(2026, 10, 5), date(2026, 11, 5)
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def october(days: Days) -> Days:
    days.price(H100, "1.005")
    days.use("vision", OCTOBER, HOUR)
    days.use("vision", OCTOBER, HOUR, state="idle", workload="notebook")
    days.use("vision", OCTOBER, HOUR, model="other")
    days.use("", OCTOBER, HOUR, state="free")
    return days


def rows(team: str, period: str = "2026-10") -> list[tuple[str, ...]]:
    out, _ = command("statement", period, team, "--format", "csv")
    found = list(csv.DictReader(io.StringIO(out)))
    return [(one["part"], one["of"], one["state"], one["charge"]) for one in found]


def test_a_running_statement_says_so() -> None:
    out, _ = command("statement", "2026-10", "vision")
    assert "Statement of vision, EUR" in out
    assert "running: amounts may change" in out
    assert "1.0000 GPU-hours have no price or conversion" in out


def test_rows_add_up_to_the_payable(october: Days) -> None:
    october.enter("E-7", "vision", OCTOBER, "-0.50")
    close_period("2026-10")
    found = rows("vision")
    assert found == [
        ("usage", H100, "busy", "1.005000"),
        ("usage", H100, "idle", "1.005000"),
        ("usage", "other", "busy", "0.000000"),
        ("credit", "E-7 of 2026-10-05", "", "-0.500000"),
        ("payable", "", "", "1.510000"),
    ]
    for team in ("vision", "platform"):
        *parts, payable = [Decimal(row[-1]) for row in rows(team)]
        assert sum(parts) == payable
    assert rows("platform")[-2] == ("rounding", "", "", "0.005000")


def test_a_closed_one_has_a_number_and_corrections_by_cause(october: Days) -> None:
    close_period("2026-10")
    out, _ = command("statement", "2026-10", "vision")
    assert "Statement 2026-10-vision-r1, EUR" in out
    october.use("vision", OCTOBER, HOUR, workload="late")
    assert rows("vision", "2026-11") == [
        ("correction", "2026-10-r1", "facts", "1.005000"),
        ("rounding", "", "", "-0.005000"),
        ("payable", "", "", "1.000000"),
    ]
    out, _ = command("statement", "2026-11", "vision")
    assert "month before: 2.01" in out


def test_overrides_are_on_every_statement() -> None:
    IngestWindow.objects.create(
        cluster=Cluster.objects.get(),
        window_start=datetime(2026, 10, 7, tzinfo=UTC),
        state="pending",
    )
    anna, bert = person("anna"), person("bert")
    for check in ("windows", "unpriced"):
        row = periods.request_override("2026-10", check, "an old exporter", anna)
        periods.confirm_override(row.pk, bert)
    periods.close("2026-10", anna)
    for team in ("vision", "platform"):
        out, _ = command("statement", "2026-10", team)
        assert "an old exporter (anna, bert)" in out


@pytest.mark.parametrize(
    "words",
    [
        ("October", "vision"),
        ("2026-10", "nobody"),
        ("2026-10", "vision", "--revision", "2"),
    ],
)
def test_wrong_use(words: tuple[str, ...]) -> None:
    _, errors = command("statement", *words, status=2)
    assert errors.startswith("statement: ")
