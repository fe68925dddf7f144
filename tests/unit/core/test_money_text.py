"""How amounts are written: `€12,345.00` (tests/unit/kit/test_units.py compares with Babel)."""

from decimal import Decimal

from accounting.core.money import Money
from accounting.core.money_text import MINUS, money_text, number_text


def test_an_amount_has_the_places_of_its_currency() -> None:
    assert money_text(Money(Decimal("12345.005"), "EUR")) == "€12,345.00"
    assert money_text(Money(Decimal("-12345.5"), "JPY")) == f"{MINUS}¥12,346"


def test_a_float_is_rounded_as_it_is_written() -> None:
    """2.675 is a little less than that in binary, and 2.67 if it were rounded as such."""
    assert number_text(2.675, 2) == "2.68"
