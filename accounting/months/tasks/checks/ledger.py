"""Checks of a close that read the ledger of time: windows, hours, coverage, conservation."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Count

from accounting.core.billing_calendar import DayRange
from accounting.core.interval import Interval, to_ms
from accounting.metering.reads.data_health.missing_gpus import (
    never_sampled,
    without_gpus,
)
from accounting.metering.sql.states_sql import held, wall
from accounting.months.models.contest import Contest, ContestState
from accounting.months.models.entry import Entry
from accounting.months.reads.invariants.day_checks import UNLIKE_FACTS, bounds
from accounting.months.reads.revisions import in_effect
from accounting.months.rules.close_checks import Cause
from accounting.months.tasks.periods import PeriodTerms, next_period, next_to_close

Causes = Mapping[str, Sequence[Cause]]


def usage_causes(terms: PeriodTerms, *, reads_facts: bool) -> Causes:
    """What the checks that read the usage of the period found, by code.

    Args:
        terms: of the period.
        reads_facts: whether days are compared with their five-minute facts, too. It takes seconds
            for thousands of GPUs.
    """
    values = _values(terms)
    unbalanced = _listed(_UNBALANCED, values)
    if reads_facts:
        unbalanced += _listed(_UNLIKE_FACTS, values)
    return {
        "conservation": unbalanced,
        **_shares(values),
        **_missing(Interval(to_ms(terms.starts_at), to_ms(terms.ends_at))),
    }


def state_causes(terms: PeriodTerms, now: datetime) -> Causes:
    """What the checks of time, work to do, contests and entries found: they read few rows.

    After usage: facts that change meanwhile are in the hours.
    """
    values = {"start": terms.starts_at, "end": terms.ends_at, "now": now}
    return {
        **timing(terms, now),
        "windows": _listed(_WINDOWS, values),
        "hours": _listed(_DIRTY, values),
        "contests": _contests(terms.name),
        "entries": _entries(terms),
    }


def timing(terms: PeriodTerms, now: datetime) -> Causes:
    """The checks that need neither usage nor prices."""
    return {
        "over": [Cause(terms.name, _hours(terms.ends_at - now))],
        "settled": [Cause(terms.name, _hours(now - terms.ends_at))],
        "order": _order(terms.name),
    }


def _values(terms: PeriodTerms) -> dict[str, Any]:
    return {
        "start": terms.starts_at,
        "end": terms.ends_at,
        "first": terms.first,
        "after": terms.after,
        **bounds(DayRange(terms.first, terms.after).each()),
    }


def _hours(span: timedelta) -> Decimal:
    return Decimal(span // timedelta(milliseconds=1)) / 3_600_000


def _order(period: str) -> list[Cause]:
    """Months that must be closed before it; a closed month itself has none."""
    following, booked = next_to_close(), in_effect(period)
    is_closed = booked is not None and booked.is_closed
    if following is None or following == period or is_closed:
        return []
    if period < following:
        return [Cause("no month: later months are closed", Decimal(1))]
    found = []
    while following < period:
        found.append(Cause(following, Decimal(1)))
        following = next_period(following)
    return found


def _contests(period: str) -> list[Cause]:
    """Open contests of this month and earlier ones, whose entries would be booked here (M34)."""
    found = Contest.objects.filter(state=ContestState.OPEN, period__lte=period)
    counted = found.values_list("team__slug").annotate(Count("pk"))
    return [Cause(team, Decimal(number)) for team, number in counted.order_by("team")]


def _entries(terms: PeriodTerms) -> list[Cause]:
    """Entries of the months that the first close leaves out: they can never be closed (M28)."""
    if next_to_close() is not None:
        return []
    found = Entry.objects.filter(billing_on__lt=terms.first).order_by("pk")
    return [
        Cause(
            f"{one.number} ({one.billing_on}, {one.amount.normalize():f})", Decimal(1)
        )
        for one in found
    ]


def _listed(query: str, values: Mapping[str, Any]) -> list[Cause]:
    with connection.cursor() as cursor:
        cursor.execute(query, dict(values))
        return [Cause(subject, Decimal(value)) for subject, value in cursor.fetchall()]


# Windows of a live cluster that have ended and were not even made: the worker is behind.
_WINDOWS = """
    WITH waiting AS (
        SELECT cluster_id, count(*) AS windows FROM accounting_ingestwindow
        WHERE shard = 0 AND state IN ('pending', 'claimed', 'partial', 'failed')
          AND window_start >= %(start)s AND window_start < %(end)s
        GROUP BY cluster_id
    ), behind AS (
        SELECT c.id AS cluster_id,
               ceil(extract(epoch FROM least(%(end)s, c.retired_at,
                        date_bin('5 minutes', %(now)s, timestamptz 'epoch'))
                    - greatest(n.at + interval '5 minutes', %(start)s)) / 300)::bigint AS windows
        FROM accounting_cluster c CROSS JOIN LATERAL (
            SELECT window_start AS at FROM accounting_ingestwindow w
            WHERE w.cluster_id = c.id AND w.shard = 0 ORDER BY window_start DESC LIMIT 1
        ) n
        WHERE EXISTS (SELECT FROM accounting_source s
                      WHERE s.cluster_id = c.id AND s.is_active AND s.kind <> 'openmetrics')
    )
    SELECT c.name, sum(x.windows)
    FROM (SELECT * FROM waiting UNION ALL SELECT * FROM behind WHERE windows > 0) x
    JOIN accounting_cluster c ON c.id = x.cluster_id
    GROUP BY c.name
"""
_DIRTY = """
    SELECT c.name, count(*) FROM accounting_dirtyhour d
    JOIN accounting_cluster c ON c.id = d.cluster_id
    WHERE d.hour_start > %(start)s - interval '1 hour' AND d.hour_start < %(end)s
    GROUP BY c.name
"""
# Presence of GPUs against the rollup, by cluster and day. Not of days with a window that is not
# computed, nor of the day of a cluster's newest window: its GPUs may be sampled up to a part of
# that window.
_UNBALANCED = f"""
    WITH day AS (
        SELECT * FROM unnest(%(days)s::date[], %(lows)s::bigint[], %(highs)s::bigint[])
            AS d(billing_on, low, high)
    ), newest AS (
        SELECT cluster_id, max(window_start) AS at FROM accounting_ingestwindow
        WHERE shard = 0 AND rows > 0 GROUP BY cluster_id
    ), window_ms AS (
        SELECT cluster_id, state, rows,
               (extract(epoch FROM window_start) * 1000)::bigint AS low
        FROM accounting_ingestwindow
        WHERE shard = 0 AND window_start >= %(start)s AND window_start < %(end)s
    ), whole AS (
        SELECT w.cluster_id, d.billing_on,
               range_agg(int8range(w.low, w.low + 300000)) FILTER (WHERE w.rows > 0) AS spans
        FROM window_ms w
        JOIN day d ON w.low >= d.low AND w.low < d.high
        JOIN newest n ON n.cluster_id = w.cluster_id
        WHERE d.high <= (extract(epoch FROM n.at) * 1000)::bigint
        GROUP BY w.cluster_id, d.billing_on
        HAVING bool_and(w.state IN ('done', 'partial'))
    ), span AS (
        SELECT cluster_id, billing_on, lower(s) AS low, upper(s) AS high
        FROM whole CROSS JOIN LATERAL unnest(spans) s
    ), present AS (
        SELECT s.cluster_id, s.billing_on,
               sum(least(s.high, coalesce(p.end_ms, s.high)) - greatest(s.low, p.start_ms)) AS ms
        FROM span s
        JOIN accounting_gpu g ON g.cluster_id = s.cluster_id
        JOIN accounting_gpupresence p ON p.gpu_id = g.id
            AND p.start_ms < s.high AND (p.end_ms IS NULL OR p.end_ms > s.low)
        GROUP BY s.cluster_id, s.billing_on
    ), booked AS (
        SELECT cluster_id, billing_on, sum({wall()}) AS ms FROM usage_day
        WHERE billing_on >= %(first)s AND billing_on < %(after)s
        GROUP BY cluster_id, billing_on
    )
    SELECT c.name || ' ' || w.billing_on || ' (time)', 1
    FROM whole w
    JOIN accounting_cluster c ON c.id = w.cluster_id
    LEFT JOIN present p USING (cluster_id, billing_on)
    LEFT JOIN booked b USING (cluster_id, billing_on)
    WHERE coalesce(b.ms, 0) <> coalesce(p.ms, 0)
"""
_UNLIKE_FACTS = f"SELECT subject || ' (facts)', 1 FROM ({UNLIKE_FACTS}) unlike"
_TIMES = f"""
    SELECT c.name, coalesce(t.slug, ''), sum(d.busy_ms + d.idle_ms), sum({held("d")}),
           sum({wall("d")}), sum(d.dark_ms), sum(d.estimated_ms)
    FROM usage_day d
    JOIN accounting_cluster c ON c.id = d.cluster_id
    LEFT JOIN accounting_team t ON t.id = d.team_id
    WHERE d.billing_on >= %(first)s AND d.billing_on < %(after)s
    GROUP BY c.name, coalesce(t.slug, '')
"""


def _shares(values: Mapping[str, Any]) -> Causes:
    with connection.cursor() as cursor:
        cursor.execute(_TIMES, dict(values))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    observed: dict[tuple[str, str], list[int]] = {}
    for cluster, team, seen, held_ms, *_ in rows:
        for key in (("cluster", cluster), ("team", team)):
            sums = observed.setdefault(key, [0, 0])
            sums[0] += seen
            sums[1] += held_ms
    held_ms, wall_ms, dark_ms, estimated_ms = (
        int(sum(row[number] for row in rows)) for number in (3, 4, 5, 6)
    )
    return {
        "coverage": _coverages(observed, "cluster"),
        "team_coverage": _coverages(observed, "team"),
        "dark": _share(dark_ms, wall_ms),
        "estimated": _share(estimated_ms, held_ms),
    }


def _missing(period: Interval) -> Causes:
    """Nodes without the GPUs that pods held, or with GPUs that no sample ever named."""
    found = {
        "without_gpus": without_gpus(period),
        "never_sampled": never_sampled(period),
    }
    return {
        code: [Cause(f"{one.cluster}/{one.node}", Decimal(one.ms)) for one in nodes]
        for code, nodes in found.items()
    }


def _coverages(
    observed: Mapping[tuple[str, str], Sequence[int]], kind: str
) -> list[Cause]:
    return [
        Cause(name, Decimal(seen) / held_ms)
        for (of, name), (seen, held_ms) in observed.items()
        if of == kind and held_ms and name
    ]


def _share(part: int, whole: int) -> list[Cause]:
    return [Cause("all clusters", Decimal(part) / whole)] if whole else []
