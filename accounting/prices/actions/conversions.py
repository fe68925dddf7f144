"""Conversion rates between currencies, by day."""

from datetime import date
from decimal import Decimal

from babel.numbers import list_currencies

from accounting.kit.audit import Actor, act
from accounting.kit.inputs import body, reason, value
from accounting.kit.outcomes import Done, Refused
from accounting.prices.models.conversion import ConversionRate

PLACES = Decimal("1E-10")
LARGEST = Decimal(10) ** 10
CODE = "ISO 4217, such as USD."


@body("ConversionRateBody")
class SetConversion:
    """A rate to add; the rate of a known day is corrected."""

    from_currency: str = value(size=(1, 3), page={"label": "From", "help_text": CODE})
    to_currency: str = value(size=(1, 3), page={"label": "To", "help_text": CODE})
    on: date = value(page={"label": "First day"})
    rate: Decimal = value(size=(20, 10))
    reason: str = reason()

    def check(self) -> None:
        """Two currencies of ISO 4217, and a rate above 0."""
        for member in ("from_currency", "to_currency"):
            if (code := getattr(self, member)) not in list_currencies():
                raise Refused(
                    f"{code!r} is not an ISO 4217 currency, like EUR", member=member
                )
        if self.from_currency == self.to_currency:
            raise Refused(
                f"{self.to_currency} needs no conversion into itself",
                member="to_currency",
            )
        rate = self.rate
        if not rate.is_finite() or not 0 < rate < LARGEST or rate % PLACES:
            raise Refused(
                f"the rate {rate} must be above 0 and below 10^10, with at most ten places",
                member="rate",
            )


def set_conversion_rate(given: SetConversion, actor: Actor) -> Done:
    """Add the rate of a day, the first for which it applies, or correct it.

    Raises:
        Refused: a value that is not valid.
    """
    given.check()
    with act(actor, given.reason):
        row, is_new = ConversionRate.objects.select_for_update().get_or_create(
            from_currency=given.from_currency,
            to_currency=given.to_currency,
            on=given.on,
            defaults={"rate": given.rate},
        )
        if row.rate != given.rate:
            row.rate = given.rate
            row.save(update_fields=["rate"])
    return Done(row.pk, is_new)
