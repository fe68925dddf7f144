"""Closing a month from the command line (money.md M24, M28, M30, M31, M32, M48)."""

import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.conf import settings
from django.core.management import load_command_class

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.models.usage import UsageDay
from accounting.months.models.charge import RunningLine
from accounting.months.models.period import BillingPeriod, PeriodRevision
from tests.integration.months.command import command
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

OCTOBER = date(2026, 10, 5)
HOUR = 3_600_000
REASON = "the exporter was down"


@pytest.fixture(autouse=True)
def october(days: Days) -> None:
    """Usage of the year before: closes of commands are of now."""
    days.price(H100, "1")
    days.use("vision", OCTOBER, HOUR)
    days.use("", OCTOBER, HOUR, state="free")
    person("anna")
    person("bert")


def fault() -> None:
    IngestWindow.objects.create(
        cluster=Cluster.objects.get(),
        window_start=datetime(2026, 10, 7, tzinfo=UTC),
        state="pending",
    )


def test_check_changes_nothing_and_finds_what_blocks() -> None:
    out, _ = command("close_period", "2026-10", "--check")
    assert "BLOCK" not in out
    fault()
    out, _ = command("close_period", "2026-10", "--check", status=1)
    assert "BLOCK    windows: 1 window is not computed: north 1" in out
    assert not PeriodRevision.objects.exists()


def test_a_month_is_closed_once() -> None:
    out, _ = command("close_period", "2026-10", "--by", "anna")
    closed = PeriodRevision.objects.get()
    assert "2026-10-r1 is closed: 2 lines, 2.000000 EUR" in out
    assert f"hash: {closed.hash}" in out
    assert command("close_period", "2026-10")[0] == out


def test_a_block_is_overridden_by_two_people() -> None:
    fault()
    out, errors = command("close_period", "2026-10", status=1)
    assert "BLOCK    windows" in out
    assert "2026-10 was not closed" in errors
    words = ("close_period", "2026-10", "--override", "windows", "--reason", REASON)
    for missing in ((), ("--by", "anna"), ("--by", "anna", "--confirm", "anna")):
        command(*words, *missing, status=2)
    command(*words, "--by", "anna", "--confirm", "bert")
    [override] = [
        one["override"]
        for one in PeriodRevision.objects.get().checks
        if one["override"]
    ]
    assert (override["requested_by"], override["confirmed_by"]) == ("anna", "bert")


@pytest.mark.parametrize(
    "words",
    [
        ("close_period", "October"),
        ("close_period", "2026-10", "--by", "nobody"),
        ("close_period", "2026-10", "--reason", REASON),
        ("correct",),
        ("compare_methods", "--from", "2026-10-02", "--to", "2026-10-02"),
        ("compare_methods", "--from", "October", "--to", "2026-10-02"),
        (
            *("reopen_period", "2026-10", "--reason", REASON),
            *("--by", "anna", "--confirm", "bert"),
        ),
    ],
)
def test_wrong_use(words: tuple[str, ...]) -> None:
    _, errors = command(*words, status=2)
    assert errors.startswith(f"{words[0]}: ")


def test_every_documented_command_has_its_options() -> None:
    """The table of money.md M48: name, words and options of each command."""
    text = (settings.BASE_DIR / "docs/money.md").read_text()
    table = re.findall(
        r"^\| `(\w+)([^`]*)` \| (.*) \|$", text.split("### M48")[1], re.MULTILINE
    )
    assert len(table) > 8
    for name, words, rest in table:
        parser = load_command_class("accounting", name).create_parser("manage.py", name)
        shown = parser.format_help()
        options = re.findall(r"`(-{1,2}[a-z-]+)", rest) + re.findall("--[a-z]+", words)
        choices = re.findall(r"[a-z]+", words)
        missing = [one for one in [*options, *choices] if one not in shown]
        assert not missing, (name, missing)


def test_the_latest_month_is_reopened_by_two_people() -> None:
    command("close_period", "2026-10")
    words = ("reopen_period", "2026-10", "--reason", REASON, "--by", "anna")
    command(*words, "--confirm", "anna", status=2)
    out, _ = command(*words, "--confirm", "bert")
    assert out == "2026-10 is open again; 2026-10-r1 stays readable\n"
    assert "2026-10-r2 is closed" in command("close_period", "2026-10")[0]


def test_correct_prints_each_cause(days: Days) -> None:
    command("close_period", "2026-10")
    days.use("vision", date(2026, 10, 6), 1, workload="late")
    days.use("search", date(2026, 10, 7), 0, workload="none")
    moved = UsageDay.objects.get(billing_on=date(2026, 10, 7))
    UsageDay.objects.filter(billing_on=OCTOBER, busy_ms=HOUR).update(
        team_id=moved.team_id
    )
    UsageDay.objects.filter(billing_on=OCTOBER, free_ms=HOUR).update(
        rate=Decimal(2), gpu_rate=Decimal(2)
    )
    out, _ = command("correct", "--format", "json")
    found = {
        (row["cause"], row["team"]): (row["ms"], row["charge"])
        for row in json.loads(out)["rows"]
    }
    assert found == {
        ("facts", "vision"): ("1", "0.000000"),
        ("mapping", "vision"): (f"-{HOUR}", "-1.000000"),
        ("mapping", "search"): (str(HOUR), "1.000000"),
        ("price", "platform"): ("0", "1.000000"),
    }
    words = ("report", "corrections", "--period", "2026-11")
    again, _ = command(*words, "--format", "json")
    assert json.loads(again)["rows"] == json.loads(out)["rows"]
    mine, _ = command(*words, "--team", "search", "--format", "csv")
    assert mine.splitlines()[1].startswith("2026-11,2026-10-r1,mapping,search,")
    assert len(mine.splitlines()) == 2
    for wrong in (("--by", "team"), ("--state", "open"), ("--from", "2026-11-01")):
        _, error = command(*words, *wrong, status=2)
        assert "corrections" in error
    _, error = command("report", "corrections", status=2)
    assert "need --period" in error


def test_methods_side_by_side_store_nothing(days: Days) -> None:
    days.use("search", OCTOBER, HOUR, state="idle", workload="notebook")
    BillingPeriod.objects.create(name="2026-11", method="busy-v1")
    days.use("search", date(2026, 11, 2), HOUR, state="idle", workload="notebook")
    out, _ = command(
        *("compare_methods", "--from", "2026-10-05", "--to", "2026-11-03"),
        *("--format", "json"),
    )
    rows = json.loads(out)["rows"]
    found = {
        (row["team"], row["method"]): (row["charge"], row["difference_charge"])
        for row in rows
    }
    assert found["search", "alloc-v1"] == ("2.000000", "1.000000")
    assert found["search", "busy-v1"] == ("0.000000", "-1.000000")
    assert found["platform", "busy-v1"] == ("3.000000", "1.000000")
    assert found["search", "busy-v1+even"] == ("2.000000", "1.000000")
    assert found["vision", "busy-v1+even"] == ("2.000000", "1.000000")
    for method in {row["method"] for row in rows}:
        assert (
            sum(Decimal(row["charge"]) for row in rows if row["method"] == method) == 4
        )
    assert not RunningLine.objects.exists()
    assert not PeriodRevision.objects.exists()
