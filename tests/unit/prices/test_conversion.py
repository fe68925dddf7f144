"""The conversion of a price's currency on a billing day, by hand (money.md M16)."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import pytest

from accounting.prices.rules.conversion import conversion_of


@dataclass
class Row:
    """One rate."""

    from_currency: str
    to_currency: str
    on: date
    rate: Decimal


OCTOBER = Row("USD", "EUR", date(2026, 10, 1), Decimal("0.92"))
LATER = Row("USD", "EUR", date(2026, 10, 15), Decimal("0.95"))
BACK = Row("EUR", "USD", date(2026, 10, 1), Decimal("1.09"))
POUNDS = Row("GBP", "USD", date(2026, 10, 1), Decimal("1.3"))


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (date(2026, 9, 30), None),
        (date(2026, 10, 1), "0.92"),
        (date(2026, 11, 1), "0.92"),
        (date(2026, 11, 2), None),
    ],
)
def test_a_rate_applies_for_31_days(day: date, expected: str | None) -> None:
    found = conversion_of([OCTOBER], "USD", "EUR", day)
    assert found == (Decimal(expected) if expected else None)


def test_the_latest_rate_on_or_before_the_day_applies() -> None:
    rows = [LATER, OCTOBER]
    assert conversion_of(rows, "USD", "EUR", date(2026, 10, 14)) == Decimal("0.92")
    assert conversion_of(rows, "USD", "EUR", date(2026, 10, 15)) == Decimal("0.95")


def test_a_currency_is_not_converted_into_itself() -> None:
    assert conversion_of([], "EUR", "EUR", date(2026, 10, 1)) == 1


@pytest.mark.parametrize(("currency", "rows"), [("USD", [BACK]), ("GBP", [BACK])])
def test_rates_are_neither_inverted_nor_combined(
    currency: str, rows: list[Row]
) -> None:
    found = conversion_of([*rows, POUNDS], currency, "EUR", date(2026, 10, 2))
    assert found is None
