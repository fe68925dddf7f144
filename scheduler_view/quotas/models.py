"""The desired state of a cluster: quotas of teams, priority tiers, and fields of queues."""

import pghistory
from django.db import models
from django.db.models import Q

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.quotas.rules.split import SplitRule


@pghistory.track()
class QuotaTarget(models.Model):
    """The quota of a team for one resource in one cluster, for all tiers or one.

    Written by `changes.actions.store_desired` when a change set is applied; `split` is by
    namespace; its sum is `gpus`. `version` is the number of the change set that wrote it: of two
    changes with the same base version, one succeeds (I15).
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="quota_targets"
    )
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, related_name="quota_targets"
    )
    resource = models.CharField(max_length=317)  # Kubernetes' spelling: nvidia.com/gpu
    tier = models.CharField(max_length=63, blank=True)  # "" counts all pods
    gpus = models.PositiveIntegerField()
    rule = models.CharField(
        max_length=8, choices=[(r.value, r.value) for r in SplitRule], default="evenly"
    )
    weights = models.JSONField(default=dict, blank=True)  # weight by namespace
    split = models.JSONField(default=dict)  # GPUs by namespace
    version = models.PositiveBigIntegerField()

    class Meta:
        ordering = ["cluster", "team", "resource", "tier"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "team", "resource", "tier"],
                name="quota_target_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.team} may hold {self.gpus} {self.resource} in {self.cluster}"


@pghistory.track()
class Tier(models.Model):
    """One priority tier of one cluster: a name over versions of a PriorityClass.

    Written by `changes.actions.store_desired` when a change set is applied. New pods name
    `class_name`; `old_classes` are earlier versions that pods may still have. `version` is the
    number of the change set that wrote it.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="priority_tiers"
    )
    name = models.CharField(max_length=63)
    value = models.IntegerField()
    preempts = models.BooleanField(default=True)
    is_default = models.BooleanField(default=False)
    description = models.CharField(max_length=500, blank=True)
    class_name = models.CharField(max_length=253)
    old_classes = models.JSONField(default=list, blank=True)
    version = models.PositiveBigIntegerField()

    class Meta:
        ordering = ["cluster", "-value", "name"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="tier_unique"),
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(is_default=True),
                name="tier_one_default",
            ),
            models.CheckConstraint(
                condition=Q(value__lte=1_000_000_000), name="tier_value_allowed"
            ),
            models.CheckConstraint(
                condition=~Q(name__startswith="system-"), name="tier_name_allowed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.value}) in {self.cluster}"


@pghistory.track()
class QueueTarget(models.Model):
    """The desired value of one field of a queue, or of another object of a scheduler.

    Written by `changes.actions.store_desired` when a change set is applied. `kind` is as in plans
    (`ClusterQueue`, `KaiQueue`), `field` as in `clusters.rules.schedulers.queue_fields`. `version`
    is the number of the change set that wrote it.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="queue_targets"
    )
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    field = models.CharField(max_length=600)
    value = models.TextField(null=True)  # noqa: DJ001  # as typed; null: must not be set
    version = models.PositiveBigIntegerField()

    class Meta:
        ordering = ["cluster", "kind", "name", "field"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "name", "field"],
                name="queue_target_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.field} of {self.name} is {self.value} in {self.cluster}"
