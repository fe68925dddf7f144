"""The end of a cluster: set, changed or cleared, and its effects (rules.md N38).

`retire` only stores the new end, so that the page responds at once. `work_off` applies it, a day
at a time, each in one transaction that also stores the progress: it may be stopped at any point
and continued by any worker. Time after the end is cleared without querying a source; restored time
is recomputed. Hours whose facts have expired are stored separately, because they cannot be
recomputed.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import Any

from django.db import connection, transaction

from accounting.audit import Actor, act
from accounting.domain.core.interval import (
    DAY_MS,
    FAR_MS,
    HOUR_MS,
    WINDOW_MS,
    Interval,
    to_instant,
    to_ms,
    window_of,
)
from accounting.domain.core.issue_catalogue import OF_WINDOWS
from accounting.failpoints import reach
from accounting.ingest.evidence.observe import derive_again
from accounting.ingest.facts import partitions, retention
from accounting.ingest.facts.rollup import FACTS
from accounting.ingest.windows import schedule
from accounting.locks import lock
from accounting.models import Cluster, PendingRetirement
from accounting.queries.data_health.retirement import retired_ms, stored
from accounting.queries.database_clock import database_now

Progress = Callable[[int, int], None]  # days done, total

NOTHING = hashlib.sha256(b"").digest()  # `facts.Facts.content_hash` of no facts


class RetirementError(ValueError):
    """A cluster cannot end at that time; the message explains why and what to choose."""


def retire(cluster: Cluster, at: datetime | None, *, actor: Actor, reason: str) -> bool:
    """Set the end of a cluster, or clear it (`at` None); True if that changes it.

    All presence and holds end there. `work_off` applies the change.

    Raises:
        RetirementError: the facts or samples of that time are gone, and it is not on a boundary.
    """
    with act(actor, reason):
        row = Cluster.objects.select_for_update().get(pk=cluster.pk)
        old = row.retired_at
        if old == at:
            return False
        if at is not None:
            _check(row.pk, at)
        row.retired_at = cluster.retired_at = at
        row.save(update_fields=["retired_at"])
        _keep_pending(row.pk, old, at)
    return True


def _check(cluster_id: int, at: datetime) -> None:
    """Reject a time inside an hour that can no longer be divided."""
    shown = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    at_ms = to_ms(at)
    if stored(cluster_id).has_expired(at) and at_ms % HOUR_MS:
        raise RetirementError(
            f"{shown}: the five-minute data of that time has expired, so the end must align to "
            f"an hour: {to_instant(at_ms - at_ms % HOUR_MS):%Y-%m-%dT%H:%MZ}"
        )
    if at_ms % WINDOW_MS and not schedule.is_at_hand(cluster_id, window_of(at_ms)):
        raise RetirementError(
            f"{shown}: the samples of that time are deleted, so the end must align to a "
            f"five-minute boundary: {window_of(at_ms).start:%Y-%m-%dT%H:%MZ}"
        )


def _keep_pending(cluster_id: int, old: datetime | None, new: datetime | None) -> None:
    end = stored(cluster_id).end
    if end is None:
        return
    first_ms = min(to_ms(at) for at in (old, new) if at is not None)
    first_ms -= first_ms % WINDOW_MS
    if first_ms >= to_ms(end):
        return
    changed = Interval(first_ms, to_ms(end))
    row, is_new = PendingRetirement.objects.get_or_create(
        cluster_id=cluster_id,
        defaults={"start_ms": changed.start_ms, "end_ms": changed.end_ms},
    )
    if not is_new:
        row.start_ms = min(row.start_ms, changed.start_ms)
        row.end_ms = max(row.end_ms, changed.end_ms)
        row.save()


def work_off(
    cluster: Cluster,
    *,
    for_s: float = float("inf"),
    on_progress: Progress | None = None,
) -> Interval | None:
    """Apply the change of a cluster's end.

    Days, newest first, until none is left or `for_s` seconds have passed; the next call
    continues.

    Returns:
        The processed time; None if nothing was to be done.
    """
    until = monotonic() + for_s
    done: list[Interval] = []
    while (step := _next_day(cluster)) is not None:
        day, left = step
        done.append(day)
        reach("retired_day")
        if on_progress is not None:
            on_progress(len(done), len(done) + left)
        if monotonic() >= until:
            break
    return Interval(done[-1].start_ms, done[0].end_ms) if done else None


def _next_day(cluster: Cluster) -> tuple[Interval, int] | None:
    """Process the newest remaining day; returns it and the number of remaining days."""
    with transaction.atomic():
        waiting = PendingRetirement.objects.select_for_update(skip_locked=True)
        row = waiting.filter(cluster=cluster).first()
        if row is None:
            return None
        day = Interval(_start_of_step(cluster.pk, row), row.end_ms)
        left_ms = day.start_ms - row.start_ms
        if left_ms:
            row.end_ms = day.start_ms
            row.save()
        else:
            row.delete()
        end_ms = retired_ms(cluster.pk)  # the progress after this day
        end_ms = FAR_MS if end_ms is None else end_ms
        if day.start_ms < end_ms:
            _bring_back(cluster, Interval(day.start_ms, min(day.end_ms, end_ms)))
        if end_ms < day.end_ms:
            _cut(cluster.pk, end_ms)
            _empty(cluster.pk, Interval(max(day.start_ms, end_ms), day.end_ms))
        reach("retiring_day")
        return day, -(-left_ms // DAY_MS)


def _start_of_step(cluster_id: int, row: PendingRetirement) -> int:
    """A day back; all remaining time if it is removed and no hour of it is stored."""
    first = stored(cluster_id).first_hour
    at = row.cluster.retired_at
    goes_away = at is not None and to_ms(at) <= row.start_ms + WINDOW_MS
    if goes_away and (first is None or row.end_ms <= to_ms(first)):
        return row.start_ms
    return max(row.start_ms, (row.end_ms - 1) // DAY_MS * DAY_MS)


def _cut(cluster_id: int, at_ms: int) -> None:
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


def _empty(cluster_id: int, period: Interval) -> None:
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


def _bring_back(cluster: Cluster, period: Interval) -> None:
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
