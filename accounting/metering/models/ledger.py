"""The window ledger, and what must be computed again. All due work is recorded here; Celery and
Redis only wake workers.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounting.metering.models.cluster import Cluster, Source


class WindowState(models.TextChoices):
    """The state of one window of one shard."""

    PENDING = "pending"  # due, or its facts are missing or outdated
    CLAIMED = "claimed"  # a worker has it until `lease_until`
    DONE = "done"
    PARTIAL = "partial"  # done, but the source's response was incomplete
    FAILED = "failed"  # waits until `next_attempt_at`


class IngestWindow(models.Model):
    """One five-minute window of one shard of one cluster: the window ledger.

    Claims are conditional updates that raise `fence`; a commit whose fence is not the row's is
    rejected (invariant I13).
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    shard = models.PositiveSmallIntegerField(default=0)
    window_start = models.DateTimeField()
    state = models.CharField(
        max_length=8, choices=WindowState.choices, default=WindowState.PENDING
    )
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    worker_host = models.CharField(max_length=200, blank=True)  # for a person
    worker_pid = models.IntegerField(null=True)  # of its session in PostgreSQL
    worker_since = models.DateTimeField(null=True)  # when that session began
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)
    reason = models.CharField(max_length=40, blank=True)  # why pending: new, late, ...
    content_hash = models.BinaryField(null=True)  # of the facts written
    # of their samples; null if something else may change the facts
    reading_hash = models.BinaryField(null=True)
    rows = models.PositiveIntegerField(default=0)
    samples_expected = models.PositiveIntegerField(default=0)
    samples_seen = models.PositiveIntegerField(default=0)
    read_ms = models.PositiveIntegerField(default=0)  # how long the last run took
    read_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "shard", "window_start"], name="ingest_window_unique"
            )
        ]
        indexes = [
            models.Index(
                fields=["state", "next_attempt_at"], name="ingest_window_by_state"
            ),
            models.Index(
                fields=["-read_at", "-window_start"],
                condition=models.Q(read_at__isnull=False),
                name="ingest_window_read_last",
            ),
        ]


class DirtyHour(models.Model):
    """An hour of a cluster whose rollup is outdated; cleared by `usage.tasks.rollup`."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    hour_start = models.DateTimeField()
    marked_at = models.DateTimeField(auto_now_add=True)
    reason = models.CharField(max_length=40)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "hour_start"], name="dirty_hour_unique"
            )
        ]


class PendingGpuHour(models.Model):
    """An hour whose rows by GPU and node, or those of its days, are out of date.

    Cleared by `usage.tasks.gpu_rollup`; until then reports by GPU read finer tables.

    Attributes:
        billing_days: the days by GPU that are to be summed again.
        needs_hour: the hour itself is to be summed from its facts first.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    hour_start = models.DateTimeField()
    billing_days = ArrayField(models.DateField())
    needs_hour = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "hour_start"], name="pending_gpu_hour_unique"
            )
        ]


class PendingRetirement(models.Model):
    """Remaining work after a cluster's end was set, changed or cleared (N38).

    Windows and hours of [start_ms, end_ms), newest first: `metering.tasks.retirement` processes a
    day at a time and lowers `end_ms` in the same transaction.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE)
    start_ms = models.BigIntegerField()
    end_ms = models.BigIntegerField()


class RetiredHour(models.Model):
    """An hour of a retired cluster whose facts have expired, stored so that it can be restored.

    `usage` and `intensity` are its rows of `usage_hour` and `intensity_hour`, the others those of
    `usage_gpu_hour` and `intensity_gpu_hour`, as far as they were kept.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    hour_start = models.DateTimeField()
    usage = models.JSONField()
    intensity = models.JSONField()
    usage_by_gpu = models.JSONField(default=list)
    intensity_by_gpu = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "hour_start"], name="retired_hour_unique"
            )
        ]


class BufferSeries(models.Model):
    """One series of a source that cannot be queried again (a scrape, a file)."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE)
    digest = models.BinaryField()  # sha-256 of name and sorted labels
    name = models.CharField(max_length=300)
    labels = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source", "digest"], name="buffer_series_unique"
            )
        ]


class BufferBlock(models.Model):
    """Samples of one source and hour, unchanged: a buffer for sources that cannot be queried
    again, so that a late sample can still change its windows.

    Dropped with the facts of its time (docs/decisions/0006). Not part of the ledger: no report
    reads it.
    """

    source = models.ForeignKey(Source, on_delete=models.CASCADE)
    hour_start = models.DateTimeField()
    content_hash = models.BinaryField()
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    samples = models.PositiveIntegerField()
    payload = models.BinaryField()  # zlib of series ids, times, values
    folded_as = models.BinaryField(
        null=True
    )  # how it was merged into the evidence; null: not yet

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source", "hour_start", "content_hash"],
                name="buffer_block_unique",
            )
        ]


class IssueSeverity(models.TextChoices):
    """How much a data issue affects a bill."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class DataIssue(models.Model):
    """One fault in the data: what, where, how much is at stake, what to do.

    The key is (cluster, code, subject); `resolved_at` is set when the cause is gone.
    """

    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE)
    code = models.CharField(max_length=40)
    subject = models.CharField(max_length=500)
    severity = models.CharField(
        max_length=7, choices=IssueSeverity.choices, default=IssueSeverity.WARNING
    )
    message = models.TextField()
    advice = models.TextField(blank=True)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    at_stake_ms = models.BigIntegerField(default=0)
    at_stake_charge = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    count = models.PositiveIntegerField(default=1)
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "code", "subject"],
                name="data_issue_unique",
                nulls_distinct=False,
            )
        ]
