"""The first busy window of work, where all time since its start was observed (scheduling.md S3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster

FACTS_READ = timedelta(hours=2)  # windows that an observation reads
AGAIN_WITHIN = timedelta(hours=1)  # so that no window is missed, and none computed late
WRITTEN_AFTER = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class BusyPods:
    """The windows of pods in the last two hours.

    Attributes:
        found: by uid: the first busy window, and those of which most was not observed.
    """

    now: datetime
    found: Mapping[str, tuple[datetime | None, Sequence[datetime]]]

    def first(
        self, uids: Sequence[str], started_ms: int, quiet_until: datetime | None
    ) -> tuple[int | None, datetime | None]:
        """When a unit was first busy, and up to when it is known that it was not.

        Neither is known if a part of the time since its start was not observed.

        Args:
            uids: its pods.
            quiet_until: what the last observation knew.
        """
        is_whole = started_ms >= to_ms(self.now - FACTS_READ) or (
            quiet_until is not None and quiet_until >= self.now - AGAIN_WITHIN
        )
        if not is_whole:
            return None, None
        of_unit = [self.found[uid] for uid in uids if uid in self.found]
        busy = min((one for one, _ in of_unit if one is not None), default=None)
        dark = min(
            (at for _, all_ in of_unit for at in all_ if to_ms(at) >= started_ms),
            default=None,
        )
        if dark is not None and (busy is None or dark < busy):
            return None, None
        if busy is not None:
            return max(to_ms(busy), started_ms), None
        is_fresh = quiet_until and self.now - quiet_until < WRITTEN_AFTER
        return None, quiet_until if is_fresh else self.now


def busy_pods(cluster: Cluster, uids: Sequence[str], now: datetime) -> BusyPods:
    """Read the windows of pods."""
    if not uids:
        return BusyPods(now, {})
    with connection.cursor() as cursor:
        cursor.execute(_WINDOWS, [cluster.pk, now - FACTS_READ, list(uids)])
        return BusyPods(
            now, {uid: (busy, dark) for uid, busy, dark in cursor.fetchall()}
        )


_WINDOWS = """
    SELECT p.uid, min(w.window_start) FILTER (WHERE w.busy_ms > 0),
           coalesce(array_agg(w.window_start)
               FILTER (WHERE w.unknown_ms > w.busy_ms + w.idle_ms), '{}')
    FROM usage_window w JOIN accounting_pod p ON p.id = w.pod_id
    WHERE w.cluster_id = %s AND w.window_start >= %s
      AND p.uid = ANY(%s)
    GROUP BY p.uid
"""
