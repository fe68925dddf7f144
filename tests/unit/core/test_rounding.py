"""Sums are exact by construction (rules N23, N28)."""

from decimal import ROUND_UP, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.rounding import half_even, largest_remainder, quotient, split_money


@pytest.mark.parametrize(
    ("dividend", "divisor", "rounded"),
    [
        (1, 8, "0.12"),
        (3, 8, "0.38"),
        (-1, 8, "-0.12"),
        (-3, 8, "-0.38"),
        (2, 3, "0.67"),
    ],
)
def test_half_of_a_place_goes_to_the_even_one(
    dividend: int, divisor: int, rounded: str
) -> None:
    assert str(quotient(dividend, divisor, 2)) == rounded


@given(st.integers(), st.integers(min_value=1), st.integers(0, 6))
def test_quotient_is_the_fraction_rounded(
    dividend: int, divisor: int, places: int
) -> None:
    exact = Fraction(dividend, divisor)
    with localcontext(prec=200):
        told = Fraction(quotient(dividend, divisor, places))
    assert told == round(exact, places)


def test_the_largest_remainders_get_what_is_missing() -> None:
    assert largest_remainder([("a", 15), ("b", 14), ("c", 1)], 10, 3) == {
        "a": 2,
        "b": 1,
        "c": 0,
    }


def test_ties_go_to_the_first() -> None:
    assert largest_remainder([("a", 5), ("b", 5)], 10, 1) == {"a": 1, "b": 0}


def test_the_remainder_counts_and_not_the_amount() -> None:
    assert largest_remainder([("a", 19), ("b", 28)], 10, 4) == {"a": 2, "b": 2}


def test_a_month_of_a_large_fleet_is_no_float() -> None:
    """2 ** 60 - 1 is not a float's: one more would be booked than was there."""
    assert largest_remainder([("a", 2**60 - 1)], 1, 2**60 - 1) == {"a": 2**60 - 1}


def test_total_that_is_no_rounding_is_refused() -> None:
    with pytest.raises(ValueError, match="not a rounding"):
        largest_remainder([("a", 10)], 10, 5)


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=200))
def test_split_sums_to_the_rounded_total(amounts: list[int]) -> None:
    cells = {i: Fraction(amount, 3_600_000) for i, amount in enumerate(amounts)}
    parts = split_money(cells, places=2)
    total = half_even(sum(cells.values(), Fraction(0)), 2)
    assert sum(parts.values(), Decimal(0)) == total
    assert all(abs(Fraction(parts[i]) - cells[i]) < Fraction(1, 100) for i in cells)


@given(st.permutations(list(range(8))))
def test_split_does_not_depend_on_the_order_of_rows(order: list[int]) -> None:
    cells = {i: Fraction(i + 1, 7) for i in range(8)}
    assert split_money({i: cells[i] for i in order}) == split_money(cells)


@pytest.mark.parametrize(("value", "rounded"), [("0.125", "0.12"), ("0.135", "0.14")])
def test_half_goes_to_even(value: str, rounded: str) -> None:
    assert half_even(Fraction(value), 2) == Decimal(rounded)


def test_half_goes_to_even_in_any_context() -> None:
    with localcontext() as context:
        context.rounding = ROUND_UP
        assert half_even(Decimal("0.125"), 2) == Decimal("0.12")
        assert half_even(Decimal("0.135"), 2) == Decimal("0.14")


def test_money_has_six_places() -> None:
    assert split_money({"a": Fraction(1, 3)}) == {"a": Decimal("0.333333")}


def test_ties_of_money_go_to_the_smaller_key() -> None:
    cells = {"b": Fraction(1, 2), "a": Fraction(3, 2)}
    assert split_money(cells, places=0) == {"a": Decimal(2), "b": Decimal(0)}
