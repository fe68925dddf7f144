"""What observations keep for rules of waste about the past (scheduling.md S21, S25, S32)."""

from django.db import models

from accounting.metering.models.cluster import Cluster
from scheduler_view.waits.models import WaitRecord


class WaitStretch(models.Model):
    """Why one unit waited, unchanged from `since` to `until`.

    Written by `history.wait_stretches` at every observation: the newest row of a unit is
    extended, or ends where the values change. `lower_units` are the GPUs of pods of lower priority
    that together are enough for it (S12), null without such a set; `lower_pods` are their uids,
    `lower_since` is when the last of them got its node.
    """

    wait = models.ForeignKey(
        WaitRecord, on_delete=models.CASCADE, related_name="stretches"
    )
    since = models.DateTimeField()
    until = models.DateTimeField()
    stage = models.CharField(max_length=16)
    cause = models.CharField(max_length=32)
    priority = models.IntegerField()
    units = models.PositiveIntegerField()  # of all its pods that wait
    resource = models.CharField(max_length=317, blank=True)
    model = models.CharField(max_length=253, blank=True)  # of its pool
    lower_units = models.PositiveIntegerField(null=True)
    lower_since = models.DateTimeField(null=True)
    lower_pods = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["wait", "since"], name="wait_stretch_unique"
            )
        ]
        indexes = [models.Index(fields=["until"], name="wait_stretch_by_end")]

    def __str__(self) -> str:
        return f"{self.wait}: {self.cause}"


class KeptNode(models.Model):
    """A node with GPUs that no pod held, and the pods that kept it, from `since` to `until`.

    Written by `history.kept_nodes` at every observation, as `WaitStretch`. `pods` is
    [[namespace/name, reason], ...], the first eight.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="kept_nodes"
    )
    node = models.CharField(max_length=253)
    since = models.DateTimeField()
    until = models.DateTimeField()
    pods = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node", "since"], name="kept_node_unique"
            )
        ]
        indexes = [models.Index(fields=["until"], name="kept_node_by_end")]

    def __str__(self) -> str:
        return f"{self.node} of {self.cluster}"


class FreeCpuSample(models.Model):
    """The CPU that was free on a node with free GPUs, from `since` to `until`.

    Written by `history.free_cpu` at every observation, as `KeptNode`. `model` is that of its
    product label; empty without one.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="free_cpus"
    )
    node = models.CharField(max_length=253)
    since = models.DateTimeField()
    until = models.DateTimeField()
    cpu_milli = models.BigIntegerField()
    model = models.CharField(max_length=253, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node", "since"], name="free_cpu_unique"
            )
        ]
        indexes = [models.Index(fields=["until"], name="free_cpu_by_end")]

    def __str__(self) -> str:
        return f"{self.cpu_milli}m on {self.node} of {self.cluster}"


class PodNeedRecord(models.Model):
    """What a pod with GPUs requires besides them (`rules.free_cpu.PodNeed`).

    Kept as long as facts and the 28 days of usual pods before them. A pod that was never observed
    has no row: what it required is not known.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="pod_needs"
    )
    pod_uid = models.CharField(max_length=64)
    cpu_milli = models.BigIntegerField()
    accepted_models = models.JSONField(default=list)  # empty: any
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "pod_uid"], name="pod_need_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.pod_uid} of {self.cluster}"
