"""Conversion rates between currencies, by day."""

from datetime import date
from decimal import Decimal

from babel.numbers import list_currencies

from accounting.audit import Actor, act
from accounting.models import ConversionRate

PLACES = Decimal("1E-10")
LARGEST = Decimal(10) ** 10


class ConversionError(ValueError):
    """The rate is not valid; nothing was changed.

    Attributes:
        field: the argument that is wrong.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def set_conversion_rate(
    *,
    from_currency: str,
    to_currency: str,
    on: date,
    rate: Decimal,
    actor: Actor,
    reason: str,
) -> tuple[ConversionRate, bool]:
    """Add the rate of a day, or correct it.

    Args:
        from_currency, to_currency: ISO 4217 codes.
        on: the first billing day for which it applies.
        rate: units of `to_currency` for one of `from_currency`: above 0 and below 10^10, at most
            ten places.
        actor: the person who sets it.
        reason: for the audit log.

    Returns:
        The rate, and whether its day is new.

    Raises:
        ConversionError: a value that is not valid.
    """
    check_conversion(from_currency, to_currency, rate)
    with act(actor, reason):
        row, is_new = ConversionRate.objects.select_for_update().get_or_create(
            from_currency=from_currency,
            to_currency=to_currency,
            on=on,
            defaults={"rate": rate},
        )
        if row.rate != rate:
            row.rate = rate
            row.save(update_fields=["rate"])
    return row, is_new


def check_conversion(from_currency: str, to_currency: str, rate: Decimal) -> None:
    """Refuse what cannot be a conversion.

    Raises:
        ConversionError: with the field that is wrong.
    """
    for field, code in (
        ("from_currency", from_currency),
        ("to_currency", to_currency),
    ):
        if code not in list_currencies():
            raise ConversionError(
                field, f"{code!r} is not an ISO 4217 currency, like EUR"
            )
    if from_currency == to_currency:
        raise ConversionError(
            "to_currency", f"{to_currency} needs no conversion into itself"
        )
    if not rate.is_finite() or not 0 < rate < LARGEST or rate % PLACES:
        raise ConversionError(
            "rate",
            f"the rate {rate} must be above 0 and below 10^10, with at most ten places",
        )
