"""The second column has tables of its own: how hard GPUs worked, by window, hour and day."""

from django.db import migrations

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
    throttled_ms bigint NOT NULL DEFAULT 0,
"""
BUCKET = f"""
    billing_on date NOT NULL,
    namespace_id bigint NOT NULL DEFAULT 0,
    team_id bigint NOT NULL DEFAULT 0,
    workload_id bigint NOT NULL DEFAULT 0,
    workload_type varchar(32) NOT NULL DEFAULT '',
    model varchar(200) NOT NULL DEFAULT '',
    lifecycle varchar(16) NOT NULL DEFAULT 'unknown',
    tier varchar(253) NOT NULL DEFAULT '',
    {MEASURES}
"""
KEY = (
    "billing_on, namespace_id, team_id, workload_id, workload_type, model, lifecycle, tier"
)

WINDOW = f"""
CREATE TABLE intensity_window (
    cluster_id smallint NOT NULL,
    window_start timestamptz NOT NULL,
    gpu_id bigint NOT NULL,
    instance smallint NOT NULL DEFAULT -1,
    pod_id bigint NOT NULL DEFAULT 0,
    node_id bigint NOT NULL,
    {MEASURES}
    PRIMARY KEY (cluster_id, window_start, gpu_id, instance, pod_id, node_id)
) PARTITION BY RANGE (window_start)
"""
HOUR = f"""
CREATE TABLE intensity_hour (
    cluster_id smallint NOT NULL,
    hour_start timestamptz NOT NULL,
    {BUCKET}
    PRIMARY KEY (cluster_id, hour_start, {KEY})
) PARTITION BY RANGE (hour_start)
"""
DAY = f"""
CREATE TABLE intensity_day (
    cluster_id smallint NOT NULL,
    {BUCKET}
    PRIMARY KEY (cluster_id, {KEY})
) PARTITION BY RANGE (billing_on)
"""
MOVED = [
    f"ALTER TABLE {table} DROP COLUMN peak_memory_bytes, DROP COLUMN energy_mj"
    for table in ("usage_window", "usage_hour", "usage_day")
]
BACK = [
    f"ALTER TABLE {table} ADD COLUMN peak_memory_bytes bigint, ADD COLUMN energy_mj bigint"
    for table in ("usage_window", "usage_hour", "usage_day")
]


class Migration(migrations.Migration):
    dependencies = [("accounting", "0004_source_history")]
    operations = [
        migrations.RunSQL(
            sql=[WINDOW, HOUR, DAY, *MOVED],
            reverse_sql=[
                "DROP TABLE intensity_day",
                "DROP TABLE intensity_hour",
                "DROP TABLE intensity_window",
                *BACK,
            ],
        ),
    ]
