"""Credits and adjustments: amounts that people add to a team's statement (money.md M25)."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q


class EntryKind(models.TextChoices):
    """A credit is negative; an adjustment may have either sign."""

    CREDIT = "credit"
    ADJUSTMENT = "adjustment"


@pghistory.track()
class Entry(models.Model):
    """One amount on a team's statement, and its opposite on the platform's.

    Never edited: an opposite entry undoes it. Written by `months.actions.entries`.
    """

    number = models.CharField(max_length=32, unique=True)  # E-1, E-2, ...
    kind = models.CharField(max_length=10, choices=EntryKind.choices)
    team = models.ForeignKey(
        "accounting.Team", on_delete=models.PROTECT, related_name="entries"
    )
    billing_on = models.DateField()
    amount = models.DecimalField(max_digits=20, decimal_places=4)
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=200)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["billing_on", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="credit", amount__lt=0)
                | Q(kind="adjustment") & ~Q(amount=0),
                name="entry_sign",
            )
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.kind} of {self.amount} {self.currency}"
