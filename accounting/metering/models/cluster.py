"""Clusters, their metric sources, nodes and GPUs, and where each GPU was at which time."""

from fractions import Fraction

import pghistory
from django.db import models
from django.db.models import F, Q


@pghistory.track(exclude=["data_end_ms", "kube_jobs_in_force"])
class Cluster(models.Model):
    """One Kubernetes cluster.

    `retired_at`: all presence and holds end then (rules.md N38); null while it is in use.
    `kube_state_jobs`: scrape jobs of kube-state that a person accepted in addition to those of the
    first hour (N40). `is_confirmed`: it is in the setup file, or a person confirmed it as new
    (N39). `data_end_ms`: where its data end (N1); null without data. `kube_jobs_in_force`: the
    accepted and listed jobs that are already applied
    (`metering.reads.data_health.known_kube_state_jobs`); null before any sample. `billing_account`:
    the account of a provider whose bills are of this cluster as a whole, beyond rows that name its
    nodes (money.md M42); empty for none.
    """

    id = models.SmallAutoField(primary_key=True)
    name = models.CharField(max_length=63, unique=True)
    kubernetes = models.JSONField(default=dict, blank=True)  # for scheduler_view
    shard_count = models.PositiveSmallIntegerField(default=1)
    is_demo = models.BooleanField(default=False)
    retired_at = models.DateTimeField(null=True, blank=True)
    kube_state_jobs = models.JSONField(default=list, blank=True)
    is_confirmed = models.BooleanField(default=False)
    data_end_ms = models.BigIntegerField(null=True)
    kube_jobs_in_force = models.JSONField(null=True)
    billing_account = models.CharField(max_length=253, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["billing_account"],
                condition=~Q(billing_account=""),
                name="cluster_billing_account",
            )
        ]

    def __str__(self) -> str:
        return self.name


class SharePolicyName(models.TextChoices):
    """Which share of a part of a GPU counts (`metering.rules.units.share_policy`)."""

    COMPUTE = "compute"
    MEMORY = "memory"
    DOMINANT = "dominant"


@pghistory.track()
class SharePolicy(models.Model):
    """The share policy of a cluster from an instant on.

    Compute before the first row. Windows use the policy that is valid at their start; a policy that
    has started is never changed. Written by `setup.tasks.apply`.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    valid_from = models.DateTimeField()
    policy = models.CharField(max_length=16, choices=SharePolicyName.choices)

    class Meta:
        ordering = ["cluster", "valid_from"]
        constraints = [
            models.UniqueConstraint("cluster", "valid_from", name="share_policy_once")
        ]

    def __str__(self) -> str:
        return f"{self.policy} from {self.valid_from:%Y-%m-%d}"


@pghistory.track()
class AddedResource(models.Model):
    """A GPU resource that an administrator added, and the share of one GPU of a unit.

    In addition to those that the product knows (`metering.rules.units.resources`). Written by
    `metering.actions.resources`; the share is an exact fraction, above 0 and at most 1.
    """

    resource = models.CharField(max_length=317, unique=True)  # Kubernetes' spelling
    share_numerator = models.PositiveIntegerField()
    share_denominator = models.PositiveIntegerField()

    class Meta:
        ordering = ["resource"]
        constraints = [
            models.CheckConstraint(
                condition=Q(share_numerator__gt=0)
                & Q(share_numerator__lte=F("share_denominator")),
                name="added_resource_share_of_one",
            )
        ]

    def __str__(self) -> str:
        return f"{self.resource}: {self.share} GPU"

    @property
    def share(self) -> Fraction:
        """The share of one GPU that a unit represents."""
        return Fraction(self.share_numerator, self.share_denominator)


class SourceKind(models.TextChoices):
    """The three kinds of sources."""

    PROMETHEUS = "prometheus"
    SCRAPE = "scrape"
    OPENMETRICS = "openmetrics"


@pghistory.track(
    exclude=["last_read_at", "last_sample_at", "last_error", "file_from", "file_to"]
)
class Source(models.Model):
    """One source of a cluster's metrics.

    `settings` contains the non-secret settings of the kind (url, targets, headers, ...);
    secrets are referenced as files or environment variables, never stored.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="sources"
    )
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=11, choices=SourceKind.choices)
    settings = models.JSONField(default=dict, blank=True)
    interval_s = models.PositiveIntegerField(null=True, blank=True)  # rules.md N4
    scales = models.JSONField(default=dict, blank=True)  # ratio | percent, by name (N8)
    is_active = models.BooleanField(default=True)
    last_read_at = models.DateTimeField(null=True, blank=True)
    last_sample_at = models.DateTimeField(null=True, blank=True)
    file_from = models.DateTimeField(null=True, blank=True)  # of the newest file: its
    file_to = models.DateTimeField(null=True, blank=True)  # first and last sample
    last_error = models.TextField(blank=True)

    class Meta:
        ordering = ["cluster", "name"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="source_unique")
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.name}"


class Node(models.Model):
    """One node name of one cluster; several node objects may have it over time (`NodeSpan`)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="nodes")
    name = models.CharField(max_length=253)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="node_unique")
        ]

    def __str__(self) -> str:
        return self.name


class NodeFact(models.Model):
    """Capacity and labels of a node from one sample on, until the next row of that node.

    `capacity` is units by Kubernetes resource (as kube-state spells it); `labels` are kube-state's
    `label_*` keys, and `gpu_labels` those of them that say what its GPU resources are. Reports use
    the derived columns.
    """

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="facts")
    valid_from = models.DateTimeField()
    capacity = models.JSONField(default=dict)
    labels = models.JSONField(default=dict)
    gpu_labels = models.GeneratedField(
        expression=models.Func(F("labels"), function="accounting_gpu_labels"),
        output_field=models.JSONField(),
        db_persist=True,
    )
    model = models.CharField(max_length=200, blank=True)
    lifecycle = models.CharField(max_length=16, default="unknown")
    instance_type = models.CharField(max_length=100, blank=True)
    zone = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["node", "valid_from"], name="node_fact_unique"
            )
        ]


class NodeSpan(models.Model):
    """Evidence: a node object was sampled from `first_ms` to `last_ms` without a gap of
    more than 1.5 steps (rules.md N11)."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="spans")
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    step_ms = models.PositiveIntegerField()  # the step at the last sample

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["node", "first_ms"], name="node_span_unique"
            )
        ]


class Gpu(models.Model):
    """One physical GPU by UUID, or a node's placeholder `<node>/<n>` (rules.md N16)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="gpus")
    uuid = models.CharField(max_length=300)
    is_placeholder = models.BooleanField(default=False)
    model = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uuid"], name="gpu_unique")
        ]
        indexes = [
            models.Index(fields=["uuid"], name="gpu_by_uuid")  # over clusters (N39)
        ]

    def __str__(self) -> str:
        return self.uuid


class GpuSpan(models.Model):
    """Evidence: one scraper sampled a GPU on a node from `first_ms` to `last_ms` without a
    gap of more than 1.5 steps (rules.md N3, N14, N15)."""

    gpu = models.ForeignKey(Gpu, on_delete=models.CASCADE, related_name="spans")
    node = models.ForeignKey(Node, on_delete=models.CASCADE)
    scraper = models.ForeignKey("accounting.Scraper", on_delete=models.CASCADE)
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    step_ms = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["gpu", "node", "scraper", "first_ms"], name="gpu_span_unique"
            )
        ]


class GpuGeometry(models.Model):
    """Evidence: how a GPU was divided, from one sample on until the next row.

    See rules.md "MIG". `instances` is [[number, profile], ...]; empty while it is undivided.
    """

    gpu = models.ForeignKey(Gpu, on_delete=models.CASCADE, related_name="geometries")
    from_ms = models.BigIntegerField()
    instances = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["gpu", "from_ms"], name="gpu_geometry_unique"
            )
        ]


class GpuPresence(models.Model):
    """Derived: one GPU was present on one node in [start_ms, end_ms) (rules.md N14-N16).

    `end_ms` null: still present. Replaced by `metering.tasks.pipeline` when evidence changes.
    """

    gpu = models.ForeignKey(Gpu, on_delete=models.CASCADE, related_name="presences")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="presences")
    start_ms = models.BigIntegerField()
    end_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["gpu", "start_ms"], name="gpu_presence_unique"
            ),
            models.CheckConstraint(
                condition=Q(end_ms__isnull=True) | Q(end_ms__gte=F("start_ms")),
                name="gpu_presence_start_before_end",
            ),
        ]
