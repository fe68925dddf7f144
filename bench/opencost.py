"""P27: OpenCost's own question: usage by namespace of 1, 7 and 30 days, with a closed month.

1,000 GPUs, 50,000 pods in 30 days in 7 namespaces. OpenCost took 1.2, 8.2 and 36 s on another
day: it is not part of this run. SQL fills the rollups, the product closes the month, and
the answers are compared with sums of the rows that were written.
"""

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import override_settings

from accounting.metering.tasks.facts import partitions
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from bench import cluster
from bench.closing import thaw
from bench.gpu_pages import as_server, finance
from bench.measure import Figure
from tests.answers.frozen import clocks_stopped

GPUS, PODS, NAMESPACES, DAYS = 1_000, 50_000, 7, 30
FIRST = date(2026, 10, 22)  # ten days of the closed October, twenty of November
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
OPENCOST_S = {1: 1.2, 7: 8.2, 30: 36.0}
LIMITS_MS = {1: 12.0, 7: 24.0, 30: 36.0}
ROUNDS = 40

_FILL = f"""
    INSERT INTO accounting_workload (id, cluster_id, namespace_id, kind, name, type, family)
    SELECT 2000000 + i, 1, 1 + i %% {NAMESPACES}, 'Pod', 'pod-' || i, '', 'pod'
    FROM generate_series(0, {PODS} - 1) i;
    INSERT INTO usage_hour
        (cluster_id, hour_start, billing_on, namespace_id, team_id, workload_id, model, lifecycle,
         tier, price_id, gpu_price_id, rate, cost, gpu_rate, gpu_cost, currency, busy_ms, idle_ms)
    SELECT 1, at, (at AT TIME ZONE 'Europe/Berlin')::date, 1 + i %% {NAMESPACES},
           1 + i %% {NAMESPACES}, 2000000 + i, 'A100', 'on-demand', 'batch', p.id, p.id,
           2.10, 1.70, 2.10, 1.70, 'EUR', 2000000 + i %% 97, 700000
    FROM (SELECT min(id) AS id FROM accounting_unitprice WHERE lifecycle = '') p,
         generate_series(0, {PODS} - 1) i,
         generate_series(0, 13) h,
         LATERAL (SELECT date '{FIRST}'::timestamp AT TIME ZONE 'Europe/Berlin'
                      + (i::bigint * ({DAYS} * 24 - 14) / {PODS} + h) * interval '1 hour' AS at) t;
    INSERT INTO usage_day
        (cluster_id, billing_on, namespace_id, team_id, workload_id, model, lifecycle, tier,
         price_id, gpu_price_id, rate, cost, gpu_rate, gpu_cost, currency, busy_ms, idle_ms)
    SELECT cluster_id, billing_on, namespace_id, team_id, workload_id, model, lifecycle, tier,
           price_id, gpu_price_id, rate, cost, gpu_rate, gpu_cost, currency, sum(busy_ms),
           sum(idle_ms)
    FROM usage_hour
    GROUP BY cluster_id, billing_on, namespace_id, team_id, workload_id, model, lifecycle, tier,
             price_id, gpu_price_id, rate, cost, gpu_rate, gpu_cost, currency;
    ANALYZE
"""
_EXPECTED = """
    SELECT 'ns-' || namespace_id, sum(busy_ms + idle_ms)::bigint FROM usage_hour
    WHERE billing_on >= %s AND billing_on < %s GROUP BY namespace_id
"""


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures of this module, if none is named or P27 is."""
    if wanted and "P27" not in wanted:
        return
    _fill()
    with (
        clocks_stopped(NOW),
        override_settings(ALLOWED_HOSTS=["testserver"]),
        as_server(),
    ):
        client = finance("opencost")
        for days, limit in LIMITS_MS.items():
            taken = _taken(client, days)
            ms = statistics.median(taken) * 1000
            yield Figure(
                "P27",
                f"usage by namespace of {days} days, {PODS:,} pods, closed month",
                ms,
                limit,
                "ms",
                at_most=True,
                detail={
                    "p95": statistics.quantiles(taken, n=20)[-1] * 1000,
                    "times_faster_than_opencost": OPENCOST_S[days] * 1000 / ms,
                },
            )


def _fill() -> None:
    thaw()
    cluster.reset()
    cluster.make(GPUS, NAMESPACES)
    start = datetime(2026, 10, 20, tzinfo=UTC)
    partitions.ensure((*partitions.ALL_HOURS, *partitions.ALL_DAYS), start, NOW)
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {})
    close_period("2026-10", now=NOW)
    book_running("2026-11", now=NOW)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE charge_line, running_line")


def _taken(client: Client, days: int) -> list[float]:
    """Seconds of each round; a range of one day is in the closed month."""
    first = FIRST if days > 7 else date(2026, 11, 1) - timedelta(days=(days + 1) // 2)
    after = first + timedelta(days=days)
    at = f"/api/v1/usage?by=namespace&from={first}&to={after}"
    answer: Any = client.get(at)
    told = {
        row["namespace"]: row["busy_ms"] + row["idle_ms"]
        for row in answer.json()["rows"]
    }
    with connection.cursor() as cursor:
        cursor.execute(_EXPECTED, [first, after])
        assert told == dict(cursor.fetchall()), "usage is not the sum of its rows"
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        client.get(at)
        seconds.append(time.perf_counter() - began)
    return seconds
