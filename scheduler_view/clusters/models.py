"""The state of clusters at the last observation, and differences from the desired state."""

from django.db import models

from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.rules.drift_state import DriftState

WAITS = "UnitWait"  # kind of the runs that explain waits from objects
METRIC_WAITS = "UnitWaitByMetrics"  # and from metrics alone


class ObservationRun(models.Model):
    """The result of the last read of one kind of objects in one cluster.

    Written by `clusters.tasks.observe`. Every observation of the kind is as of `seen_at`; if it is
    old, `error` has the reason, with the server's message if there is one.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="observation_runs"
    )
    kind = models.CharField(max_length=63)
    seen_at = models.DateTimeField(null=True)  # of the last complete list or watch
    tried_at = models.DateTimeField()
    error = models.TextField(blank=True)
    code = models.PositiveSmallIntegerField(null=True)  # HTTP status of the error
    is_allowed = models.BooleanField(default=True)  # by RBAC
    # of waits: nodes that are not in order, each with `since_ms` (domain `node_notes`)
    notes = models.JSONField(default=list, db_default=[])

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind"], name="observation_run_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.cluster}"


class Observation(models.Model):
    """One object as last observed in a cluster; the row is deleted with the object.

    Written by `clusters.tasks.observe`, only if it changed. `manifest` is the part from
    `clusters.rules.stored_manifest`; what limits GPUs includes the managers of its
    fields.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="observations"
    )
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    resource_version = models.CharField(max_length=64)
    digest = models.CharField(max_length=32)  # of `manifest`
    manifest = models.JSONField()
    changed_at = models.DateTimeField()  # when it was first seen in this state

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name"],
                name="observation_unique",
            )
        ]

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


class Preemption(models.Model):
    """One pod that the scheduler preempted for another.

    Written by `clusters.tasks.preemptions`; kept after the event and the pod are deleted.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="preemptions"
    )
    pod_uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    pod = models.CharField(max_length=253)
    at = models.DateTimeField()
    # the scheduler's message: by which pod
    message = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "pod_uid"], name="preemption_unique"
            )
        ]
        indexes = [models.Index(fields=["namespace", "at"], name="preemption_by_place")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.pod}"


class Drift(models.Model):
    """How one quota or priority class differs from the desired state.

    Written by `changes.tasks.drift`; there is a row for each object that is desired, ours, or
    limits GPUs. `since` is the start of its state; while a change set is being applied, the state
    of its objects does not change.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="drifts"
    )
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    state = models.CharField(
        max_length=12, choices=[(s.value, s.value) for s in DriftState]
    )
    since = models.DateTimeField()
    changes = models.JSONField(default=list)  # [field, desired, in the cluster]
    who = models.CharField(max_length=253, blank=True)  # managers of those fields
    by_at = models.DateTimeField(null=True)  # when they last wrote
    message = models.TextField(blank=True)
    basis = models.CharField(max_length=100)  # what it was computed from

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name"], name="drift_unique"
            )
        ]
        indexes = [models.Index(fields=["cluster", "state"], name="drift_by_state")]

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}: {self.state}"
