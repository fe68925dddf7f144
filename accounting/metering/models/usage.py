"""Facts and rollups. Natively partitioned tables: created by SQL in the migration,
described here for reads. Integer milliseconds, share-weighted, in every state column."""

from django.db import models


class FactFlag(models.IntegerChoices):
    """Bits of `UsageWindow.flags` (rules.md N19, N21)."""

    ESTIMATED = 1  # a GPU's time was divided over holds by a rule
    INFERRED = 2  # the GPU was inferred
    SUSPECT = 4  # other metrics contradict the metric's zeros


class UtilizationMetric(models.IntegerChoices):
    """The name under which busy and idle were read (rules.md N7)."""

    NONE = 0, "no metric"
    ENGINE_ACTIVE = 1, "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
    GPU_UTIL = 2, "DCGM_FI_DEV_GPU_UTIL"
    OTHER = 3, "another metric"
    ENGINE_UTIL_RATIO = 4, "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"
    GPU_UTIL_RATIO = 5, "DCGM_FI_DEV_GPU_UTIL_RATIO"
    AMD_ACTIVITY = 6, "gpu_gfx_activity"
    GAUDI_UTILIZATION = 7, "habanalabs_utilization"


class StateMilliseconds(models.Model):
    """The seven states; their sum is the time in which the GPU (part) was present."""

    busy_ms = models.BigIntegerField(default=0)
    idle_ms = models.BigIntegerField(default=0)
    unknown_ms = models.BigIntegerField(default=0)
    free_ms = models.BigIntegerField(default=0)
    stranded_ms = models.BigIntegerField(default=0)
    stray_ms = models.BigIntegerField(default=0)
    dark_ms = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class UsageWindow(StateMilliseconds):
    """One five-minute fact: (window, GPU, instance, pod); no team, no money.

    `pod_id` 0 is the line of unallocated time; `instance` -1 is the whole GPU.
    Daily partitions by `window_start`, kept for the days of the setting `FACT_DAYS`.
    """

    pk = models.CompositePrimaryKey(
        "cluster_id", "window_start", "gpu_id", "instance", "pod_id"
    )
    cluster_id = models.SmallIntegerField()
    window_start = models.DateTimeField()
    gpu_id = models.BigIntegerField()
    instance = models.SmallIntegerField(default=-1)
    pod_id = models.BigIntegerField(default=0)
    node_id = models.BigIntegerField()
    flags = models.SmallIntegerField(default=0, choices=FactFlag.choices)
    metric = models.SmallIntegerField(default=0, choices=UtilizationMetric.choices)
    samples_expected = models.IntegerField(default=0)
    samples_used = models.IntegerField(default=0)
    # stored separately from the states (N22)
    over_share_ms = models.BigIntegerField(default=0)

    class Meta:
        managed = False
        db_table = "usage_window"


class UsageBucket(StateMilliseconds):
    """Columns that usage hours and days share. An id of 0 means none.

    Money of a state is `ms * rate`, exact; divide by 3,600,000 for the amount (N28).
    `gpu_rate` is the whole GPU's own price if a profile or tier has another one (N27).
    """

    billing_on = models.DateField()  # the billing day that this row belongs to
    namespace_id = models.BigIntegerField(default=0)
    team_id = models.BigIntegerField(default=0)  # 0: unmapped, or the platform's line
    workload_id = models.BigIntegerField(default=0)  # 0: the platform's line
    workload_type = models.CharField(max_length=32, default="")
    model = models.CharField(max_length=200, default="")
    lifecycle = models.CharField(max_length=16, default="unknown")
    tier = models.CharField(max_length=253, default="")
    price_id = models.BigIntegerField(default=0)  # 0: no price
    gpu_price_id = models.BigIntegerField(default=0)
    rate = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    gpu_rate = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    gpu_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    currency = models.CharField(max_length=3, default="")
    estimated_ms = models.BigIntegerField(default=0)  # held time flagged by N19
    samples_expected = models.BigIntegerField(default=0)
    samples_used = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class UsageHour(UsageBucket):
    """One UTC hour (two rows if a billing day divides it), by all dimensions except GPU,
    node and pod. Monthly partitions by `hour_start`, kept 13 months.
    """

    pk = models.CompositePrimaryKey(
        "cluster_id",
        "hour_start",
        "billing_on",
        "namespace_id",
        "team_id",
        "workload_id",
        "workload_type",
        "model",
        "lifecycle",
        "tier",
        "price_id",
        "gpu_price_id",
    )
    cluster_id = models.SmallIntegerField()
    hour_start = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "usage_hour"


class UsageDay(UsageBucket):
    """One billing day; sums of its hours; kept indefinitely."""

    pk = models.CompositePrimaryKey(
        "cluster_id",
        "billing_on",
        "namespace_id",
        "team_id",
        "workload_id",
        "workload_type",
        "model",
        "lifecycle",
        "tier",
        "price_id",
        "gpu_price_id",
    )
    cluster_id = models.SmallIntegerField()

    class Meta:
        managed = False
        db_table = "usage_day"
