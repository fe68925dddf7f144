"""What workloads used of whole GPUs over seven days, and their time on a day (S33)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.db import connection, transaction

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod
from accounting.metering.sql.states_sql import held
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.past_waits import holds_on
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.pieces import outside
from scheduler_view.savings.rules.sizing.right_size import COVERED, SizedTime, UsedSize

SIZED_DAYS = timedelta(days=7)
IDLE = tuple(
    rule.value
    for rule in (
        *(WasteRule.NEVER_BUSY, WasteRule.TAIL),
        *(WasteRule.IDLE, WasteRule.IDLE_GPUS),
    )
)
"""Findings that explain low use: release, and no smaller size."""

# Shares are cut to nine places, so that exactly two of seven slices are not three.
_USED = f"""
    WITH pods AS (
        SELECT h.pod_id, p.workload_id
        FROM accounting_podhold h JOIN accounting_pod p ON p.id = h.pod_id
        WHERE p.cluster_id = %(cluster)s AND p.workload_id IS NOT NULL
          AND h.bound_ms < %(end_ms)s
          AND (h.ended_ms IS NULL OR h.ended_ms > %(first_ms)s)
        GROUP BY h.pod_id, p.workload_id
        HAVING bool_and(h.share_numerator = h.share_denominator AND NOT h.is_inferred)
    ), held AS (
        SELECT p.workload_id, u.pod_id, u.window_start, count(*) AS gpus,
               min(g.model) AS model, max(g.model) AS other_model,
               sum(u.busy_ms) AS busy, sum(u.busy_ms + u.idle_ms) AS known,
               sum({held("u")}) AS held,
               count(*) FILTER (WHERE u.unknown_ms > 0
                   OR u.busy_ms * 100 >= 5 * (u.busy_ms + u.idle_ms)) AS in_use,
               bool_or(u.instance <> -1) AS is_divided,
               max(i.memory_peak_bytes) AS peak, bool_and(i.memory_peak_bytes > 0) AS has_peak
        FROM pods p
        JOIN usage_window u ON u.pod_id = p.pod_id AND u.cluster_id = %(cluster)s
            AND u.window_start >= %(first)s AND u.window_start < %(end)s
        JOIN accounting_gpu g ON g.id = u.gpu_id
        LEFT JOIN intensity_window i ON i.cluster_id = %(cluster)s
            AND i.window_start >= %(first)s AND i.window_start < %(end)s
            AND i.window_start = u.window_start AND i.gpu_id = u.gpu_id
            AND i.instance = u.instance AND i.pod_id = u.pod_id AND i.node_id = u.node_id
        GROUP BY p.workload_id, u.pod_id, u.window_start
    ), idle AS (
        SELECT f.pod_id, range_agg(int8range(f.start_ms, f.end_ms)) AS spans
        FROM scheduler_view_wastefinding f
        WHERE f.cluster_id = %(cluster)s AND f.rule = ANY(%(idle)s)
          AND f.start_ms < %(end_ms)s AND f.end_ms > %(first_ms)s
        GROUP BY f.pod_id
    ), marked AS (
        SELECT h.*, i.spans IS NOT NULL AND i.spans
                   @> (extract(epoch FROM h.window_start) * 1000)::bigint AS is_idle
        FROM held h LEFT JOIN idle i USING (pod_id)
    )
    SELECT workload_id, CASE WHEN min(model) = max(other_model) THEN min(model) ELSE '' END,
           min(gpus)::int, sum(known)::bigint, sum(held)::bigint,
           percentile_disc(0.95) WITHIN GROUP (ORDER BY trunc(busy / known, 9))
               FILTER (WHERE NOT is_idle AND known > 0),
           max(trunc(busy / known, 9)) FILTER (WHERE NOT is_idle AND known > 0),
           max(peak), avg(coalesce(has_peak, false)::int),
           percentile_disc(0.99) WITHIN GROUP (ORDER BY in_use) FILTER (WHERE NOT is_idle),
           max(in_use) FILTER (WHERE NOT is_idle)
    FROM marked
    GROUP BY workload_id
    HAVING min(gpus) = max(gpus) AND NOT bool_or(is_divided)
       AND max(window_start) >= %(start)s
       AND count(*) FILTER (WHERE NOT is_idle AND known > 0) > 0
    ORDER BY workload_id
"""  # noqa: S608  # composed of constants
_SETTINGS = {
    "enable_nestloop": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "work_mem": "'128MB'",
}


def used_sizes(cluster: Cluster, start: datetime, end: datetime) -> Iterator[UsedSize]:
    """Workloads that held whole GPUs on the day [start, end), over the seven days to its end."""
    first = end - SIZED_DAYS
    values: dict[str, Any] = {
        "cluster": cluster.pk,
        "first": first,
        "start": start,
        "end": end,
        "first_ms": to_ms(first),
        "end_ms": to_ms(end),
        "idle": list(IDLE),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        # Facts that were just written have no statistics yet: the planner expects one row of each
        # table, and reads or compares all facts again for each pod. Joined by hashes of all keys,
        # they are read once, whatever it expects.
        for setting, value in _SETTINGS.items():
            cursor.execute(f"SET LOCAL {setting} = {value}")
        cursor.execute(_USED, values)
        rows = cursor.fetchall()
        for setting in _SETTINGS:  # in a larger transaction
            cursor.execute(f"SET LOCAL {setting} TO DEFAULT")
    for (
        workload,
        model,
        gpus,
        known,
        held_ms,
        p95,
        most,
        peak,
        seen,
        p99,
        in_use,
    ) in rows:
        yield UsedSize(
            workload,
            model,
            gpus,
            known,
            held_ms,
            Fraction(p95),
            Fraction(most),
            int(peak) if peak and Fraction(seen) >= COVERED else None,
            p99,
            in_use,
        )


def sized_times(
    cluster: Cluster, day: date, workloads: Collection[int]
) -> Mapping[int, list[SizedTime]]:
    """Observed time of workloads on a billing day outside of idle findings, by price."""
    found = Pod.objects.filter(cluster=cluster, workload__in=workloads)
    workload_of = dict(found.values_list("pk", "workload_id"))
    holds = holds_on(cluster, day, workload_of)
    idle: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for pod, start, end in WasteFinding.objects.filter(
        pod__in=holds, rule__in=IDLE, day=day
    ).values_list("pod_id", "start_ms", "end_ms"):
        idle[pod].add((start, end))
    sums: dict[int, dict[tuple[int, Decimal | None, str], int]] = {}
    for pod, hold in holds.items():
        of_work = sums.setdefault(workload_of[pod] or 0, {})
        for run in outside(hold, sorted(idle[pod])):
            key = run.team, run.rate, run.currency
            of_work[key] = of_work.get(key, 0) + run.times.observed_ms
    return {
        work: [
            SizedTime(day.toordinal(), team, gpu_ms, rate, currency)
            for (team, rate, currency), gpu_ms in own.items()
            if gpu_ms
        ]
        for work, own in sums.items()
    }
