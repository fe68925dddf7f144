"""The billing settings of the organization: currency and time zone, from a date on."""

import pghistory
from django.db import models

# Of an installation that has not set them: its bills, and the setup file.
DEFAULT_CURRENCY, DEFAULT_TIMEZONE = "USD", "UTC"


@pghistory.track()
class Billing(models.Model):
    """Currency and time zone of all bills, from a date on (rules.md N31).

    One row for each change; the row with the latest `valid_from` up to an instant applies.
    Written by `setup.tasks.apply`; never deleted.
    """

    currency = models.CharField(max_length=3)  # ISO 4217
    timezone = models.CharField(max_length=64)  # IANA name
    valid_from = models.DateTimeField(unique=True)

    class Meta:
        ordering = ["valid_from"]

    def __str__(self) -> str:
        return f"{self.currency} in {self.timezone} from {self.valid_from:%Y-%m-%d}"
