"""How much of each billing day was read and observed, from the window ledger."""

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from django.db import connection

from accounting.core.billing_calendar import DayRange
from accounting.core.interval import WINDOW_MS, Interval, to_ms
from accounting.core.read_once import read_once

# The window in which a cluster's live data began has a rest of what files have, and a part of
# what its scrapes expect.
_QUERY = """
    SELECT (w.window_start AT TIME ZONE %(zone)s)::date AS day,
           count(DISTINCT w.window_start) FILTER (WHERE w.rows > 0),
           coalesce(sum(w.samples_expected) FILTER (WHERE w.is_whole), 0),
           coalesce(sum(w.samples_seen) FILTER (WHERE w.is_whole), 0),
           count(*) FILTER (WHERE w.state IN ('pending', 'claimed', 'failed'))
    FROM (
        SELECT w.*, (w.cluster_id, w.window_start) NOT IN (
            SELECT j.cluster_id,
                   date_bin('5 minutes', to_timestamp(j.first_live_ms / 1000.0), 'epoch')
            FROM accounting_kubejob j WHERE j.first_live_ms IS NOT NULL) AS is_whole
        FROM accounting_ingestwindow w
    ) w JOIN accounting_cluster c ON c.id = w.cluster_id
    WHERE w.shard = 0 AND w.window_start >= %(start)s AND w.window_start < %(end)s
      AND (%(cluster)s = '' OR c.name = %(cluster)s)
    GROUP BY day
"""


@dataclass(frozen=True, slots=True)
class DayCoverage:
    """One billing day: windows with facts, samples, windows that are not done.

    Samples are without those of the window in which live data began.
    """

    day: date
    windows: int
    samples_expected: int
    samples_seen: int
    waiting: int

    @property
    def ratio(self) -> float | None:
        """Used / expected samples; None if nothing was read."""
        if not self.windows or not self.samples_expected:
            return None
        return min(self.samples_seen / self.samples_expected, 1.0)


def day_coverage(
    days: DayRange, zone: ZoneInfo, cluster: str = ""
) -> dict[date, DayCoverage]:
    """Each day of a range, including days without windows; one query."""
    period = days.period(zone)
    with connection.cursor() as cursor:
        cursor.execute(
            _QUERY,
            {
                "zone": zone.key,
                "start": period.start,
                "end": period.end,
                "cluster": cluster,
            },
        )
        found = {row[0]: DayCoverage(*row) for row in cursor.fetchall()}
    return {day: found.get(day, DayCoverage(day, 0, 0, 0, 0)) for day in days.each()}


@read_once
def hours_with_data(period: Interval, cluster: str = "") -> set[int]:
    """The UTC hours of a period in which any window has facts, as their start in ms."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT date_bin('1 hour', w.window_start, 'epoch')
            FROM accounting_ingestwindow w JOIN accounting_cluster c ON c.id = w.cluster_id
            WHERE w.shard = 0 AND w.rows > 0
              AND w.window_start >= %(start)s AND w.window_start < %(end)s
              AND (%(cluster)s = '' OR c.name = %(cluster)s)
            """,
            {"start": period.start, "end": period.end, "cluster": cluster},
        )
        return {to_ms(row[0]) for row in cursor.fetchall()}


def missing_days(
    coverage: dict[date, DayCoverage], since: date | None, until: date | None
) -> list[date]:
    """Days without data between the first and the last day with data."""
    if since is None or until is None:
        return []
    return [
        d for d, c in sorted(coverage.items()) if since <= d <= until and not c.windows
    ]


def covered_length_ms(coverage: dict[date, DayCoverage]) -> int:
    """Length of the time with data: windows with facts, of any cluster."""
    return sum(c.windows for c in coverage.values()) * WINDOW_MS


def data_share(period: Interval, cluster: str = "") -> float | None:
    """The fraction of a period that has data: windows with facts / all windows."""
    windows = period.length_ms // WINDOW_MS
    if not windows:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(DISTINCT w.window_start)
            FROM accounting_ingestwindow w JOIN accounting_cluster c ON c.id = w.cluster_id
            WHERE w.shard = 0 AND w.rows > 0
              AND w.window_start >= %(start)s AND w.window_start < %(end)s
              AND (%(cluster)s = '' OR c.name = %(cluster)s)
            """,
            {"start": period.start, "end": period.end, "cluster": cluster},
        )
        found: int = cursor.fetchone()[0]
    return min(found / windows, 1.0)
