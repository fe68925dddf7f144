"""Which conversion applies to a price's currency on a billing day (money.md M16).

This is the rule over values. `accounting/prices/sql/conversion_sql.py` says the same in SQL; a test
compares both on random tables.
"""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any, Protocol

OLDEST_DAYS = 31
"""A rate applies on its day and at most this many days after it."""
WITHIN = Decimal(1)


class ConversionTerms(Protocol):
    """A unit of a currency in another one, from a day on."""

    from_currency: Any
    to_currency: Any
    on: Any
    rate: Any


def conversion_of(
    rates: Iterable[ConversionTerms], currency: str, billing_currency: str, day: date
) -> Decimal | None:
    """The conversion of a currency into the billing currency on a billing day.

    Returns:
        1 within the billing currency; else the latest rate that is not too old; None for none. A
        rate is neither inverted nor combined with another.
    """
    if currency == billing_currency:
        return WITHIN
    known: dict[date, Decimal] = {
        row.on: row.rate
        for row in rates
        if (row.from_currency, row.to_currency) == (currency, billing_currency)
        and 0 <= (day - row.on).days <= OLDEST_DAYS
    }
    return known[max(known)] if known else None
