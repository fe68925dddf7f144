"""Alerts with their state, thresholds that people chose, what they archived, who was told."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q

from accounting.access.models.teams import Team
from scheduler_view.alerts.rules.catalogue import AlertRule
from scheduler_view.alerts.rules.states import AlertMark, Resolution

_RULES = [(rule.value, rule.value) for rule in AlertRule]


class Alert(models.Model):
    """One cause that reached the threshold of a rule (alerts.md).

    Written by `alerts.tasks` alone, but for the archive. A cause has one row: the same when it
    comes back. `figure` is what grows, `unit` that of all three figures (a currency, or a
    `FigureUnit`; "" before it was stored), `since` when the cause began, `fired_at` when it reached
    its threshold, by the data; `seen_at` when it was last found. `place` and `query` are the
    address to which its button leads.
    """

    rule = models.CharField(max_length=10, choices=_RULES)
    key = models.CharField(max_length=700)
    team = models.ForeignKey(
        Team, null=True, on_delete=models.CASCADE, related_name="+"
    )
    what = models.CharField(max_length=500)
    about = models.CharField(max_length=500, blank=True)
    place = models.JSONField(default=list)
    query = models.JSONField(default=dict)
    since = models.DateTimeField()
    fired_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    figure = models.DecimalField(max_digits=30, decimal_places=6)
    unit = models.CharField(max_length=9, blank=True, db_default="")
    amount = models.DecimalField(max_digits=24, decimal_places=6, null=True)
    per_hour = models.DecimalField(max_digits=24, decimal_places=6, null=True)
    currency = models.CharField(max_length=3, blank=True)
    mark = models.CharField(
        max_length=5, choices=[(m.value, m.value) for m in AlertMark]
    )
    marked_at = models.DateTimeField()
    marked_figure = models.DecimalField(max_digits=30, decimal_places=6)
    times = models.PositiveIntegerField(default=1)
    archived_figure = models.DecimalField(max_digits=30, decimal_places=6, null=True)
    resolved_at = models.DateTimeField(null=True)
    resolution = models.CharField(
        max_length=9, blank=True, choices=[(r.value, r.value) for r in Resolution]
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "key"], name="alert_unique")
        ]
        indexes = [
            models.Index(
                fields=["marked_at"],
                condition=Q(resolved_at=None, archived_figure=None),
                name="alert_marked",
            ),
            models.Index(fields=["resolved_at"], name="alert_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


@pghistory.track()
class AlertNote(models.Model):
    """That a person archived an alert, or took it out of the archive. Never changed."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="notes")
    is_archived = models.BooleanField()
    reason = models.CharField(max_length=200)
    figure = models.DecimalField(max_digits=30, decimal_places=6)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.alert}: {self.reason}"


@pghistory.track()
class AlertThreshold(models.Model):
    """From where on a rule fires: for the organization, or for one team. Without a row: as usual.

    A row of a team that is not `is_own` any more has that of the organization again.
    `changed_at` is the database's time of the last change.
    """

    rule = models.CharField(max_length=10, choices=_RULES)
    team = models.ForeignKey(
        Team, null=True, on_delete=models.CASCADE, related_name="+"
    )
    value = models.PositiveIntegerField()
    is_on = models.BooleanField(default=True)
    is_own = models.BooleanField(default=True, db_default=True)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "team"],
                name="alert_threshold_unique",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.value}"


class AlertCheck(models.Model):
    """When a rule was last looked at, and how often it would have fired.

    `past` are counts by threshold, team (0: nobody's) and billing day, of the 30 days before
    `past_on`. `is_seen`: its metric was in the data of the last day; null if it needs none, or
    if that is not known.
    """

    rule = models.CharField(max_length=10, primary_key=True, choices=_RULES)
    checked_at = models.DateTimeField()
    error = models.CharField(max_length=500, blank=True)
    is_seen = models.BooleanField(null=True)
    past_on = models.DateField(null=True)
    past = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.rule}, {self.checked_at}"


class AlertDigest(models.Model):
    """When a person was last told of alerts, by the database's clock."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="alert_digest",
    )
    told_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.person_id}, {self.told_at}"


class AlertTold(models.Model):
    """That a person was told of an alert as it was marked then; marked again, it is told again."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="told")
    marked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "alert"], name="alert_told_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.person_id}, {self.alert_id}, {self.marked_at}"
