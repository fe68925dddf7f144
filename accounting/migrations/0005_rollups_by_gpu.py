"""Hours and days by GPU and node, of usage and of GPU activity (rules.md N32).

A report by GPU or node summed five-minute facts: 288 rows for each GPU and day. These tables have
about two rows for each GPU and hour, and for each GPU and day. An index instead of a primary key
over all columns of a row: an hour is replaced as a whole under a lock, and the key would take as
much space as the rows. States are integers: a GPU's day has fewer than 2^31 milliseconds.

Hours whose facts are kept are marked, so that the next rollup writes them by GPU too. Older
ranges by GPU are refused, as before.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

STATES = """
    busy_ms integer NOT NULL DEFAULT 0,
    idle_ms integer NOT NULL DEFAULT 0,
    unknown_ms integer NOT NULL DEFAULT 0,
    free_ms integer NOT NULL DEFAULT 0,
    stranded_ms integer NOT NULL DEFAULT 0,
    stray_ms integer NOT NULL DEFAULT 0,
    dark_ms integer NOT NULL DEFAULT 0,
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
    gpu_id bigint NOT NULL,
    node_id bigint NOT NULL,
    namespace_id bigint NOT NULL DEFAULT 0,
    team_id bigint NOT NULL DEFAULT 0,
    workload_id bigint NOT NULL DEFAULT 0,
    workload_type varchar(32) NOT NULL DEFAULT '',
    model varchar(200) NOT NULL DEFAULT '',
    lifecycle varchar(16) NOT NULL DEFAULT 'unknown',
    tier varchar(253) NOT NULL DEFAULT '',
"""

CHARGES = f"""
    {GROUP}
    price_id bigint NOT NULL DEFAULT 0,
    gpu_price_id bigint NOT NULL DEFAULT 0,
    {STATES}
    rate numeric(12, 6),
    cost numeric(12, 6),
    gpu_rate numeric(12, 6),
    gpu_cost numeric(12, 6),
    currency varchar(3) NOT NULL DEFAULT '',
    estimated_ms integer NOT NULL DEFAULT 0,
    samples_expected integer NOT NULL DEFAULT 0,
    samples_used integer NOT NULL DEFAULT 0
"""

HOUR = "hour_start timestamptz NOT NULL,"
TABLES = (  # name, further column, columns, what partitions go by
    ("usage_gpu_hour", HOUR, CHARGES, "hour_start"),
    ("usage_gpu_day", "", CHARGES, "billing_on"),
    ("intensity_gpu_hour", HOUR, f"{GROUP} {MEASURES}", "hour_start"),
    ("intensity_gpu_day", "", f"{GROUP} {MEASURES}", "billing_on"),
)

MARK = """
    INSERT INTO accounting_pendinggpuhour (cluster_id, hour_start, billing_days, needs_hour)
    SELECT h.cluster_id, h.hour_start, array_agg(DISTINCT h.billing_on), true
    FROM usage_hour h
    WHERE EXISTS (SELECT FROM usage_window w WHERE w.cluster_id = h.cluster_id
                  AND w.window_start >= h.hour_start
                  AND w.window_start < h.hour_start + interval '1 hour')
    GROUP BY h.cluster_id, h.hour_start
"""


def _create(name: str, further: str, columns: str, by: str) -> list[str]:
    return [
        f"CREATE TABLE {name} (cluster_id smallint NOT NULL, {further} {columns})"
        f" PARTITION BY RANGE ({by})",
        f"CREATE INDEX {name}_key ON {name} (cluster_id, {by}, gpu_id)",
    ]


class Migration(migrations.Migration):
    dependencies = [("accounting", "0004_worker_of_a_lease")]

    operations = [
        migrations.RunSQL(
            sql=[text for table in TABLES for text in _create(*table)],
            reverse_sql=[f"DROP TABLE {name}" for name, *_ in reversed(TABLES)],
        ),
        migrations.CreateModel(
            "PendingGpuHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("hour_start", models.DateTimeField()),
                ("billing_days", ArrayField(models.DateField(), size=None)),
                ("needs_hour", models.BooleanField()),
                (
                    "cluster",
                    models.ForeignKey("accounting.cluster", models.CASCADE),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["cluster", "hour_start"],
                        name="pending_gpu_hour_unique",
                    )
                ]
            },
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
        migrations.AddField(
            "retiredhour", "usage_by_gpu", models.JSONField(default=list)
        ),
        migrations.AddField(
            "retiredhour", "intensity_by_gpu", models.JSONField(default=list)
        ),
    ]
