"""Evidence stored per hour so that holds, presence and labels can be derived again.

It contains no metric values, only *when* something was sampled and on which scale. `times` is a
zlib-compressed little-endian int32 array of milliseconds since the hour's start, `steps`
such an array of the step of each of these samples (rules.md N4).
"""

from django.db import models

from accounting.metering.models.cluster import Cluster, Gpu, Node


class Scraper(models.Model):
    """One scraper of metrics: `job`, `instance`, replica labels (rules.md N3)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    job = models.CharField(max_length=500, blank=True)
    instance = models.CharField(max_length=500, blank=True)
    replica = models.CharField(max_length=500, blank=True)
    shows_exported = models.BooleanField(default=False)  # ever showed exported_pod
    is_kube_state = models.BooleanField(default=False)
    interval_ms = models.PositiveIntegerField(null=True)  # as its source declares (N4)
    # By name of whole percentages, what it ever showed (N8): [its first fractions as
    # [time in ms, GPU], values above 1, such with decimal places, values of exactly 1].
    scales = models.JSONField(default=dict, db_default={})

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job", "instance", "replica"], name="scraper_unique"
            )
        ]


class ScrapeHour(models.Model):
    """When one kube-state scraper was scraped, in one hour (rules.md N9)."""

    scraper = models.ForeignKey(Scraper, on_delete=models.CASCADE)
    hour_start = models.DateTimeField()
    times = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scraper", "hour_start"], name="scrape_hour_unique"
            )
        ]


class ScrapeSpan(models.Model):
    """One kube-state scraper was scraped from `first_ms` to `last_ms` without a gap of more than
    1.5 steps: represents its scrapes far from the loaded hours.
    """

    scraper = models.ForeignKey(Scraper, on_delete=models.CASCADE, related_name="spans")
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    step_ms = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scraper", "first_ms"], name="scrape_span_unique"
            )
        ]


class NodeScraper(models.Model):
    """A kube-state scraper that ever showed a node's name (rules.md N11)."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE)
    scraper = models.ForeignKey(Scraper, on_delete=models.CASCADE)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["node", "scraper"], name="node_scraper_unique"
            )
        ]


class GpuLabelHour(models.Model):
    """When samples of one GPU (part) named one pod, in one hour (rules.md N17)."""

    gpu = models.ForeignKey(Gpu, on_delete=models.CASCADE)
    node = models.ForeignKey(Node, on_delete=models.CASCADE)
    scraper = models.ForeignKey(Scraper, on_delete=models.CASCADE)
    hour_start = models.DateTimeField()
    instance = models.CharField(max_length=16, blank=True)
    profile = models.CharField(max_length=32, blank=True)  # of the instance
    vgpu = models.CharField(max_length=16, blank=True)
    namespace = models.CharField(max_length=63)
    pod = models.CharField(max_length=253)
    pod_uid = models.CharField(max_length=64, blank=True)
    # by plain labels, which may name the scraper's own pod
    is_plain = models.BooleanField()
    times = models.BinaryField()
    steps = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "gpu",
                    "node",
                    "scraper",
                    "hour_start",
                    "instance",
                    "profile",
                    "vgpu",
                    "namespace",
                    "pod",
                    "pod_uid",
                    "is_plain",
                ],
                name="gpu_label_hour_unique",
            )
        ]
        indexes = [
            models.Index(fields=["hour_start"], name="gpu_label_by_hour"),
            models.Index(
                fields=["namespace", "pod", "hour_start"], name="gpu_label_by_pod"
            ),
        ]


class OwnPod(models.Model):
    """A pod that an `up` series names: an exporter's own, never a workload (trap T6)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=63)
    pod = models.CharField(max_length=253)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace", "pod"], name="own_pod_unique"
            )
        ]


class KubeJob(models.Model):
    """Evidence: a scrape job of kube-state (rules.md N40).

    `is_late`: as in files that were imported after a live source was read; they do not affect the
    windows that it computed.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    job = models.CharField(max_length=500, blank=True)
    is_late = models.BooleanField(default=False)
    first_node_ms = models.BigIntegerField(null=True)  # its first sample of a node
    first_live_ms = models.BigIntegerField(null=True)  # first sample of a live source

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job", "is_late"], name="kube_job_unique"
            )
        ]


class KubeJobRun(models.Model):
    """Evidence: a job was sampled from `first_ms` to `last_ms` without an hour of silence."""

    kube_job = models.ForeignKey(KubeJob, on_delete=models.CASCADE, related_name="runs")
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kube_job", "first_ms"], name="kube_job_run_unique"
            )
        ]


class KubeJobObject(models.Model):
    """Evidence: a job first showed an object, or something that refers to it, at `first_ms`.

    Stored only if a cluster has several jobs; not needed for a single one.
    """

    kube_job = models.ForeignKey(
        KubeJob, on_delete=models.CASCADE, related_name="shown"
    )
    name = models.CharField(
        max_length=600
    )  # as `rules.inventory.kube_state.job_samples.Object`
    is_reference = models.BooleanField(default=False)
    first_ms = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kube_job", "name", "is_reference"], name="kube_object_unique"
            )
        ]
        indexes = [models.Index(fields=["name"], name="kube_object_by_name")]


class KubeJobOverlap(models.Model):
    """Derived: since when two jobs have shown the same object, and which one."""

    kube_job = models.ForeignKey(
        KubeJob, on_delete=models.CASCADE, related_name="overlaps"
    )
    other = models.ForeignKey(KubeJob, on_delete=models.CASCADE, related_name="+")
    first_ms = models.BigIntegerField()
    name = models.CharField(max_length=600)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kube_job", "other"], name="kube_overlap_unique"
            )
        ]


class NodeProvider(models.Model):
    """Evidence: a node was this machine of a provider from `first_ms` to `last_ms` at least.

    `provider_id` is kube-state's (`kube_node_info`). Bills are matched by it (money.md M42).
    """

    node = models.ForeignKey(
        "accounting.Node", on_delete=models.CASCADE, related_name="providers"
    )
    provider_id = models.CharField(max_length=500)
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["node", "provider_id"], name="node_provider_unique"
            )
        ]
