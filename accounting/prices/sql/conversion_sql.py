"""The conversion of a price's currency into the billing currency, in SQL (money.md M16).

`accounting/prices/rules/conversion.py` is the same rule over values.
"""

from accounting.prices.rules.conversion import OLDEST_DAYS


def fx(currency: str, day: str, into: str = "%(currency)s") -> str:
    """The conversion of a column's currency on a column's billing day; NULL for none.

    Within the billing currency it is 1.

    Args:
        currency: SQL of the price's currency.
        day: SQL of the billing day.
        into: SQL of the billing currency; by default the parameter `currency`.
    """
    return f"""CASE WHEN {currency} = {into} THEN 1::numeric ELSE (
        SELECT f.rate FROM accounting_conversionrate f
        WHERE f.from_currency = {currency} AND f.to_currency = {into}
          AND f."on" <= {day} AND f."on" >= {day} - {OLDEST_DAYS}
        ORDER BY f."on" DESC LIMIT 1
    ) END"""
