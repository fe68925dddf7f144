"""Contests: what leads question on a statement, and what finance answers (money.md M34)."""

import pghistory
import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q

from accounting.months.rules.contest_words import ANSWERS


class Contested(models.TextChoices):
    """What is contested."""

    STATEMENT = "statement", "The whole statement"
    ROW = "row", "A row of the statement"
    LINE = "line", "A line of the charges"


class ContestState(models.TextChoices):
    """An open contest waits for finance, an answered one for the team."""

    OPEN = "open", "Open"
    ANSWERED = "answered", "Answered"
    ACCEPTED = "accepted", "Accepted"
    WITHDRAWN = "withdrawn", "Withdrawn"


class ContestAct(models.TextChoices):
    """What a step of a contest did."""

    CONTESTED = "contested", "contested it"
    ANSWERED = "answered", "answered"
    ACCEPTED = "accepted", "accepted the answer"
    REOPENED = "reopened", "opened it again"
    WITHDRAWN = "withdrawn", "withdrew it"


class AnswerKind(models.TextChoices):
    """What finance did about a contest."""

    ENTRY = "entry", "A credit or adjustment"
    MAPPING = "mapping", ANSWERS["mapping"]
    REASON = "reason", ANSWERS["reason"]


UNSETTLED = (ContestState.OPEN, ContestState.ANSWERED)
_KEPT = pgtrigger.Protect(name="kept", operation=pgtrigger.Delete)


@pghistory.track()
class Contest(models.Model):
    """One question about a statement. Kept for good. Written by `months.actions.contests`.

    `title`, `amount` and `currency` say what was contested as it was then; `amount` is empty where
    it had none.
    """

    team = models.ForeignKey(
        "accounting.Team", on_delete=models.PROTECT, related_name="contests"
    )
    period = models.CharField(max_length=7)  # YYYY-MM
    revision = models.PositiveIntegerField()
    of = models.CharField(max_length=9, choices=Contested.choices)
    subject = models.TextField(
        blank=True
    )  # JSON of a row's part and labels; a line's id
    title = models.CharField(max_length=500)
    amount = models.DecimalField(max_digits=26, decimal_places=6, null=True)
    currency = models.CharField(max_length=3)
    state = models.CharField(
        max_length=9, choices=ContestState.choices, default=ContestState.OPEN
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "period", "revision", "of", "subject"],
                condition=Q(state__in=["open", "answered"]),
                name="contest_unsettled_unique",
            ),
        ]
        triggers = [_KEPT]

    def __str__(self) -> str:
        return f"contest {self.pk}: {self.title}"


@pghistory.track()
class ContestStep(models.Model):
    """What one person did about a contest, and why. Never changed."""

    contest = models.ForeignKey(Contest, on_delete=models.PROTECT, related_name="steps")
    act = models.CharField(max_length=9, choices=ContestAct.choices)
    text = models.CharField(max_length=200, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    at = models.DateTimeField()
    answer = models.CharField(max_length=7, choices=AnswerKind.choices, blank=True)
    entry = models.ForeignKey(
        "accounting.Entry", null=True, on_delete=models.PROTECT, related_name="+"
    )
    binding = models.ForeignKey(
        "accounting.Binding", null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    act="answered", answer="entry", entry__isnull=False, binding=None
                )
                | Q(act="answered", answer="mapping", entry=None, binding__isnull=False)
                | Q(act="answered", answer="reason", entry=None, binding=None)
                | (~Q(act="answered") & Q(answer="", entry=None, binding=None)),
                name="contest_step_answer",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.contest_id}: {self.act}"
