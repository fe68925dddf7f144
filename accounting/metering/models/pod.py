"""Pods as kube-state shows them, their workloads, and their holds."""

from typing import Any

from django.db import models
from django.db.models import F, Q

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster, Node
from accounting.metering.rules.inventory.families import family_of


class Namespace(models.Model):
    """One namespace of one cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT)
    name = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="namespace_unique")
        ]

    def __str__(self) -> str:
        return self.name


class NamespaceLabels(models.Model):
    """A namespace's labels from one sample on, until its next row."""

    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, related_name="label_history"
    )
    valid_from = models.DateTimeField()
    labels = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "valid_from"], name="namespace_labels_unique"
            )
        ]


class Workload(models.Model):
    """The topmost controller of pods, or a lone pod (rules.md N25)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT)
    namespace = models.ForeignKey(Namespace, on_delete=models.PROTECT)
    kind = models.CharField(max_length=63)  # Job, Deployment, Pod, ...
    name = models.CharField(max_length=253)
    type = models.CharField(max_length=32, blank=True)  # training, notebook, ...
    # of work that is the same but for what was generated (rules.md N41)
    family = models.CharField(max_length=253, db_default="", default="", blank=True)
    family_pod = models.ForeignKey(  # whose label names the family; null: the name does
        "Pod", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    # until its days are moved: what a label that was read since names; empty for the same
    next_family = models.CharField(
        max_length=253, db_default="", default="", blank=True
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace", "kind", "name"], name="workload_unique"
            )
        ]
        indexes = [
            models.Index(fields=["namespace", "family"], name="workload_by_family"),
            models.Index(
                fields=["cluster"],
                condition=~Q(next_family=""),
                name="workload_that_moves",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """With the family that its name says, unless it has one."""
        self.family = self.family or family_of(self.name, self.kind)
        super().save(*args, **kwargs)


class Owner(models.Model):
    """Evidence: `kind/name` in a namespace is controlled by `owner_kind/owner_name`
    (kube_replicaset_owner, kube_job_owner)."""

    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE)
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    owner_kind = models.CharField(max_length=63)
    owner_name = models.CharField(max_length=253)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "kind", "name"], name="owner_unique"
            )
        ]


class Pod(models.Model):
    """One pod uid and what all its samples so far showed.

    The evidence columns (`*_ms`, `containers`, ...) mirror `rules.inventory.records.PodRecord`;
    merging them is independent of order, so that a pod is a function of the samples alone.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pods")
    uid = models.CharField(max_length=320)  # or <namespace>/<pod>, inferred (N13)
    namespace = models.ForeignKey(Namespace, on_delete=models.PROTECT)
    name = models.CharField(max_length=253)
    workload = models.ForeignKey(
        Workload, null=True, on_delete=models.PROTECT, related_name="pods"
    )
    node = models.ForeignKey(Node, null=True, on_delete=models.PROTECT)
    priority_class = models.CharField(max_length=253, blank=True)
    is_inferred = models.BooleanField(default=False)  # no kube-state: labels only
    first_ms = models.BigIntegerField(null=True)
    last_ms = models.BigIntegerField(null=True)
    record = models.JSONField(
        default=dict
    )  # the whole PodRecord, as mapping.py writes it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uid"], name="pod_unique")
        ]
        indexes = [
            models.Index(fields=["cluster", "last_ms"], name="pod_by_last_sample"),
            models.Index(fields=["namespace", "name"], name="pod_by_name"),
            # Whose a hold is, without the record: rows of pods are a hundred times as wide.
            models.Index(
                fields=["id"],
                include=["namespace", "priority_class", "cluster"],
                name="pod_owner",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class PodAttribution(models.Model):
    """Resolved: the team (null = unmapped), tier and workload type of a pod in
    [valid_from, valid_to) (rules.md N24). Rebuilt by
    `metering.tasks.evidence.workloads.resolve_pods`.
    """

    pod = models.ForeignKey(Pod, on_delete=models.CASCADE, related_name="attributions")
    team = models.ForeignKey(Team, null=True, on_delete=models.PROTECT)
    tier = models.CharField(max_length=253, blank=True)
    workload_type = models.CharField(max_length=32, blank=True)
    valid_from = models.DateTimeField()
    valid_to = (
        models.DateTimeField()
    )  # "infinity" as year 9999, so that joins are simple

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pod", "valid_from"], name="pod_attribution_unique"
            )
        ]


class ResourceClaim(models.Model):
    """Evidence: the devices of a claim of dynamic resource allocation, and its pods
    (rules.md N13). From the API if it may be read, else from an exporter's labels.

    `devices` is [[driver, node, device, uuid, instance, profile, pod], ...]; `pods` are uids.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    devices = models.JSONField(default=list)
    pods = models.JSONField(default=list)
    is_observed = models.BooleanField(default=False)  # by the API
    is_extended = models.BooleanField(default=False)  # backs an extended resource
    is_shown = models.BooleanField(default=False)  # kube-state shows it of a pod

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace", "name"], name="resource_claim_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class EndedBy(models.TextChoices):
    """How a hold ended (rules.md N11, N38)."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    GONE = "gone"
    RETIRED = "retired"


class PodHold(models.Model):
    """Derived: one pod with units of one resource on one node.

    Replaced by `metering.tasks.pipeline` when evidence changes. `booked_until_ms` is where its time
    ends so far if `ended_ms` is null (N11). The `total_*` columns are filled when its facts expire
    (N32). `label_counts` are the samples that named it, by GPU and hour (N17), until its facts
    expire.
    """

    pod = models.ForeignKey(Pod, on_delete=models.CASCADE, related_name="holds")
    node = models.ForeignKey(Node, on_delete=models.PROTECT)
    resource = models.CharField(max_length=317)  # Kubernetes' spelling: nvidia.com/gpu
    units = models.PositiveIntegerField()
    share_numerator = models.PositiveIntegerField(default=1)  # of one unit
    share_denominator = models.PositiveIntegerField(default=1)
    created_ms = models.BigIntegerField(null=True)
    bound_ms = models.BigIntegerField()
    ended_ms = models.BigIntegerField(null=True)
    booked_until_ms = models.BigIntegerField(null=True)
    inferred_from_ms = models.BigIntegerField(
        null=True
    )  # from then on only labels show it (N13)
    ended_by = models.CharField(max_length=9, blank=True, choices=EndedBy.choices)
    is_inferred = models.BooleanField(default=False)
    label_counts = models.BinaryField(null=True)  # as mapping.py packs them
    total_busy_ms = models.BigIntegerField(null=True)
    total_idle_ms = models.BigIntegerField(null=True)
    total_unknown_ms = models.BigIntegerField(null=True)
    total_charge = models.DecimalField(max_digits=20, decimal_places=6, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pod", "resource"],
                condition=Q(is_inferred=False),
                name="hold_unique",
            ),
            models.UniqueConstraint(
                fields=["pod", "node", "resource", "bound_ms"],
                condition=Q(is_inferred=True),
                name="inferred_hold_unique",
            ),
            models.CheckConstraint(
                condition=Q(ended_ms__isnull=True) | Q(ended_ms__gte=F("bound_ms")),
                name="hold_start_before_end",
            ),
        ]
        indexes = [
            models.Index(fields=["bound_ms", "ended_ms"], name="hold_by_time"),
        ]
