"""What one currency is worth in another on a day."""

import pghistory
from django.db import models
from django.db.models import F, Q


@pghistory.track()
class ConversionRate(models.Model):
    """A unit of `from_currency` in `to_currency`, from a day on (money.md M16).

    Not inverted and not chained. Written by `prices.actions.conversions`; a rate that was wrong is
    corrected, never deleted.
    """

    from_currency = models.CharField(max_length=3)
    to_currency = models.CharField(max_length=3)
    on = models.DateField()
    rate = models.DecimalField(max_digits=20, decimal_places=10)

    class Meta:
        ordering = ["from_currency", "to_currency", "on"]
        constraints = [
            models.UniqueConstraint(
                fields=["from_currency", "to_currency", "on"],
                name="conversion_unique",
            ),
            models.CheckConstraint(
                condition=Q(rate__gt=0), name="conversion_rate_positive"
            ),
            models.CheckConstraint(
                condition=~Q(from_currency=F("to_currency")),
                name="conversion_of_two_currencies",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rate} {self.to_currency} per {self.from_currency} on {self.on}"
