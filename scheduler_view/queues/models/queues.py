"""Pools through time, estimates of starts, and summaries of waits (scheduling.md S3, S16-S19).

What rules of waste need of the past (S21-S26, S32) is in `queues/models/memory.py`, here, and in
`waits/models.py`.
"""

from django.db import models

from accounting.metering.models.cluster import Cluster
from scheduler_view.waits.models import WaitRecord


class PoolSample(models.Model):
    """What waited and was free in one pool, unchanged from `since` to `until`.

    Written by `history.pool_samples` at every observation: the newest row is extended, or ends
    where the values change. Columns as in `rules.depth.PoolDepth`.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="pool_samples"
    )
    resource = models.CharField(max_length=317)
    model = models.CharField(max_length=253, blank=True)
    since = models.DateTimeField()
    until = models.DateTimeField()
    waiting = models.PositiveIntegerField()
    refused = models.PositiveIntegerField()
    held_back = models.PositiveIntegerField()
    work = models.PositiveIntegerField()
    capacity = models.PositiveIntegerField()
    available = models.PositiveIntegerField(null=True)
    fitting = models.PositiveIntegerField()
    fitting_held = models.PositiveIntegerField()
    policy_nodes = models.JSONField(default=dict)  # units by node
    unused_nodes = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "resource", "model", "since"],
                name="pool_sample_unique",
            )
        ]
        indexes = [models.Index(fields=["until"], name="pool_sample_by_end")]

    def __str__(self) -> str:
        return f"{self.resource} {self.model}"


class StartEstimate(models.Model):
    """An estimate of a start, kept 60 s after its unit was made and then hourly (S19).

    Written by `queues.tasks.start_estimates`; compared with `WaitRecord.bound_at`.
    """

    wait = models.ForeignKey(
        WaitRecord, on_delete=models.CASCADE, related_name="estimates"
    )
    made_at = models.DateTimeField()
    resource = models.CharField(max_length=317)
    model = models.CharField(max_length=253, blank=True)
    start_at = models.DateTimeField()
    low_at = models.DateTimeField(null=True)
    high_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["wait", "made_at"], name="start_estimate_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.wait}: {self.start_at:%Y-%m-%d %H:%M}"


class WaitSummary(models.Model):
    """How long units of one tier waited that were bound in the last 28 days (S3).

    Written by `queues.tasks.summaries`, at most every ten minutes. The parts are null if none of
    the units shows them.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="wait_summaries"
    )
    tier = models.CharField(max_length=253, blank=True)
    units = models.PositiveIntegerField()  # of work
    p50_ms = models.BigIntegerField()
    p95_ms = models.BigIntegerField()
    admission_p50_ms = models.BigIntegerField(null=True)
    scheduling_p50_ms = models.BigIntegerField(null=True)
    startup_p50_ms = models.BigIntegerField(null=True)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "tier"], name="wait_summary_unique"
            )
        ]

    def __str__(self) -> str:
        return self.tier


class EstimateSummary(models.Model):
    """How far estimates of one pool were off whose units were bound in the last 28 days (S19).

    Written by `queues.tasks.summaries`; only for pools with 20 estimates or more.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="estimate_summaries"
    )
    resource = models.CharField(max_length=317)
    model = models.CharField(max_length=253, blank=True)
    estimates = models.PositiveIntegerField()
    median_error_ms = models.BigIntegerField()
    held = models.FloatField()  # share of estimates whose range had the bind

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "resource", "model"], name="estimate_summary_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.model}"
