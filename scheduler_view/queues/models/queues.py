"""Waits of units, pools through time, and estimates of starts (scheduling.md S3, S16-S19).

What rules of waste need to know of the past (S21-S26, S32) is in `queues/models/memory.py` and
here.
"""

from django.db import models
from django.db.models import Q

from accounting.metering.models.cluster import Cluster


class WaitRecord(models.Model):
    """The instants of one unit's wait, from its first observation on.

    Written by `observation.wait_records`, only if something changed. `position`, `count` and the
    three times are estimates while it waits, null after it, as `waits_since`: when it was created;
    of a service, which is older, when its pods that wait were. The times are null too before their
    error is measured. `start_word` says how soon it starts (`queues.rules.like_waits`), as
    `start_kept` of `start_like` waits did. `ended_at`: it was no longer observed.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="wait_records"
    )
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64, blank=True)  # empty for pods without owner
    tier = models.CharField(max_length=253, blank=True)  # priority class
    resource = models.CharField(max_length=317, blank=True)
    model = models.CharField(max_length=253, blank=True)  # of its pool
    units = models.PositiveIntegerField(default=0)  # of all its pods that wait
    stage = models.CharField(max_length=16, blank=True)  # empty if it does not wait
    cause = models.CharField(max_length=32, blank=True)
    waits_since = models.DateTimeField(null=True)
    created_at = models.DateTimeField(null=True)
    admitted_at = models.DateTimeField(null=True)
    bound_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    first_busy_at = models.DateTimeField(null=True)
    quiet_until = models.DateTimeField(null=True)  # not busy up to then, all observed
    is_held = models.BooleanField(default=False)  # not admitted when last observed
    priority = models.IntegerField(null=True)
    pod_units = models.PositiveIntegerField(default=0)  # that one of its pods requests
    backoff_limit = models.IntegerField(null=True)  # of a Job: retries of its pods
    deadline_s = models.BigIntegerField(
        null=True
    )  # activeDeadlineSeconds, the smallest
    position = models.PositiveIntegerField(null=True)
    count = models.PositiveIntegerField(null=True)  # units that wait in this pool
    start_at = models.DateTimeField(null=True)
    low_at = models.DateTimeField(null=True)
    high_at = models.DateTimeField(null=True)
    start_word = models.CharField(max_length=16, blank=True, default="", db_default="")
    start_like = models.PositiveIntegerField(default=0, db_default=0)
    start_kept = models.PositiveIntegerField(default=0, db_default=0)
    ended_at = models.DateTimeField(null=True)
    is_from_metrics = models.BooleanField(default=False)  # the objects were not read

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name"],
                condition=Q(ended_at__isnull=True),
                name="wait_record_unique",
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "bound_at"], name="wait_record_by_bind"),
            models.Index(fields=["ended_at"], name="wait_record_by_end"),
            models.Index(
                fields=["cluster", "namespace"],
                condition=~Q(stage=""),
                name="wait_record_waiting",
            ),
            models.Index(
                fields=["cluster", "waits_since", "id"],
                condition=~Q(stage=""),
                name="wait_record_oldest",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class PoolSample(models.Model):
    """What waited and was free in one pool, unchanged from `since` to `until`.

    Written by `observation.pool_samples` at every observation: the newest row is extended, or ends
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

    Written by `observation.start_estimates`; compared with `WaitRecord.bound_at`.
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

    Written by `observation.summaries`, at most every ten minutes. The parts are null if none of
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

    Written by `observation.summaries`; only for pools with 20 estimates or more.
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
