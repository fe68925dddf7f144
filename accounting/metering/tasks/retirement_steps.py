"""What the end of a cluster changes in the stored ledger (rules.md N38).

Time after the end is cleared, restored time is recomputed. Each function works in the current
transaction of `metering.tasks.retirement`.
"""

import hashlib
from typing import Any

from django.db import connection

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval, to_instant
from accounting.core.issue_catalogue import OF_WINDOWS
from accounting.kit.locks import lock
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import PodHold
from accounting.metering.rules.holds.retirement import RETIRED
from accounting.metering.tasks.evidence.observe import derive_again
from accounting.metering.tasks.facts import partitions, retention
from accounting.metering.tasks.facts.reasons import FACTS
from accounting.metering.tasks.windows import schedule

NOTHING = hashlib.sha256(b"").digest()  # `facts.Facts.content_hash` of no facts


def cut(cluster_id: int, at_ms: int) -> None:
    """End presences, holds and issues of windows where the cluster ends."""
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "ms": at_ms,
        "at": to_instant(at_ms),
        "codes": sorted(
            OF_WINDOWS | {"source_failed", "source_warning", "target_down"}
        ),
    }
    lock("evidence", cluster_id)
    with connection.cursor() as cursor:
        for statement in _CUT:
            cursor.execute(statement, values)


_CUT = (
    """DELETE FROM accounting_gpupresence p USING accounting_gpu g
       WHERE g.id = p.gpu_id AND g.cluster_id = %(cluster)s AND p.start_ms >= %(ms)s""",
    """UPDATE accounting_gpupresence p SET end_ms = %(ms)s FROM accounting_gpu g
       WHERE g.id = p.gpu_id AND g.cluster_id = %(cluster)s
         AND (p.end_ms IS NULL OR p.end_ms > %(ms)s)""",
    """DELETE FROM accounting_podhold h USING accounting_pod p
       WHERE p.id = h.pod_id AND p.cluster_id = %(cluster)s AND h.bound_ms >= %(ms)s""",
    """UPDATE accounting_podhold h
       SET ended_ms = %(ms)s, booked_until_ms = least(h.booked_until_ms, %(ms)s),
           ended_by = 'retired'
       FROM accounting_pod p
       WHERE p.id = h.pod_id AND p.cluster_id = %(cluster)s
         AND (h.ended_ms IS NULL OR h.ended_ms > %(ms)s)""",
    """UPDATE accounting_dataissue SET resolved_at = clock_timestamp()
       WHERE cluster_id = %(cluster)s AND resolved_at IS NULL AND code = ANY(%(codes)s)
         AND first_seen >= %(at)s""",
)


def empty(cluster_id: int, period: Interval) -> None:
    """Remove the facts and hours of a period; no source is queried.

    An hour whose facts have expired is stored separately as a whole.
    """
    start_ms = -(-period.start_ms // WINDOW_MS) * WINDOW_MS  # windows that are in it
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "start": to_instant(start_ms),
        "end": period.end,
        "hour": to_instant(-(-period.start_ms // HOUR_MS) * HOUR_MS),
        "nothing": NOTHING,
        "reason": FACTS,
    }
    lock("facts", cluster_id)
    with connection.cursor() as cursor:
        for statement in _EMPTY:
            cursor.execute(statement, values)


_HAS_FACTS = """EXISTS (
    SELECT FROM usage_window w
    WHERE w.cluster_id = %(cluster)s AND w.window_start >= {start}
      AND w.window_start < {start} + interval '1 hour')"""
_HOURS = """SELECT DISTINCT hour_start FROM usage_hour
            WHERE cluster_id = %(cluster)s AND hour_start >= date_trunc(
                'hour', %(start)s::timestamptz, 'UTC') AND hour_start < %(end)s"""
_KEPT_ASIDE = {  # table -> column of `accounting_retiredhour`
    "usage_hour": "usage",
    "intensity_hour": "intensity",
    "usage_gpu_hour": "usage_by_gpu",
    "intensity_gpu_hour": "intensity_by_gpu",
}


def _aside(table: str) -> str:
    return f"""(SELECT coalesce(jsonb_agg(to_jsonb(u)), '[]') FROM {table} u
            WHERE u.cluster_id = %(cluster)s AND u.hour_start = h.hour_start)"""


_EMPTY = (
    f"""
    INSERT INTO accounting_retiredhour
        (cluster_id, hour_start, usage, intensity, usage_by_gpu, intensity_by_gpu)
    SELECT %(cluster)s, h.hour_start, {", ".join(map(_aside, _KEPT_ASIDE))}
    FROM ({_HOURS}) h
    WHERE h.hour_start >= %(hour)s AND NOT {_HAS_FACTS.format(start="h.hour_start")}
    ON CONFLICT (cluster_id, hour_start) DO NOTHING
    """,
    f"""
    INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
    SELECT %(cluster)s, h.hour_start, statement_timestamp(), %(reason)s
    FROM ({_HOURS}) h
    WHERE h.hour_start >= %(hour)s OR {_HAS_FACTS.format(start="h.hour_start")}
    ON CONFLICT (cluster_id, hour_start) DO UPDATE
        SET marked_at = excluded.marked_at, reason = excluded.reason
    """,
    """
    UPDATE accounting_ingestwindow w
    SET state = 'done', fence = w.fence + 1, rows = 0, content_hash = %(nothing)s,
        reading_hash = NULL, samples_expected = 0, samples_seen = 0, lease_until = NULL,
        last_error = '', attempts = 0, next_attempt_at = NULL, reason = 'retired'
    WHERE w.cluster_id = %(cluster)s AND w.shard = 0 AND w.content_hash IS NOT NULL
      AND w.window_start >= %(start)s AND w.window_start < %(end)s
      AND EXISTS (SELECT FROM usage_window u
                  WHERE u.cluster_id = w.cluster_id AND u.window_start = w.window_start)
    """,
    """
    DELETE FROM usage_window WHERE cluster_id = %(cluster)s
       AND window_start >= %(start)s AND window_start < %(end)s
    """,
    """
    DELETE FROM intensity_window WHERE cluster_id = %(cluster)s
       AND window_start >= %(start)s AND window_start < %(end)s
    """,
)


def reopen(cluster_id: int) -> None:
    """Forget the ends of holds that the cluster's end gave them: they are derived again.

    Presences are always derived from all evidence.
    """
    ended = PodHold.objects.filter(pod__cluster_id=cluster_id, ended_by=RETIRED)
    ended.update(ended_ms=None, ended_by="")


def bring_back(cluster: Cluster, period: Interval) -> None:
    """Restore the holds, hours and windows of a period that is no longer after the end."""
    values: dict[str, Any] = {
        "cluster": cluster.pk,
        "start": to_instant(period.start_ms - period.start_ms % HOUR_MS),
        "after": to_instant(period.start_ms - WINDOW_MS),
        "end": period.end,
        "kept": database_now() - retention.HOURS_KEPT,
        "nothing": NOTHING,
    }
    derive_again(cluster, period)
    partitions.ensure(partitions.ALL_HOURS, period.start, period.end)
    with connection.cursor() as cursor:
        for statement in _BRING_BACK:
            cursor.execute(statement, values)
    schedule.mark_existing(cluster.pk, [period], "retired")


_ASIDE = """accounting_retiredhour r
    WHERE r.cluster_id = %(cluster)s AND r.hour_start >= %(start)s
      AND r.hour_start < %(end)s"""
_BRING_BACK = (
    *(
        f"""
        INSERT INTO {table}
        SELECT kept.* FROM (SELECT {column} FROM {_ASIDE} AND r.hour_start >= %(kept)s) r
        CROSS JOIN LATERAL jsonb_populate_recordset(NULL::{table}, r.{column}) kept
        WHERE NOT EXISTS (SELECT FROM {table} t WHERE t.cluster_id = kept.cluster_id
                          AND t.hour_start = kept.hour_start)
        """
        for table, column in _KEPT_ASIDE.items()
    ),
    f"""
    INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
    SELECT r.cluster_id, r.hour_start, statement_timestamp(), 'price'
    FROM {_ASIDE} AND r.hour_start >= %(kept)s
    ON CONFLICT (cluster_id, hour_start) DO UPDATE
        SET marked_at = excluded.marked_at, reason = excluded.reason
    """,
    f"DELETE FROM {_ASIDE}",
    """
    UPDATE accounting_ingestwindow SET state = 'pending', fence = fence + 1,
        reason = 'retired', next_attempt_at = NULL, reading_hash = NULL
    WHERE cluster_id = %(cluster)s AND shard = 0 AND content_hash = %(nothing)s
      AND window_start > %(after)s AND window_start < %(end)s
    """,
)
