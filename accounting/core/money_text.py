"""How numbers and amounts of money are written: one format for pages, plans and messages.

Formatted by Python itself: Babel parses its pattern for each number, which takes a hundred times
as long, and a page has hundreds. A test compares both. Signs of currencies are Babel's.
"""

from decimal import Decimal
from functools import cache

from babel.numbers import get_currency_symbol

from accounting.core.money import Money, minor_places

LOCALE = "en"  # numbers and money: $148,210.37
MINUS = "\N{MINUS SIGN}"


@cache  # as many as there are currencies
def currency_sign(currency: str) -> str:
    """`€`, or the code of a currency that has no sign; "" without a currency."""
    return get_currency_symbol(currency, locale=LOCALE) if currency else ""


def number_text(value: Decimal | float, places: int) -> str:
    """`148,210.4`; rounded half-even to `places`, a float as it is written."""
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    return f"{exact:,.{places}f}".replace("-", MINUS)


def gpus_text(gpus: Decimal) -> str:
    """`8`, or `0.25` of a shared GPU."""
    return f"{round(gpus, 2).normalize():f}"


def amount_text(amount: Decimal, currency: str, places: int) -> str:
    """`€148,210.37`; the number alone without a currency; rounded half-even to `places`."""
    sign = MINUS if amount.is_signed() else ""
    return f"{sign}{currency_sign(currency)}{number_text(abs(amount), places)}"


def money_text(money: Money) -> str:
    """`€12,345.00`: an amount with the decimal places of its currency."""
    shown = money.rounded()
    return amount_text(shown.amount, money.currency, minor_places(money.currency))
