"""Credits and adjustments that people add (money.md M25)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import connections

from accounting.access.models.people import OrganizationRole
from accounting.access.models.teams import Team
from accounting.core.money import Money
from accounting.kit.preview import Preview
from accounting.months.actions import periods
from accounting.months.actions.entries import (
    PreviewChanged,
    add_entry,
    add_previewed_entry,
)
from accounting.months.actions.periods import CloseRefused, NotAllowed
from accounting.months.models.entry import Entry
from accounting.months.reads.entry_effect import entry_effect
from accounting.months.tasks.close import close_period
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, Days, payables
from tests.integration.months.people import person

NOVEMBER = date(2026, 11, 10)
REASON = "agreed in the monthly review"


@pytest.fixture
def team(days: Days) -> Team:
    del days
    return Team.objects.create(slug="vision", name="Vision")


def test_an_entry_is_on_the_teams_and_the_platforms_statement(team: Team) -> None:
    anna = person("anna")
    one = add_entry("credit", team, NOVEMBER, Decimal("-10.50"), f" {REASON} ", anna)
    two = add_entry("adjustment", team, NOVEMBER, Decimal("0.01"), REASON, anna)
    assert (one.number, two.number) == ("E-1", "E-2")
    assert (one.currency, one.reason) == ("EUR", REASON)
    assert payables(book_running("2026-11")) == {
        "platform": "10.49",
        "vision": "-10.49",
    }


@pytest.mark.parametrize(
    ("kind", "amount", "message"),
    [
        ("credit", "1.00", "a credit is below 0"),
        ("credit", "0", "must not be 0"),
        ("adjustment", "0", "must not be 0"),
        ("adjustment", "NaN", "must not be 0"),
        ("adjustment", "1000000000000", "below 10"),
        ("adjustment", "0.001", "more than 2 decimal places"),
        ("refund", "1.00", "not a kind of entry"),
    ],
)
def test_amounts_that_are_not_valid(
    kind: str, amount: str, message: str, team: Team
) -> None:
    with pytest.raises(PeriodError, match=message):
        add_entry(kind, team, NOVEMBER, Decimal(amount), REASON, person("anna"))
    assert not Entry.objects.exists()


def test_a_day_of_a_closed_month_is_refused(team: Team) -> None:
    close_period("2026-10", now=datetime(2026, 11, 5, tzinfo=UTC))
    anna, amount = person("anna"), Decimal(1)
    for day in (date(2026, 10, 31), date(2026, 9, 1)):
        with pytest.raises(PeriodError, match="choose a day of 2026-11"):
            add_entry("adjustment", team, day, amount, REASON, anna)
    row = periods.request_reopening("2026-10", REASON, anna)
    periods.confirm_reopening(row.pk, person("bert"))
    add_entry("adjustment", team, date(2026, 10, 31), amount, REASON, anna)


def test_a_month_before_the_ledger_is_refused(days: Days, team: Team) -> None:
    """It will have no statement; the month in which the ledger begins has one."""
    days.use("vision", date(2026, 10, 2), 3_600_000)
    anna, amount = person("anna"), Decimal(1)
    with pytest.raises(PeriodError) as refused:
        add_entry("adjustment", team, date(2026, 9, 30), amount, REASON, anna)
    assert str(refused.value) == (
        "2026-09 is before the first month of the ledger, 2026-10, so no statement would "
        "have it: choose a day of 2026-10 or a later month"
    )
    add_entry("adjustment", team, date(2026, 10, 1), amount, REASON, anna)


def test_a_month_that_was_never_closed_is_not_called_closed(team: Team) -> None:
    close_period("2026-10", now=datetime(2026, 11, 5, tzinfo=UTC))
    with pytest.raises(PeriodError, match="2026-09 was never closed, and later") as no:
        add_entry(
            "adjustment", team, date(2026, 9, 1), Decimal(1), REASON, person("anna")
        )
    assert "2026-11" in str(no.value)


def test_entries_of_months_that_the_first_close_leaves_out_block_it(
    days: Days, team: Team
) -> None:
    anna, later = person("anna"), datetime(2026, 12, 5, tzinfo=UTC)
    days.price(H100, "1")
    days.use("vision", date(2026, 10, 2), 3_600_000)
    days.use("vision", date(2026, 11, 2), 3_600_000)
    add_entry("credit", team, date(2026, 10, 5), Decimal("-12.5"), REASON, anna)
    with pytest.raises(CloseRefused, match=r"entries: .* E-1 \(2026-10-05, -12\.5\)"):
        periods.close("2026-11", anna, now=later)
    assert periods.close("2026-10", anna, now=later).is_closed
    assert periods.close("2026-11", anna, now=later).is_closed


def test_only_finance_adds_entries(team: Team) -> None:
    lead = person("lead", OrganizationRole.NONE)
    with pytest.raises(NotAllowed):
        add_entry("credit", team, NOVEMBER, Decimal(-1), REASON, lead)


@pytest.mark.django_db(transaction=True)
def test_a_preview_that_is_sent_twice_at_once_adds_one_entry(team: Team) -> None:
    anna, amount = person("anna"), Decimal("-10.50")
    effect = entry_effect(team, NOVEMBER, Money(amount, "EUR"))
    preview = Preview("one", effect.seen)

    def send(_: int) -> str:
        try:
            made = add_previewed_entry(
                "credit", team, NOVEMBER, amount, REASON, anna, preview=preview
            )
            return made.number
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(send, range(4))) == {"E-1"}
    assert Entry.objects.count() == 1
    with pytest.raises(PreviewChanged, match="not the entry that was previewed"):
        add_previewed_entry(
            "credit", team, NOVEMBER, Decimal(-1), REASON, anna, preview=preview
        )
