"""How busy pods that hold GPUs were in the last hours, from the facts of the ledger."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db import connection

from accounting.core.interval import WINDOW_MS
from scheduler_view.waits.rules.activity import EPISODE_MS, IDLE_BELOW_PERCENT
from scheduler_view.waits.rules.world.world import HoldFacts

LOOK_BACK = timedelta(hours=6)  # who is idle for longer is idle since then
HOUR = timedelta(hours=1)


class HeldActivity(Mapping[str, HoldFacts]):
    """As `held_activity`, read on first use: only who holds what is waited for is.

    Six hours of facts of 5,000 GPUs take 0.3 s.
    """

    def __init__(self, cluster_id: int, now: datetime) -> None:
        self._cluster_id, self._now = cluster_id, now

    @cached_property
    def _found(self) -> Mapping[str, HoldFacts]:
        return held_activity(self._cluster_id, self._now)

    def __getitem__(self, uid: str) -> HoldFacts:
        return self._found[uid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def held_activity(cluster_id: int, now: datetime) -> Mapping[str, HoldFacts]:
    """Busy time of the last hour, and since when it is idle, by uid of a pod.

    Idle as in scheduling.md S28: windows with less than 5% of busy time, for half an hour or
    longer. A window that was not observed does not count as idle.
    """
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "hour": now - HOUR,
        "start": now - LOOK_BACK,
        "percent": IDLE_BELOW_PERCENT,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVITY, values)
        rows: list[tuple[str, int, int, int]] = cursor.fetchall()
    return {
        uid: HoldFacts(
            int(busy_ms),
            idle_ms if end_ms - idle_ms >= EPISODE_MS else None,
        )
        for uid, busy_ms, idle_ms, last_ms in rows
        for end_ms in (last_ms + WINDOW_MS,)
    }


_ACTIVITY = """
    WITH windows AS (
        SELECT pod_id, window_start, sum(busy_ms) AS busy, sum(idle_ms) AS idle,
               sum(unknown_ms) AS unknown
        FROM usage_window
        WHERE cluster_id = %(cluster)s AND window_start >= %(start)s AND pod_id > 0
        GROUP BY pod_id, window_start
    ), judged AS (
        SELECT *, busy * 100 < (busy + idle) * %(percent)s
                  AND unknown <= busy + idle AS is_idle
        FROM windows
    )
    SELECT p.uid, coalesce(sum(busy) FILTER (WHERE window_start >= %(hour)s), 0)::bigint,
           (1000 * extract(epoch FROM coalesce(
               max(window_start) FILTER (WHERE NOT is_idle) + interval '5 minutes',
               min(window_start))))::bigint,
           (1000 * extract(epoch FROM max(window_start)))::bigint
    FROM judged JOIN accounting_pod p ON p.id = judged.pod_id
    GROUP BY p.uid
"""
