"""Billing periods, what was booked in them, and the statements (money.md M4, M8, M26)."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounting.core.money import Money


@pghistory.track()
class BillingPeriod(models.Model):
    """A calendar month of the billing time zone, and the method that divides its cost.

    A period without a row has the default method. Written by `months.actions.periods`.
    """

    name = models.CharField(max_length=7, unique=True)  # YYYY-MM
    method = models.CharField(max_length=20, default="alloc-v1")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


@pghistory.track(
    exclude=[
        *("booked_at", "inputs", "line_count", "causes"),
        *("total6", "payable", "without_money_ms"),
    ]
)
class PeriodRevision(models.Model):
    """One booking of a period: running until it is closed, then frozen by triggers.

    A period has at most one revision that was not reopened. Its number grows with each close
    after a reopening. The bounds, zone, currency, method and organization are those it was computed
    with; the names of its teams are those of its close.
    """

    period = models.CharField(max_length=7)  # YYYY-MM
    revision = models.PositiveIntegerField(default=1)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    timezone = models.CharField(max_length=64)
    currency = models.CharField(max_length=3)
    minor_places = models.PositiveSmallIntegerField()
    method = models.CharField(max_length=20)
    # Who invoices, in FOCUS files; "" for a close before these columns existed.
    organization_id = models.CharField(max_length=200, default="", blank=True)
    organization_name = models.CharField(max_length=200, default="", blank=True)
    # Name, department and cost center of its teams at the close, by slug; {} while it is running,
    # and for a close before this column existed.
    payers = models.JSONField(default=dict)
    booked_at = models.DateTimeField()  # when its lines were computed
    inputs = models.CharField(max_length=200, blank=True)  # `inputs_now()`, then
    line_count = models.PositiveBigIntegerField(default=0)
    total6 = models.DecimalField(max_digits=26, decimal_places=6, default=0)
    payable = models.DecimalField(max_digits=26, decimal_places=6, default=0)
    without_money_ms = models.BigIntegerField(default=0)
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64, blank=True)  # "" while it is running
    closed_at = models.DateTimeField(null=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    checks = models.JSONField(default=list)  # with overrides, as of the close
    # What the checks that read usage found at `booked_at`; {} once it is closed.
    causes = models.JSONField(default=dict, db_default={})
    reopened_at = models.DateTimeField(null=True)
    reopened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    reopen_confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    reopen_reason = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["period", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["period", "revision"], name="period_revision_unique"
            ),
            models.UniqueConstraint(
                fields=["period"],
                condition=Q(reopened_at__isnull=True),
                name="period_revision_one_in_force",
            ),
            models.CheckConstraint(  # of no reopening, or of a whole one
                condition=Q(
                    reopened_at__isnull=True,
                    reopened_by__isnull=True,
                    reopen_confirmed_by__isnull=True,
                    reopen_reason="",
                )
                | Q(
                    closed_at__isnull=False,
                    reopened_at__isnull=False,
                    reopened_by__isnull=False,
                    reopen_confirmed_by__isnull=False,
                    reopen_reason__regex=".{10}",
                )
                & ~Q(reopened_by=F("reopen_confirmed_by")),
                name="period_revision_reopened_by_two",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.period}-r{self.revision}"

    @property
    def amount(self) -> Money:
        """Its payable with the currency."""
        return Money(self.payable, self.currency)

    @property
    def is_closed(self) -> bool:
        """Whether its lines are frozen. A reopened revision stays frozen."""
        return self.closed_at is not None


class Statement(models.Model):
    """What one team, or the platform, pays for a period (M4): replaced while it runs, then frozen.

    `own6`, `entries6` and `corrections6` sum to `total6`; `rounding` is payable - total6.
    """

    revision = models.ForeignKey(
        PeriodRevision, on_delete=models.PROTECT, related_name="statements"
    )
    team = models.CharField(max_length=63)  # slug, `unmapped` or `platform`
    own6 = models.DecimalField(max_digits=26, decimal_places=6)
    entries6 = models.DecimalField(max_digits=26, decimal_places=6)
    corrections6 = models.DecimalField(max_digits=26, decimal_places=6)
    total6 = models.DecimalField(max_digits=26, decimal_places=6)
    payable = models.DecimalField(max_digits=26, decimal_places=6)
    busy_ms = models.BigIntegerField()
    idle_ms = models.BigIntegerField()
    unknown_ms = models.BigIntegerField()
    without_money_ms = models.BigIntegerField()

    class Meta:
        ordering = ["revision", "team"]
        constraints = [
            models.UniqueConstraint(
                fields=["revision", "team"], name="statement_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.revision.period}-{self.team}-r{self.revision.revision}"
