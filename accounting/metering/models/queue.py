"""Metrics of batch schedulers' queues, and Jobs that they held back."""

from django.db import models

from accounting.metering.models.cluster import Cluster


class QueueSample(models.Model):
    """The newest value of one metric of one queue (`rules.inventory.scheduler_queues.QueueKey`).

    Written by `metering.tasks.batch_queues`: a newer sample replaces an older one, regardless of
    the order of reading. `value` null: no limit is set (Kueue reports +Inf).
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    scheduler = models.CharField(max_length=16)
    queue = models.CharField(max_length=253)
    resource = models.CharField(max_length=317, blank=True)
    field = models.CharField(max_length=24)
    part = models.CharField(max_length=1000, blank=True)
    value = models.FloatField(null=True)
    at_ms = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "scheduler", "queue", "resource", "field", "part"],
                name="queue_sample_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.scheduler} {self.queue}: {self.field}"


class QueuedJob(models.Model):
    """Evidence: a Job that was held back before it started (trap T30).

    Written by `metering.tasks.batch_queues` for Jobs that were seen suspended, or that started
    later than they were created. For a name that was used twice, the newer Job counts.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    created_ms = models.BigIntegerField()
    started_ms = models.BigIntegerField(null=True)  # the first time
    # last sample that shows it suspended
    suspended_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace", "name"], name="queued_job_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
