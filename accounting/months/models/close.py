"""Requests of two people: close despite a check, or reopen (money.md M27, M30)."""

import pghistory
from django.conf import settings
from django.db import models


class TwoPeople(models.Model):
    """A request of one person that another one confirms."""

    period = models.CharField(max_length=7)  # YYYY-MM
    revision = models.PositiveIntegerField()
    reason = models.CharField(max_length=200)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    requested_at = models.DateTimeField()
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(confirmed_by=None)
                | ~models.Q(confirmed_by=models.F("requested_by")),
                name="%(class)s_two_people",
            )
        ]


@pghistory.track()
class CloseOverride(TwoPeople):
    """An override of one check for one revision of a period. Written by `months.actions.periods`.

    `seen` has the value of each cause, as text: where one is worse, the override does not hold.
    """

    code = models.CharField(max_length=20)  # of rules.close_checks.RULES
    seen = models.JSONField()

    def __str__(self) -> str:
        return f"{self.period}-r{self.revision}: {self.code}"


@pghistory.track()
class ReopenRequest(TwoPeople):
    """A request to open the latest closed period again. Written by `months.actions.periods`."""

    def __str__(self) -> str:
        return f"{self.period}-r{self.revision}"
