"""Budgets of teams and departments, their amounts over time, and the alerts they raised."""

import pghistory
from django.db import models
from django.db.models import Q

from accounting.access.models.teams import Team


class BudgetUnit(models.TextChoices):
    """The calendar period that a budget is for."""

    MONTH = "month", "Month"
    QUARTER = "quarter", "Quarter"
    YEAR = "year", "Year"


class BudgetMeasure(models.TextChoices):
    """What a budget limits."""

    MONEY = "money", "Money"
    GPU_HOURS = "gpu-hours", "GPU-hours"


@pghistory.track()
class Budget(models.Model):
    """What a team or a department may spend in each period (money.md M35).

    Written by `budgets.actions.budgets`; ended, never deleted.
    """

    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.PROTECT, related_name="budgets"
    )
    department = models.CharField(max_length=200, blank=True)  # its teams of today
    unit = models.CharField(
        max_length=7, choices=BudgetUnit.choices, default=BudgetUnit.MONTH
    )
    measure = models.CharField(
        max_length=9, choices=BudgetMeasure.choices, default=BudgetMeasure.MONEY
    )
    currency = models.CharField(max_length=3, blank=True)  # of money
    ended_on = models.DateField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(team__isnull=False, department="")
                | (Q(team__isnull=True) & ~Q(department="")),
                name="budget_of_team_or_department",
            ),
            models.CheckConstraint(
                condition=Q(measure="money", currency__gt="")
                | (~Q(measure="money") & Q(currency="")),
                name="budget_of_money_has_currency",
            ),
            models.UniqueConstraint(
                fields=["team", "department", "unit", "measure"],
                condition=Q(ended_on__isnull=True),
                nulls_distinct=False,
                name="budget_current_unique",
            ),
        ]

    def __str__(self) -> str:
        of = self.team.slug if self.team else self.department
        return f"{of} by {self.unit} in {self.currency or 'GPU-hours'}"


@pghistory.track()
class BudgetVersion(models.Model):
    """The amount of a budget from a period on; a later version replaces it from its own period."""

    budget = models.ForeignKey(
        Budget, on_delete=models.PROTECT, related_name="versions"
    )
    number = models.PositiveIntegerField()
    amount = models.DecimalField(max_digits=18, decimal_places=6)
    from_on = models.DateField()  # first day of a period
    set_at = models.DateTimeField(auto_now_add=True)
    set_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=200)

    class Meta:
        ordering = ["budget", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["budget", "number"], name="budget_version_unique"
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0), name="budget_amount_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} from {self.from_on}"


class BudgetAlert(models.Model):
    """A threshold that a budget reached: once for each period and version of the amount.

    `reached_on` is a billing day of the data, empty in rows of before it was stored; `fired_at` is
    when it was recorded.
    """

    version = models.ForeignKey(
        BudgetVersion, on_delete=models.PROTECT, related_name="alerts"
    )
    period_on = models.DateField()  # first day of the period
    threshold = models.CharField(max_length=8)  # 50, 80, 100 or forecast
    reached_on = models.DateField(null=True)
    fired_at = models.DateTimeField(auto_now_add=True)
    actual = models.DecimalField(max_digits=24, decimal_places=6)
    forecast = models.DecimalField(max_digits=24, decimal_places=6, null=True)

    class Meta:
        ordering = ["-fired_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "period_on", "threshold"],
                name="budget_alert_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.threshold} of {self.version} in {self.period_on}"


class ForecastRecord(models.Model):
    """The forecast of a team's month as it was on the 10th or 20th day (money.md M39)."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="forecasts")
    period_on = models.DateField()  # first day of the month
    day = models.PositiveSmallIntegerField()  # 10 or 20
    currency = models.CharField(max_length=3)
    amount = models.DecimalField(max_digits=24, decimal_places=6)
    low = models.DecimalField(max_digits=24, decimal_places=6)
    high = models.DecimalField(max_digits=24, decimal_places=6)
    recorded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-period_on", "day"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "period_on", "day"], name="forecast_record_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.amount} of {self.team} in {self.period_on:%Y-%m}, day {self.day}"
