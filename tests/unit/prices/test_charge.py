"""Time x price over values: exact, rounded once (rules.md N27, N28)."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from accounting.prices.rules.charge import (
    charge_of,
    difference_of,
    price_amounts,
    raw_of,
    split_charges,
)
from tests.euros import added

HOUR = 3_600_000
MS = st.integers(0, 10**15)
RATE = st.decimals(0, 999_999, places=6, allow_nan=False)


def test_an_hour_costs_its_rate() -> None:
    assert raw_of(HOUR, Decimal("2.100000")) == 7_560_000
    assert charge_of(raw_of(HOUR, Decimal("2.1"))) == Decimal("2.100000")


@given(MS, RATE)
def test_no_digit_is_lost(milliseconds: int, rate: Decimal) -> None:
    """10^15 ms at 999,999.999999 have more digits than a Decimal keeps by default."""
    assert raw_of(milliseconds, rate) * 10**6 == milliseconds * int(rate * 10**6)


@given(MS, RATE, RATE)
def test_a_team_and_the_platform_pay_the_own_price_together(
    held: int, rate: Decimal, own: Decimal
) -> None:
    both = raw_of(held, rate) + difference_of(held, rate, own)
    assert both == raw_of(held, own)


def test_a_list_is_rounded_on_its_total() -> None:
    third = Fraction(HOUR, 3)
    found = split_charges({"a": third, "b": third, "c": third}, 2)
    assert found == {"a": Decimal("0.34"), "b": Decimal("0.33"), "c": Decimal("0.33")}


def test_prices_times_hours_add_up() -> None:
    found = price_amounts(
        [(HOUR // 3, Decimal("1.00"), "EUR")] * 3 + [(HOUR, None, "")], 2
    )
    assert found[3] is None
    assert added(found) == Decimal("1.00")
