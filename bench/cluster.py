"""A generated cluster for the bench: GPUs, pods, teams and prices, and facts of windows."""

from datetime import UTC, datetime, timedelta

import numpy as np
from django.db import connection

from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.facts import partitions, write_facts

START = datetime(2026, 10, 1, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)
WINDOW_MS = 300_000


def reset() -> None:
    """Empty the tables that the bench fills."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE accounting_cluster, accounting_team, accounting_unitprice,"
            f" accounting_billing, {partitions.TABLES} CASCADE"
        )


def make(gpus: int, teams: int = 200) -> None:
    """One cluster of nodes with eight GPUs, a pod on each GPU, teams and one price."""
    Cluster.objects.create(id=1, name="bench")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounting_billing (currency, timezone, valid_from)
            VALUES ('EUR', 'Europe/Berlin', '1970-01-01+00')
            """
        )
        cursor.execute(
            """
            INSERT INTO accounting_team (id, slug, name, department, cost_centre, colour_slot)
            SELECT i, 'team-' || i, 'Team ' || i, '', '', 0 FROM generate_series(1, %(teams)s) i;
            INSERT INTO accounting_node (id, cluster_id, name)
            SELECT i, 1, 'node-' || i FROM generate_series(1, %(nodes)s) i;
            INSERT INTO accounting_nodefact
                (node_id, valid_from, capacity, labels, model, lifecycle, instance_type, zone)
            SELECT i, '2026-01-01+00', '{}', '{}', 'A100',
                   CASE WHEN i %% 3 = 0 THEN 'spot' ELSE 'on-demand' END, '', ''
            FROM generate_series(1, %(nodes)s) i;
            INSERT INTO accounting_gpu (id, cluster_id, uuid, is_placeholder, model)
            SELECT i, 1, 'GPU-' || i, false, 'A100' FROM generate_series(1, %(gpus)s) i;
            INSERT INTO accounting_namespace (id, cluster_id, name)
            SELECT i, 1, 'ns-' || i FROM generate_series(1, %(teams)s) i;
            INSERT INTO accounting_workload (id, cluster_id, namespace_id, kind, name, type)
            SELECT i, 1, 1 + i %% %(teams)s, 'Job', 'job-' || i, ''
            FROM generate_series(1, %(gpus)s / 4) i;
            INSERT INTO accounting_pod
                (id, cluster_id, uid, namespace_id, name, workload_id, priority_class,
                 is_inferred, record)
            SELECT i, 1, 'uid-' || i, 1 + (1 + i %% (%(gpus)s / 4)) %% %(teams)s, 'pod-' || i,
                   1 + i %% (%(gpus)s / 4), 'batch', false, '{}'
            FROM generate_series(1, %(gpus)s) i;
            INSERT INTO accounting_podattribution
                (pod_id, team_id, tier, workload_type, valid_from, valid_to)
            SELECT id, namespace_id, 'batch', '', '1970-01-01+00', '9999-01-01+00'
            FROM accounting_pod;
            INSERT INTO accounting_unitprice
                (kind, model, profile, lifecycle, tier, currency, rate_per_gpu_hour,
                 valid_from, source_note)
            VALUES ('rate', 'A100', '', '', '', 'EUR', 2.10, '1970-01-01+00', ''),
                   ('rate', 'A100', '', 'spot', '', 'EUR', 0.90, '1970-01-01+00', ''),
                   ('cost', 'A100', '', '', '', 'EUR', 1.70, '1970-01-01+00', ''),
                   ('cost', 'A100', '', 'spot', '', 'EUR', 0.70, '1970-01-01+00', '');
            ANALYZE
            """,
            {"teams": teams, "gpus": gpus, "nodes": max(1, gpus // 8)},
        )


def window_rows(gpus: int, window: int, seed: int = 1) -> "np.ndarray":
    """The facts of one window: one line for each GPU."""
    random = np.random.default_rng(seed + window)
    rows = np.zeros(gpus, write_facts.ROW)
    rows["cluster_id"] = 1
    start = START + timedelta(milliseconds=window * WINDOW_MS)
    rows["window_start"] = int(start.timestamp() * 1_000_000) - 946_684_800_000_000
    rows["gpu_id"] = rows["pod_id"] = np.arange(1, gpus + 1)
    rows["instance"] = -1
    rows["node_id"] = 1 + np.arange(gpus) // 8
    rows["busy_ms"] = random.integers(0, 300_001, gpus)
    rows["idle_ms"] = 300_000 - rows["busy_ms"]
    rows["metric"] = 1
    rows["samples_expected"] = rows["samples_used"] = 10
    return rows


def load_windows(gpus: int, first: int, count: int) -> None:
    """Write adjoining windows' facts."""
    low = START + timedelta(milliseconds=first * WINDOW_MS)
    end = low + timedelta(milliseconds=count * WINDOW_MS)
    partitions.ensure([partitions.WINDOWS], low, end)
    for window in range(first, first + count):
        write_facts.copy_rows(window_rows(gpus, window))
