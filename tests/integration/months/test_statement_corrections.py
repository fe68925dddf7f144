"""Corrections on a statement: by month and cause, and raw where the charge is zero (M32, M33)."""

import random
import re
from datetime import date
from decimal import Decimal

import pytest
from django.template.loader import render_to_string

from accounting.access.scope import EVERYTHING
from accounting.months.reads.corrections import correction_rows
from accounting.months.reads.lines import booking_of
from accounting.months.reads.statement_document import StatementDocument, document
from accounting.months.reads.statements import statement_row
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, Days

OCTOBER = date(2026, 10, 5)
NOVEMBER = date(2026, 11, 5)


@pytest.fixture(autouse=True)
def october(days: Days) -> None:
    """October, closed with 0.105000 for vision."""
    days.price(H100, "1")
    days.use("vision", OCTOBER, 378_000)
    close_period("2026-10")
    days.forget()


def november(team: str) -> StatementDocument:
    book_running("2026-11")
    booking = booking_of("2026-11")
    row = statement_row(booking, EVERYTHING, team)
    assert row is not None
    return document(booking, row)


def rows_of(found: StatementDocument) -> str:
    """The rows of corrections as the page shows them, without tags."""
    html = render_to_string(
        "months/_statement_rows.html",
        {"items": found.corrections, "part": "Correction"},
    )
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_time_of_another_team_is_the_cause_on_both_statements(days: Days) -> None:
    days.use("search", OCTOBER, 378_000)
    [given] = november("search").corrections
    [taken] = november("vision").corrections
    assert given.label == taken.label == ("2026-10-r1", "time of another team")
    assert (given.ms, taken.ms) == (378_000, -378_000)
    assert given.raw_amount.amount == -taken.raw_amount.amount == Decimal("0.105000")


def test_one_month_has_a_row_for_each_cause(days: Days) -> None:
    days.use("vision", OCTOBER, 300_000)
    days.use("vision", OCTOBER, 3_600_000, workload="late")
    days.use("search", OCTOBER, 78_000)
    found = november("vision").corrections
    assert [one.label[1] for one in found] == ["changed time", "time of another team"]
    assert [one.ms for one in found] == [3_600_000, -78_000]


def test_the_rows_in_the_sum_add_up_to_the_payable(days: Days) -> None:
    days.use("vision", OCTOBER, 3_600_000)
    days.use("vision", NOVEMBER, 1_800_001)
    found = november("vision")
    parts = (*found.usage, *found.corrections, *found.rounding)
    assert sum(one.amount.amount for one in parts) == found.total.amount
    assert "In total 0.9" in rows_of(found)


def test_a_correction_below_a_millionth_shows_its_raw_amount(days: Days) -> None:
    days.use("vision", OCTOBER, 378_001)
    found = november("vision")
    assert found.corrections[0].raw_amount.amount == 0
    assert "(raw 1 EUR-ms)" in rows_of(found)


@pytest.mark.parametrize("seed", range(5))
def test_corrections_of_some_teams_are_those_of_all_that_are_theirs(
    days: Days, seed: int
) -> None:
    """They are read without those of others; their causes need others' lines of the same time."""
    dice = random.Random(seed)

    def use_at_random() -> None:
        for number in range(12):
            for team in dice.sample(("vision", "search", "speech"), dice.randrange(3)):
                days.use(team, NOVEMBER, 378_000, workload=f"run-{number}")
        days.use("", NOVEMBER, dice.randrange(1, 10**6), state="free")

    use_at_random()
    close_period("2026-11")
    days.forget()
    use_at_random()
    days.price(H100, "2")
    days.use("vision", NOVEMBER, 378_000, workload="dearer")
    book_running("2026-12")
    booking = booking_of("2026-12")
    found = correction_rows(booking)
    assert {row.cause for row in found} >= {"facts", "mapping"}
    for wanted in (["vision"], ["search", "speech"], ["platform"], ["nobody"]):
        expected = [row for row in found if row.team in wanted]
        assert correction_rows(booking, wanted) == expected
