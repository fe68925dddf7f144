"""Wasted GPU time, as computed from facts, holds and prices."""

import pghistory
from django.conf import settings
from django.db import models

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster, Node
from accounting.metering.models.pod import Pod, Workload
from scheduler_view.savings.rules.finding import WasteRule


class WasteDay(models.Model):
    """One billing day of a cluster whose findings are computed.

    `digest` is of the facts, teams, prices and holds of that day: if they have another one, the
    day is due again. `limits` are the settings that they were computed with.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="waste_days"
    )
    day = models.DateField()
    digest = models.CharField(max_length=64)
    computed_at = models.DateTimeField()
    limits = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "day"], name="waste_day_unique")
        ]

    def __str__(self) -> str:
        return f"{self.cluster} {self.day}"


class HeldDay(models.Model):
    """The windows of one pod on one billing day, as runs of equal ones.

    Findings reach over days, and facts expire: these are what is kept of them. `runs` are as
    `mapping.runs_to_json` writes them.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    pod = models.ForeignKey(Pod, on_delete=models.CASCADE, related_name="+")
    runs = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "day", "pod"], name="held_day_unique"
            )
        ]


class WasteFinding(models.Model):
    """The part of one finding on one billing day, of one team, in one currency.

    `start_ms` and `end_ms` are of the whole finding. `raw` is milliseconds x rate, exact; divide
    by 3,600,000 for the amount. `unpriced_ms` is the part of `gpu_ms` without a price. Findings of
    free time have a node or a pool, and no pod; those of a wait have `unit`: kind, namespace and
    name. `raw_low` is the least that the finding may come to; null if that is `raw`. `ledger_ms`
    and `ledger_raw` are the part that is idle or free time of the ledger and in no other row, at
    what teams are charged: over all rows they are part of its idle and unallocated cost.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    rule = models.CharField(
        max_length=16, choices=[(r.value, r.value) for r in WasteRule]
    )
    team = models.ForeignKey(
        Team, null=True, on_delete=models.PROTECT, related_name="+"
    )
    workload = models.ForeignKey(
        Workload, null=True, on_delete=models.CASCADE, related_name="+"
    )
    pod = models.ForeignKey(Pod, null=True, on_delete=models.CASCADE, related_name="+")
    node = models.ForeignKey(
        Node, null=True, on_delete=models.CASCADE, related_name="+"
    )
    unit = models.CharField(max_length=381, blank=True)
    pool = models.CharField(max_length=571, blank=True)  # resource and model
    start_ms = models.BigIntegerField()
    end_ms = models.BigIntegerField()
    gpu_ms = models.BigIntegerField()
    raw = models.DecimalField(max_digits=30, decimal_places=6)
    raw_low = models.DecimalField(max_digits=30, decimal_places=6, null=True)
    unpriced_ms = models.BigIntegerField(default=0)
    ledger_ms = models.BigIntegerField(default=0, db_default=0)
    ledger_raw = models.DecimalField(
        max_digits=30, decimal_places=6, default=0, db_default=0
    )
    currency = models.CharField(max_length=3, blank=True)
    evidence = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["day", "team"], name="waste_finding_by_team"),
            models.Index(fields=["cluster", "day"], name="waste_finding_by_day"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} of {self.cluster}, {self.day}"


class RecommendationState(models.TextChoices):
    """What people decided about a recommendation; without a decision it is open."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"
    DONE = "done"


@pghistory.track()
class RecommendationDecision(models.Model):
    """What a person decided about the findings of one rule and one work unit or node.

    `raw_per_day` is what was wasted per measured day when it was accepted or done: the measured
    saving is the difference from it.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    rule = models.CharField(max_length=16)
    team = models.ForeignKey(
        Team, null=True, on_delete=models.PROTECT, related_name="+"
    )
    workload = models.ForeignKey(
        Workload, null=True, on_delete=models.CASCADE, related_name="+"
    )
    node = models.ForeignKey(
        Node, null=True, on_delete=models.CASCADE, related_name="+"
    )
    state = models.CharField(max_length=9, choices=RecommendationState.choices)
    reason = models.CharField(max_length=200, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField()
    raw_per_day = models.DecimalField(max_digits=30, decimal_places=6)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "rule", "team", "workload", "node"],
                name="recommendation_decision_unique",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule} of {self.cluster}: {self.state}"
