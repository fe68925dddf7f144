"""Why work waits, as last explained from the objects of its cluster, and since when (S3)."""

from django.db import models
from django.db.models import Q

from accounting.metering.models.cluster import Cluster


class UnitWait(models.Model):
    """One work unit that waits; the row is deleted when it no longer does.

    Written by `waits.tasks.explanations`, only if something changed. `content` is the part of a
    `WaitExplanation` that is not in a column (`mapping.wait_content`).
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="unit_waits"
    )
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    stage = models.CharField(max_length=16)
    cause = models.CharField(max_length=32)
    since = models.DateTimeField(null=True)  # when the unit was made
    cause_since = models.DateTimeField()  # when this cause was first found
    changed_at = models.DateTimeField()  # when anything of it last changed
    digest = models.CharField(max_length=32)  # of `content`
    content = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name"],
                name="unit_wait_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}: {self.cause}"


class WaitRecord(models.Model):
    """The instants of one unit's wait, from its first observation on (scheduling.md S3).

    Written by `queues.tasks.wait_records`, only if something changed. `position`, `count` and the
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
