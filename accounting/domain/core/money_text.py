"""How amounts of money are written: one format for pages, plans and messages."""

from decimal import Decimal

from babel.numbers import format_currency, format_decimal

from accounting.domain.core.money import Money, minor_places

LOCALE = "en"  # numbers and money: $148,210.37


def amount_text(amount: Decimal, currency: str, places: int) -> str:
    """`€148,210.37`; the number alone without a currency; rounded half-even to `places`."""
    pattern = "#,##0." + "0" * places if places else "#,##0"
    if not currency:
        text = format_decimal(amount, pattern, locale=LOCALE)
    else:
        text = format_currency(
            amount, currency, f"¤{pattern}", locale=LOCALE, currency_digits=False
        )
    return text.replace("-", "\N{MINUS SIGN}")


def money_text(money: Money) -> str:
    """`€12,345.00`: an amount with the decimal places of its currency."""
    shown = money.rounded()
    return amount_text(shown.amount, money.currency, minor_places(money.currency))
