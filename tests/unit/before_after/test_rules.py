"""Two periods: which ones, figures with unknown time in neither part, and the sentence.

Not here: figures of a ledger (`tests/integration/before_after/`).
"""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from accounting.core.billing_calendar import DayRange
from accounting.core.interval import DAY_MS, HOUR_MS
from accounting.core.ledger_line import STATES
from accounting.core.money import Money
from accounting.core.rounding import half_even
from accounting.usage.rules.rows import LedgerRow
from scheduler_view.before_after.rules import (
    ComparedFigure,
    PeriodFigures,
    compared,
    default_periods,
    first_compared,
    periods_around,
    split_of_cost,
    story,
)


def figures(busy: int, idle: int, *, unknown: int = 0, free: int = 0) -> PeriodFigures:
    """A period of 60 days with some hours by state, each at one euro."""
    hours = {"busy": busy, "idle": idle, "unknown": unknown, "free": free}
    times = {state: hours.get(state, 0) * HOUR_MS for state in STATES}
    charges = {
        state: Money(Decimal(hours.get(state, 0)), "EUR") if hours.get(state) else None
        for state in STATES
    }
    days = DayRange(date(2026, 9, 1), date(2026, 10, 31))
    total = LedgerRow({}, times, charges)
    return PeriodFigures(days, 60 * DAY_MS, total, 0, 0, 1.0, 20, 240_000)


def told(before: PeriodFigures, after: PeriodFigures) -> str:
    """The sentence as plain text."""

    def text(one: ComparedFigure, value: Decimal) -> str:
        return f"{one.unit}:{value}"

    found = story("Since then", before, after, compared(before, after), text)
    return " ".join("".join(part for part, _ in sentence) for sentence in found)


def test_unknown_time_is_in_no_share() -> None:
    one = figures(30, 10, unknown=500, free=60)
    assert one.utilization == pytest.approx(0.3)
    assert one.total.held.efficiency == pytest.approx(0.75)
    assert one.spot_share is None  # no lifecycle is known
    assert replace(one, spot_ms=1, lifecycle_ms=4).spot_share == 0.25
    assert figures(0, 0, unknown=9).utilization is None


def test_a_month_of_money_is_that_of_30_days() -> None:
    one = figures(30, 10)
    assert one.month_of(("idle",)) == 5
    assert one.month_of(("free",)) is None  # has no price
    assert replace(one, length_ms=0).month_of(("idle",)) is None
    mixed = replace(one.total, currencies=("EUR", "USD"))
    assert replace(one, total=mixed).month_of(("idle",)) is None


def test_months_are_compared_where_both_have_data() -> None:
    october = DayRange(date(2026, 10, 1), date(2026, 11, 1))
    september = DayRange(date(2026, 9, 1), date(2026, 10, 1))
    today = date(2026, 11, 29)
    assert default_periods(today, date(2026, 8, 30)) == (september, october)
    before, after = default_periods(today, date(2026, 9, 2))
    assert (before.days, after.days, after.after) == (28, 28, today)
    assert before.after == after.first
    assert default_periods(today, None) == (september, october)


@pytest.mark.parametrize(("today", "length"), [(14, 1), (16, 3), (25, 7), (28, 14)])
def test_periods_around_a_day_have_the_same_weekdays(today: int, length: int) -> None:
    found = periods_around(date(2026, 11, 12), date(2026, 11, today))
    assert found is not None
    before, after = found
    assert (before.days, after.days) == (length, length)
    assert (before.after, after.first) == (date(2026, 11, 12), date(2026, 11, 13))
    whole = periods_around(date(2026, 6, 1), date(2026, 11, today))
    assert whole is not None
    assert whole[0].days == 28


@pytest.mark.parametrize("today", [11, 12, 13])
def test_a_day_without_a_whole_day_after_it_has_no_periods(today: int) -> None:
    day = date(2026, 11, 12)
    assert periods_around(day, date(2026, 11, today)) is None
    assert first_compared(day) == date(2026, 11, 14)


def test_no_data_is_not_zero() -> None:
    ahead = replace(figures(0, 0), length_ms=0, seen=None)
    assert all(one.after is None for one in compared(figures(1, 1), ahead)[:-1])
    lost = replace(figures(0, 0), seen=0.0)
    assert not lost.has_data
    assert figures(0, 0).gpus == 0  # seen, and no GPU was there


def test_the_sentence_says_what_moved() -> None:
    before, after = figures(10, 30), figures(20, 20)
    assert told(before, after) == (
        "Since then, utilization rose from share:0.25 to share:0.5 and cost a month stayed"
        " at EUR:20. Idle GPUs a month fell".replace("EUR", "money")
        + " from money:15 to money:10 and the wait that 95% stay below stayed at ms:240000."
    )
    free = replace(after, wait_p95_ms=None)
    assert "95%" not in told(before, free)


@pytest.mark.parametrize("places", [0, 2, 6])
@pytest.mark.parametrize(
    ("hours", "price", "unpriced"),
    [(37, "1.13", 0), (40, "0.3333333", 0), (71, "0.77", 3), (13, "2.999", 5)],
)
def test_parts_of_the_change_of_cost_come_to_it(
    places: int, hours: int, price: str, unpriced: int
) -> None:
    before = figures(11, 30)
    after = priced(figures(hours, 7, free=unpriced), Decimal(price))
    after = replace(
        after,
        length_ms=28 * DAY_MS + HOUR_MS,
        total=replace(after.total, unpriced_ms=unpriced * HOUR_MS),
    )
    split = split_of_cost(before, after, places)
    assert split is not None
    costs = [one.month_of(STATES) or Decimal(0) for one in (before, after)]
    shown = [half_even(one, places) for one in costs]
    assert split.by_hours + split.by_price == shown[1] - shown[0]
    assert split.hours_before * split.price_before == pytest.approx(costs[0])
    assert split.hours_after * split.price_after == pytest.approx(costs[1])
    exact = (split.hours_after - split.hours_before) * split.price_before
    assert abs(split.by_hours - exact) <= Decimal(1).scaleb(-places) / 2


def priced(one: PeriodFigures, price: Decimal) -> PeriodFigures:
    """The same time at another price; free time has none."""
    charges = {
        state: Money(charge.amount * price, "EUR") if charge else None
        for state, charge in one.total.charges.items()
    }
    charges["free"] = None
    return replace(one, total=replace(one.total, charges=charges))


def test_the_same_price_or_the_same_time_is_one_part() -> None:
    split = split_of_cost(figures(10, 30), figures(20, 40), 2)
    assert split is not None
    assert (split.by_hours, split.by_price) == (Decimal(10), Decimal(0))
    cheaper = priced(figures(10, 30), Decimal("0.5"))
    split = split_of_cost(figures(10, 30), cheaper, 2)
    assert split is not None
    assert (split.by_hours, split.by_price) == (Decimal(0), Decimal(-10))
    nothing = replace(figures(1, 1), length_ms=0)
    assert split_of_cost(nothing, cheaper, 2) is None


def test_the_sentence_says_why_cost_changed() -> None:
    before, after = figures(100, 300), priced(figures(100, 320), Decimal("0.5"))
    assert (
        "Of this change, \N{MINUS SIGN}money:105 because a GPU-hour cost less (prices, models, "
        "spot) and +money:10 because there were more GPU-hours." in told(before, after)
    )
    assert "GPU-hour" not in told(before, before)  # nothing changed
    much = replace(after, total=replace(after.total, unpriced_ms=60 * HOUR_MS))
    assert "GPU-hour" not in told(before, much)


def test_too_little_data_has_no_sentence() -> None:
    one = figures(10, 30)
    assert not told(replace(one, seen=0.9), one)
    assert not told(one, replace(one, seen=None))
    assert not told(one, figures(0, 0))
