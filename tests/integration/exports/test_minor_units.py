"""Months in currencies with 0, 3 and 4 decimal places have one total everywhere (money.md M1-M6).

Aspects: charges by largest remainder, statements, entries, files of FOCUS, lines and statements,
reports and the command, each to the last place of the currency.
Not here: two places (`test_command.py`); random ledgers
(`tests/integration/months/test_random_worlds.py`).
"""

import csv
import io
import json
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.core.interval import HOUR_MS
from accounting.core.rounding import half_even, split_money
from accounting.months.models.entry import Entry
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.lines import booking_of
from accounting.months.reads.statement_document import PARTS, document
from accounting.months.reads.statements import statement_rows
from accounting.months.tasks.close import close_period
from tests.integration.commands.conftest import run
from tests.integration.metering.support import report
from tests.integration.prices.books import TEN, WINDOW, Books

pytestmark = pytest.mark.django_db
OCTOBER = "2026-10"
SET_UP = """
billing: {{currency: {currency}, timezone: UTC}}
teams: [{{slug: a, name: A}}, {{slug: b, name: B}}, {{slug: c, name: C}}]
bindings:
  - {{namespace: a, team: a}}
  - {{namespace: b, team: b}}
  - {{namespace: c, team: c}}
prices:
  - {{model: NVIDIA-L40S, rate_per_gpu_hour: "{rate}"}}
  - {{model: NVIDIA-L40S, tier: low, rate_per_gpu_hour: "{low}"}}
"""
CURRENCIES = [
    ("JPY", 0, "331.777777", "97.333331"),
    ("KWD", 3, "0.654321", "0.333333"),
    ("CLF", 4, "0.052477", "0.011113"),
]


@pytest.fixture(params=CURRENCIES, ids=[one[0] for one in CURRENCIES])
def closed(request: pytest.FixtureRequest, tmp_path: Path) -> PeriodRevision:
    """A closed October of three teams with odd milliseconds and an entry."""
    currency, places, rate, low = request.param
    books = Books(tmp_path)
    books.configure(SET_UP.format(currency=currency, rate=rate, low=low))
    gpu = books.gpu()
    pods = [
        books.pod(f"run-{n}", space="abc"[n % 3], tier="low" * (n % 2))
        for n in range(7)
    ]
    with books.together():
        for n in range(60):
            at = TEN + n * WINDOW + (n % 5) * timedelta(days=1)
            busy, idle = 100_003 + 997 * n, 31_007 + 13 * n
            books.write(gpu, at, pods[n % 7], busy=busy, idle=idle, unknown=11)
            books.write(gpu, at, free=300_000 - busy - idle - 14, dark=3)
    books.settle()
    Entry.objects.create(
        number="E-1",
        kind="credit",
        team=Team.objects.get(slug="a"),
        billing_on=date(2026, 10, 7),
        amount=-7 * Decimal(1).scaleb(-places),
        currency=currency,
        reason="agreed in the monthly review",
        author=get_user_model().objects.create_user("finance"),
    )
    close_period(OCTOBER)
    found = PeriodRevision.objects.get(period=OCTOBER)
    assert (found.currency, found.minor_places) == (currency, places)
    return found


def is_in_places(amount: Decimal, places: int) -> bool:
    return half_even(amount, places) == amount


def test_lines_are_shared_by_the_rule(closed: PeriodRevision) -> None:
    for statement in closed.statements.all():
        lines = list(
            closed.lines.filter(team=statement.team, corrects="", reference="")
        )
        own = [one for one in lines if one.kind != "rounding"]
        exact = {
            (
                one.kind,
                str(one.billing_on),
                *map(str, (one.workload, one.tier, one.state)),
            ): (Fraction(one.raw or 0))
            for one in own
        }
        assert len(exact) == len(own)
        shares = split_money(exact, 6, HOUR_MS)
        assert sorted(shares.values()) == sorted(one.charge or 0 for one in own)
        assert sum(shares.values()) == statement.own6


def test_statements_are_in_the_places_of_the_currency(closed: PeriodRevision) -> None:
    places = closed.minor_places
    statements = list(closed.statements.all())
    for one in statements:
        assert is_in_places(one.payable, places), one.team
        lines = closed.lines.filter(team=one.team)
        assert sum(line.charge or Decimal(0) for line in lines) == one.payable
        if one.team != "platform":
            assert half_even(one.total6, places) == one.payable
    assert sum(one.payable for one in statements) == closed.payable
    assert half_even(sum((one.total6 for one in statements), Decimal(0)), places) == (
        closed.payable
    )
    assert any(one.total6 != one.payable for one in statements)  # something was rounded


def test_a_document_is_one_list_in_the_places_of_the_currency(
    closed: PeriodRevision,
) -> None:
    booking = booking_of(OCTOBER)
    for row in statement_rows(booking, Scope(team_ids=None)):
        shown = document(booking, row)
        items = [item for part in PARTS for item in getattr(shown, part)]
        items += shown.rounding
        assert sum(item.amount.amount for item in items) == row.payable.amount
        assert all(
            is_in_places(one.amount.amount, closed.minor_places) for one in items
        )


def exported(what: str, folder: Path) -> tuple[list[dict[str, str]], dict[str, object]]:
    ended = run("export", what, "--period", OCTOBER, "-o", str(folder))
    assert ended.code == 0, ended.err
    version = "-1.4" if what == "focus" else ""
    (path,) = folder.glob(f"gpu-ledger_{what}{version}_*.csv")
    metadata = json.loads(path.with_name(f"{path.name}.metadata.json").read_text())
    return list(csv.DictReader(io.StringIO(path.read_text(), newline=""))), metadata


def test_files_and_reports_come_to_the_payable(
    closed: PeriodRevision, tmp_path: Path
) -> None:
    focus, metadata = exported("focus", tmp_path)
    lines, _ = exported("charges", tmp_path)
    statements, _ = exported("statements", tmp_path)
    totals = {
        "metadata": Decimal(str(metadata["sum"])),
        "focus": sum(Decimal(row["BilledCost"]) for row in focus),
        "charges": sum(Decimal(row["charge"]) for row in lines),
        "statements": sum(Decimal(row["payable"]) for row in statements),
        "team": sum(
            Decimal(row["charge"]) for row in report("charges", period=OCTOBER)
        ),
        "day": sum(
            Decimal(row["charge"])
            for row in report("charges", period=OCTOBER, by="day,state,tier")
        ),
    }
    assert set(totals.values()) == {closed.payable}
    assert {row["BillingCurrency"] for row in focus} == {closed.currency}
    payable = str(metadata["payable"])
    assert len(payable.partition(".")[2]) == closed.minor_places
    for team in ("a", "b", "c", "platform"):
        ended = run("statement", OCTOBER, team, "--format", "csv")
        *parts, total = [
            Decimal(row["charge"]) for row in csv.DictReader(io.StringIO(ended.out))
        ]
        assert sum(parts) == total == closed.statements.get(team=team).payable


def test_usage_of_the_closed_days_has_the_charges_of_the_lines(
    closed: PeriodRevision,
) -> None:
    own = closed.lines.exclude(kind__in=["rounding", "credit", "adjustment"])
    held = own.exclude(team="platform")
    for by in ("team", "day", "hour", "workload"):
        rows = report("usage", by=by)
        assert sum(Decimal(row["charge"]) for row in rows) == sum(
            one.charge or Decimal(0) for one in held
        ), by
