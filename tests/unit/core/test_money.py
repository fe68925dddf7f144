"""An amount has a currency: currencies are never added, and each is rounded to its own places."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.money import (
    NOTHING,
    CurrencyError,
    Money,
    amount_of,
    minor_places,
    split_list,
    sum_money,
    sums_by_currency,
)
from accounting.core.rounding import split_money
from tests.euros import eur

YEN = Money(Decimal(100), "JPY")


def test_two_currencies_have_no_sum() -> None:
    with pytest.raises(CurrencyError, match="EUR and JPY"):
        eur(1) + YEN
    with pytest.raises(CurrencyError):
        eur(1) - YEN
    assert sum_money([eur(1), YEN]) is None
    assert eur(1) != Money(Decimal(1), "USD")


def test_sums_are_one_for_each_currency_in_their_order() -> None:
    assert sums_by_currency([YEN, eur(1), YEN]) == (YEN + YEN, eur(1))
    assert sums_by_currency([]) == ()


def test_nothing_adds_to_any_currency() -> None:
    assert NOTHING + eur(2) == eur(2) == eur(2) + NOTHING
    assert eur(2) - eur("0.5") == eur("1.5")
    assert (amount_of(None), amount_of(NOTHING)) == (None, Decimal(0))


def test_what_is_not_known_is_left_out_of_a_sum_and_alone_is_not_known() -> None:
    assert sum_money([eur(1), None, eur(2)]) == eur(3)
    assert sum_money([None, None]) is None
    assert sum_money([]) == NOTHING


def test_a_float_is_refused_and_so_is_an_amount_without_a_currency() -> None:
    with pytest.raises(TypeError, match=r"0\.1 is not a Decimal"):
        Money(0.1, "EUR")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"0\.1 has no currency"):
        Money(Decimal("0.1"), "")


@pytest.mark.parametrize(
    ("currency", "shown"),
    [
        ("EUR", "1,234.56"),
        ("JPY", "1,235"),
        ("KWD", "1,234.565"),
        ("CLF", "1,234.5650"),
        ("RSD", "1,234.56"),  # CLDR, which Babel has, shows none of its places
        ("IQD", "1,234.565"),
    ],
)
def test_each_currency_has_the_places_of_iso_4217(currency: str, shown: str) -> None:
    assert str(Money(Decimal("1234.565"), currency)) == f"{currency} {shown}"
    rounded = Money(Decimal("1234.565"), currency).rounded()
    assert rounded.amount.as_tuple().exponent == -minor_places(currency)


@given(
    st.dictionaries(
        st.integers(0, 20), st.tuples(st.integers(-(10**9), 10**9), st.booleans())
    )
)
def test_a_list_of_each_currency_is_split_by_itself(
    cells: dict[int, tuple[int, bool]],
) -> None:
    pairs = {
        key: (Fraction(amount, 7), "EUR" if is_euro else "USD")
        for key, (amount, is_euro) in cells.items()
    }
    found = split_list(pairs, 2)
    for currency in ("EUR", "USD"):
        alone = {key: amount for key, (amount, c) in pairs.items() if c == currency}
        assert {
            key: money.amount
            for key, money in found.items()
            if money.currency == currency
        } == split_money(alone, 2)


def test_a_given_total_is_reached_in_its_own_currency() -> None:
    cells = {"a": eur("0.5").cell, "b": eur("0.5").cell, "c": YEN.cell}
    found = split_list(cells, 0, total=eur(4))
    assert found == {"a": eur(2), "b": eur(2), "c": YEN}
