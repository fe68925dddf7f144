"""Forecast, range and past error of a period by hand, and what always holds (M36-M39).

Not here: where the days come from (`tests/integration/budgets/test_history.py`).
"""

import json
import random
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.budgets.rules.forecast import (
    MICROS,
    Forecast,
    NotEnoughHistory,
    basis_of,
    expected,
    forecast,
    micros_of,
    residuals,
    shift_of,
    units_of,
    window_to,
)
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.interval import HOUR_MS
from accounting.core.rounding import half_even
from tests import shared_data

JUNE = DayRange(date(2026, 6, 1), date(2026, 7, 1))
FIRST = date(2026, 6, 12)


def days(first: date, *amounts: int) -> dict[date, int]:
    """Whole units on consecutive days, in micros."""
    return {first + n * DAY: amount * MICROS for n, amount in enumerate(amounts)}


X9 = days(FIRST, *[10] * 7, *[12] * 7)


def of(
    complete: dict[date, int],
    so_far: dict[date, int] | None = None,
    ledger_first: date | None = None,
    entries: int = 0,
) -> Forecast:
    """The forecast of June of a ledger that begins with its first day."""
    basis = basis_of(complete, so_far or {}, ledger_first or min(complete))
    return forecast(JUNE, basis, entries)


def test_two_weeks_and_five_days_left() -> None:
    found = of(X9)
    assert found.days_left == 5
    assert units_of(found.amount) == Decimal("209.000000")
    assert units_of(found.amount - found.low) == Decimal("22.137182")
    assert units_of(found.high - found.amount) == Decimal("22.137182")
    assert found.past_error == Decimal("0.1818")


def test_the_golden_case() -> None:
    path = shared_data.DATA / "money" / "11-forecast.json"
    if not path.exists():
        pytest.skip(shared_data.missing("money/11-forecast.json"))
    case = json.loads(path.read_text())
    given_days = {
        name: {
            date.fromisoformat(day): int(Decimal(amount) * MICROS)
            for day, amount in case["input"][name].items()
        }
        for name in ("days", "so_far")
    }
    complete, so_far = given_days["days"], given_days["so_far"]
    one = case["input"]
    found = forecast(
        DayRange(date.fromisoformat(one["first"]), date.fromisoformat(one["after"])),
        basis_of(complete, so_far, min(*complete, *so_far)),
        int(Decimal(one["entries"]) * MICROS),
    )
    shown = {
        "status": "ok",
        "days_left": found.days_left,
        "forecast": str(units_of(found.amount)),
        "low": str(units_of(found.low)),
        "high": str(units_of(found.high)),
        "forecast_minor": str(half_even(units_of(found.amount), one["places"])),
        "past_error": str(found.past_error),
    }
    assert shown == case["expected"]


def test_thirteen_days_are_not_enough() -> None:
    with pytest.raises(NotEnoughHistory, match="13 of 14"):
        of(dict(list(X9.items())[1:]))
    with pytest.raises(NotEnoughHistory):
        basis_of({}, {}, FIRST)


def test_old_days_do_not_make_up_for_missing_ones() -> None:
    late = days(date(2026, 6, 12), *[10] * 13)
    old = days(date(2026, 5, 1), *[10] * 20)  # not among the 28 up to 24 June
    with pytest.raises(NotEnoughHistory):
        of(old | late)


def test_a_day_costs_at_least_what_it_has_so_far() -> None:
    today = date(2026, 6, 26)
    assert of(X9, so_far={today: 3 * MICROS}).amount == 209 * MICROS
    assert of(X9, so_far={today: 40 * MICROS}).amount == (209 - 11 + 40) * MICROS


def test_the_range_does_not_fall_below_what_is_spent() -> None:
    wild = {day: n % 2 * 100 * MICROS for n, day in enumerate(X9)}
    found = of(wild, so_far={date(2026, 6, 26): 30 * MICROS})
    assert found.low == sum(wild.values()) + 30 * MICROS


def test_entries_move_forecast_and_range_alike() -> None:
    plain, moved = of(X9), of(X9, entries=-5 * MICROS)
    assert plain.amount - moved.amount == plain.low - moved.low == 5 * MICROS


def test_a_week_that_fell_below_what_is_expected_is_told() -> None:
    """Medians of 28 days follow a lasting fall after two to three weeks, without a word."""

    def shift(*amounts: int) -> Decimal | None:
        return shift_of(basis_of(days(date(2026, 6, 1), *amounts), {}, FIRST))

    assert shift(*[10] * 21, *[4] * 7) == Decimal("-0.6")
    assert shift(*[10] * 14, *[4] * 14) == Decimal("-0.4286")  # 7 are expected by now
    assert shift(*[10] * 7, *[4] * 21) is None  # it has followed
    assert shift(*[10] * 21, *[13] * 7) == Decimal("0.3")
    assert shift(*[10] * 21, *[8] * 7) is None  # less than a quarter
    assert shift(*[0] * 21, *[4] * 7) is None  # a share of nothing
    gap = days(date(2026, 6, 1), *[10] * 21, *[4] * 7)
    del gap[date(2026, 6, 24)]
    assert shift_of(basis_of(gap, {}, FIRST)) is None


def test_days_before_the_ledger_cost_nothing() -> None:
    late = of(X9, ledger_first=date(2026, 6, 11))  # the 11th is in it, and not complete
    assert late.days_left == 6
    assert late.amount == (209 + 11) * MICROS


def test_a_period_without_days_left_has_no_width() -> None:
    month = days(JUNE.first, *range(30))
    found = of(month)
    assert found.days_left == 0
    assert found.low == found.amount == found.high == sum(month.values())


def test_a_weekday_without_history_takes_the_median_of_all_days() -> None:
    window = {FIRST: 4, FIRST + DAY: 6, FIRST + 2 * DAY: 9}
    assert expected(window, FIRST + 7 * DAY) == 4
    assert expected(window, FIRST + 3 * DAY) == 6


def test_an_even_number_of_days_takes_the_half_even_mean() -> None:
    assert expected({FIRST: 2, FIRST + 7 * DAY: 5}, FIRST) == 4  # 3.5
    assert expected({FIRST: 2, FIRST + 7 * DAY: 3}, FIRST) == 2  # 2.5


def test_a_day_is_compared_with_the_others() -> None:
    assert residuals({FIRST: 10, FIRST + 7 * DAY: 12}) == {
        FIRST: -2,
        FIRST + 7 * DAY: 2,
    }


def test_no_amounts_have_no_past_error() -> None:
    assert of(days(FIRST, *[0] * 14)).past_error is None


def test_raw_money_and_milliseconds_become_micros_half_even() -> None:
    assert micros_of(Fraction(36, 10) * 5 / 2) == 2  # 2.5 micros
    assert micros_of(3_600_000) == MICROS


@given(st.fractions() | st.integers() | st.decimals(-(10**20), 10**20, places=10))
def test_micros_are_the_rounded_fraction(raw: Fraction | int | Decimal) -> None:
    assert micros_of(raw) == round(Fraction(raw) * MICROS / HOUR_MS)


@given(st.integers(-(10**9), 10**9))
def test_half_a_micro_is_rounded_to_even(micros: int) -> None:
    half = Fraction(2 * micros + 1, 2) * HOUR_MS / MICROS
    assert micros_of(half) % 2 == 0


HISTORIES = st.dictionaries(
    st.integers(0, 40), st.integers(0, 10**12), min_size=14, max_size=40
)


@given(HISTORIES, st.integers(), st.integers(0, 10**12))
def test_the_range_holds_the_forecast_in_any_order_of_rows(
    amounts: dict[int, int], seed: int, so_far: int
) -> None:
    history = {date(2026, 5, 20) + timedelta(n): one for n, one in amounts.items()}
    rows = list(history.items())
    random.Random(seed).shuffle(rows)
    partial = {date(2026, 6, 30): so_far}
    try:
        found = of(history, so_far=partial)
    except NotEnoughHistory:
        assert len([1 for day in history if max(history) - day < 28 * DAY]) < 14
        return
    assert found == of(dict(rows), so_far=partial)
    spent = sum(one for day, one in history.items() if JUNE.first <= day < JUNE.after)
    assert spent <= found.low <= found.amount <= found.high
    if not found.days_left:
        assert found.low == found.high


@given(HISTORIES, st.integers(2, 1000))
def test_amounts_of_another_unit_have_the_same_past_error(
    amounts: dict[int, int], factor: int
) -> None:
    history = {date(2026, 5, 20) + timedelta(n): one for n, one in amounts.items()}
    doubled = {day: 2 * factor * one for day, one in history.items()}
    even = {
        day: 2 * one for day, one in history.items()
    }  # so that no median is rounded
    try:
        assert of(doubled).past_error == of(even).past_error
    except NotEnoughHistory:
        assert len(window_days(history)) < 14


def window_days(history: dict[date, int]) -> list[date]:
    """The days of the window by counting, without `window_to`."""
    return [day for day in history if (max(history) - day).days < 28]


@given(HISTORIES)
def test_the_window_is_the_last_28_days(amounts: dict[int, int]) -> None:
    history = {date(2026, 5, 20) + timedelta(n): one for n, one in amounts.items()}
    wanted = window_days(history)
    if len(wanted) >= 14:
        assert sorted(window_to(history, max(history))) == sorted(wanted)
