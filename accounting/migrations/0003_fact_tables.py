"""The natively partitioned tables: usage windows (daily), hours (monthly), days (yearly).

Partitions are made by `ingest.fact_partitions`, ahead of time and for imported history.
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
    peak_memory_bytes bigint,
    energy_mj bigint,
    PRIMARY KEY (cluster_id, window_start, gpu_id, instance, pod_id, node_id)
) PARTITION BY RANGE (window_start)
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
    price_id bigint NOT NULL DEFAULT 0,
    gpu_price_id bigint NOT NULL DEFAULT 0,
    {STATES.format(type="bigint")}
    rate numeric(12, 6),
    cost numeric(12, 6),
    gpu_rate numeric(12, 6),
    gpu_cost numeric(12, 6),
    currency varchar(3) NOT NULL DEFAULT '',
    estimated_ms bigint NOT NULL DEFAULT 0,
    samples_expected bigint NOT NULL DEFAULT 0,
    samples_used bigint NOT NULL DEFAULT 0,
    peak_memory_bytes bigint,
    energy_mj bigint,
"""
KEY = (
    "billing_on, namespace_id, team_id, workload_id, workload_type, model, lifecycle, "
    "tier, price_id, gpu_price_id"
)

USAGE_HOUR = f"""
CREATE TABLE usage_hour (
    cluster_id smallint NOT NULL,
    hour_start timestamptz NOT NULL,
    {BUCKET}
    PRIMARY KEY (cluster_id, hour_start, {KEY})
) PARTITION BY RANGE (hour_start)
"""

USAGE_DAY = f"""
CREATE TABLE usage_day (
    cluster_id smallint NOT NULL,
    {BUCKET}
    PRIMARY KEY (cluster_id, {KEY})
) PARTITION BY RANGE (billing_on)
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0002_tables")]
    operations = [
        migrations.RunSQL(
            sql=[USAGE_WINDOW, USAGE_HOUR, USAGE_DAY],
            reverse_sql="DROP TABLE usage_day; DROP TABLE usage_hour; DROP TABLE usage_window",
        ),
    ]
