"""The natively partitioned tables: windows (by day), hours (by month), days (by year).

Usage is what GPU time was and what it costs; intensity is how hard GPUs worked. Partitions are
made by `ingest.facts.partitions`, ahead of time and for imported history.

Hours and days by GPU and node (rules.md N32) have about two rows for each GPU and hour, and for
each GPU and day. They have an index instead of a primary key over all columns: an hour is replaced
as a whole under a lock, and the key would take as much space as the rows. Their states are
integers: a GPU's day has fewer than 2^31 milliseconds.
"""

from django.db import migrations

STATES = """
    busy_ms {type} NOT NULL DEFAULT 0,
    idle_ms {type} NOT NULL DEFAULT 0,
    unknown_ms {type} NOT NULL DEFAULT 0,
    free_ms {type} NOT NULL DEFAULT 0,
    stranded_ms {type} NOT NULL DEFAULT 0,
    stray_ms {type} NOT NULL DEFAULT 0,
    dark_ms {type} NOT NULL DEFAULT 0,
"""

MEASURES = """
    flags smallint NOT NULL DEFAULT 0,
    sm_seen_us bigint NOT NULL DEFAULT 0,
    sm_active_us bigint NOT NULL DEFAULT 0,
    tensor_seen_us bigint NOT NULL DEFAULT 0,
    tensor_active_us bigint NOT NULL DEFAULT 0,
    dram_seen_us bigint NOT NULL DEFAULT 0,
    dram_active_us bigint NOT NULL DEFAULT 0,
    memory_seen_us bigint NOT NULL DEFAULT 0,
    memory_mib_ms bigint NOT NULL DEFAULT 0,
    memory_peak_bytes bigint NOT NULL DEFAULT 0,
    power_seen_us bigint NOT NULL DEFAULT 0,
    power_mj bigint NOT NULL DEFAULT 0,
    energy_seen_us bigint NOT NULL DEFAULT 0,
    energy_mj bigint NOT NULL DEFAULT 0,
    temperature_seen_us bigint NOT NULL DEFAULT 0,
    temperature_peak_c bigint NOT NULL DEFAULT 0,
    nvlink_seen_us bigint NOT NULL DEFAULT 0,
    nvlink_kb bigint NOT NULL DEFAULT 0,
    throttle_seen_us bigint NOT NULL DEFAULT 0,
    throttled_ms bigint NOT NULL DEFAULT 0
"""

GROUP = """
    billing_on date NOT NULL,
    namespace_id bigint NOT NULL DEFAULT 0,
    team_id bigint NOT NULL DEFAULT 0,
    workload_id bigint NOT NULL DEFAULT 0,
    workload_type varchar(32) NOT NULL DEFAULT '',
    model varchar(200) NOT NULL DEFAULT '',
    lifecycle varchar(16) NOT NULL DEFAULT 'unknown',
    tier varchar(253) NOT NULL DEFAULT '',
"""
GROUP_KEY = (
    "billing_on, namespace_id, team_id, workload_id, workload_type, model, lifecycle, tier"
)

USAGE_WINDOW = f"""
CREATE TABLE usage_window (
    cluster_id smallint NOT NULL,
    window_start timestamptz NOT NULL,
    gpu_id bigint NOT NULL,
    instance smallint NOT NULL DEFAULT -1,
    pod_id bigint NOT NULL DEFAULT 0,
    node_id bigint NOT NULL,
    {STATES.format(type="integer")}
    flags smallint NOT NULL DEFAULT 0,
    metric smallint NOT NULL DEFAULT 0,
    samples_expected integer NOT NULL DEFAULT 0,
    samples_used integer NOT NULL DEFAULT 0,
    over_share_ms integer NOT NULL DEFAULT 0,
    PRIMARY KEY (cluster_id, window_start, gpu_id, instance, pod_id, node_id)
) PARTITION BY RANGE (window_start)
"""

CHARGES = """
    {group}
    price_id bigint NOT NULL DEFAULT 0,
    gpu_price_id bigint NOT NULL DEFAULT 0,
    {states}
    rate numeric(12, 6),
    cost numeric(12, 6),
    gpu_rate numeric(12, 6),
    gpu_cost numeric(12, 6),
    currency varchar(3) NOT NULL DEFAULT '',
    estimated_ms {type} NOT NULL DEFAULT 0,
    samples_expected {type} NOT NULL DEFAULT 0,
    samples_used {type} NOT NULL DEFAULT 0
"""


def _charges(group: str, type_: str) -> str:
    """The columns of usage with prices; their sums are of this type."""
    return CHARGES.format(group=group, type=type_, states=STATES.format(type=type_))


GROUP_CHARGES = _charges(GROUP, "bigint")
CHARGES_KEY = f"{GROUP_KEY}, price_id, gpu_price_id"

USAGE_HOUR = f"""
CREATE TABLE usage_hour (
    cluster_id smallint NOT NULL,
    hour_start timestamptz NOT NULL,
    {GROUP_CHARGES},
    PRIMARY KEY (cluster_id, hour_start, {CHARGES_KEY})
) PARTITION BY RANGE (hour_start)
"""

USAGE_DAY = f"""
CREATE TABLE usage_day (
    cluster_id smallint NOT NULL,
    {GROUP_CHARGES},
    PRIMARY KEY (cluster_id, {CHARGES_KEY})
) PARTITION BY RANGE (billing_on)
"""

INTENSITY_WINDOW = f"""
CREATE TABLE intensity_window (
    cluster_id smallint NOT NULL,
    window_start timestamptz NOT NULL,
    gpu_id bigint NOT NULL,
    instance smallint NOT NULL DEFAULT -1,
    pod_id bigint NOT NULL DEFAULT 0,
    node_id bigint NOT NULL,
    {MEASURES},
    PRIMARY KEY (cluster_id, window_start, gpu_id, instance, pod_id, node_id)
) PARTITION BY RANGE (window_start)
"""

INTENSITY_HOUR = f"""
CREATE TABLE intensity_hour (
    cluster_id smallint NOT NULL,
    hour_start timestamptz NOT NULL,
    {GROUP}
    {MEASURES},
    PRIMARY KEY (cluster_id, hour_start, {GROUP_KEY})
) PARTITION BY RANGE (hour_start)
"""

INTENSITY_DAY = f"""
CREATE TABLE intensity_day (
    cluster_id smallint NOT NULL,
    {GROUP}
    {MEASURES},
    PRIMARY KEY (cluster_id, {GROUP_KEY})
) PARTITION BY RANGE (billing_on)
"""


GPU_GROUP = GROUP.replace(
    "namespace_id",
    "gpu_id bigint NOT NULL,\n    node_id bigint NOT NULL,\n    namespace_id",
)
GPU_CHARGES = _charges(GPU_GROUP, "integer")
HOUR = "hour_start timestamptz NOT NULL,"


def _by_gpu(name: str, further: str, columns: str, by: str) -> list[str]:
    """A table by GPU and node, and its index."""
    return [
        f"CREATE TABLE {name} (cluster_id smallint NOT NULL, {further} {columns})"
        f" PARTITION BY RANGE ({by})",
        f"CREATE INDEX {name}_key ON {name} (cluster_id, {by}, gpu_id)",
    ]


TABLES = (
    *("usage_window", "usage_hour", "usage_day"),
    *("intensity_window", "intensity_hour", "intensity_day"),
    *("usage_gpu_hour", "usage_gpu_day", "intensity_gpu_hour", "intensity_gpu_day"),
)


class Migration(migrations.Migration):
    dependencies = [("accounting", "0001_ledger")]
    operations = [
        migrations.RunSQL(
            sql=[
                USAGE_WINDOW,
                USAGE_HOUR,
                USAGE_DAY,
                INTENSITY_WINDOW,
                INTENSITY_HOUR,
                INTENSITY_DAY,
                *_by_gpu("usage_gpu_hour", HOUR, GPU_CHARGES, "hour_start"),
                *_by_gpu("usage_gpu_day", "", GPU_CHARGES, "billing_on"),
                *_by_gpu(
                    "intensity_gpu_hour", HOUR, f"{GPU_GROUP} {MEASURES}", "hour_start"
                ),
                *_by_gpu(
                    "intensity_gpu_day", "", f"{GPU_GROUP} {MEASURES}", "billing_on"
                ),
            ],
            reverse_sql=[f"DROP TABLE {table}" for table in reversed(TABLES)],
        ),
    ]
