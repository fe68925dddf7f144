"""Price lists that finance prepared and an administrator has not decided about yet."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class DraftState(models.TextChoices):
    """An open draft waits for an administrator."""

    OPEN = "open", "Open"
    SAVED = "saved", "Saved"
    DISCARDED = "discarded", "Discarded"


@pghistory.track(exclude=["text"])
class PriceDraft(models.Model):
    """The file of a price list, and how it is read (money.md M19). Kept for good.

    Written by `prices.actions.price_drafts`. Which of its prices are taken is found when it is
    opened: the price book may have changed since.
    """

    text = models.TextField()
    options = models.JSONField()  # of the form: map, set, where, alias, pick, ...
    reason = models.CharField(max_length=200)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    made_at = models.DateTimeField(db_default=Now())
    state = models.CharField(
        max_length=9, choices=DraftState.choices, default=DraftState.OPEN
    )
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state=DraftState.OPEN, ended_by=None, ended_at=None)
                | ~Q(state=DraftState.OPEN)
                & Q(ended_by__isnull=False, ended_at__isnull=False),
                name="price_draft_ended_by_somebody",
            )
        ]

    def __str__(self) -> str:
        return f"price list of {self.author} ({self.state})"
