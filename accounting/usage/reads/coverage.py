"""How much of each billing day was read and observed, from the window ledger."""

from dataclasses import dataclass
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from accounting.core.billing_calendar import DayRange, midnight
from accounting.core.interval import WINDOW_MS, Interval, to_ms
from accounting.core.read_once import read_once
from accounting.metering.reads.clusters import has_one_cluster

_IN_RANGE = """
    w.shard = 0 AND w.window_start >= %(start)s AND w.window_start < %(end)s
    AND (%(cluster)s = ''
         OR w.cluster_id = (SELECT id FROM accounting_cluster WHERE name = %(cluster)s))
"""
# The window in which a cluster's live data began has a rest of what files have, and a part of
# what its scrapes expect. A place among midnights takes a third of the time of a date in a zone.
_QUERY = f"""
    SELECT width_bucket(w.window_start, %(midnights)s::timestamptz[]) AS day,
           {{windows}} FILTER (WHERE w.rows > 0),
           coalesce(sum(w.samples_expected) FILTER (WHERE first.at IS NULL), 0),
           coalesce(sum(w.samples_seen) FILTER (WHERE first.at IS NULL), 0),
           count(*) FILTER (WHERE w.state IN ('pending', 'claimed', 'failed'))
    FROM accounting_ingestwindow w LEFT JOIN (
        SELECT DISTINCT j.cluster_id,
               date_bin('5 minutes', to_timestamp(j.first_live_ms / 1000.0), 'epoch') AS at
        FROM accounting_kubejob j WHERE j.first_live_ms IS NOT NULL
    ) first ON first.cluster_id = w.cluster_id AND first.at = w.window_start
    WHERE {_IN_RANGE} GROUP BY day
"""


def _windows(cluster: str) -> str:
    """The number of windows of any cluster; those of one need not be told apart, by sorting."""
    is_one = cluster or has_one_cluster()
    return "count(*)" if is_one else "count(DISTINCT w.window_start)"


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
    every = days.each()
    values = _values(days.period(zone), cluster)
    values["midnights"] = [midnight(day, zone) for day in every]
    with connection.cursor() as cursor:
        cursor.execute(_QUERY.format(windows=_windows(cluster)), values)
        found = {every[n - 1]: sums for n, *sums in cursor.fetchall()}
    return {day: DayCoverage(day, *found.get(day, (0, 0, 0, 0))) for day in every}


def _values(period: Interval, cluster: str) -> dict[str, Any]:
    return {"start": period.start, "end": period.end, "cluster": cluster}


@read_once
def hours_with_data(period: Interval, cluster: str = "") -> set[int]:
    """The UTC hours of a period in which any window has facts, as their start in ms."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT DISTINCT date_bin('1 hour', w.window_start, 'epoch')
            FROM accounting_ingestwindow w WHERE w.rows > 0 AND {_IN_RANGE}""",
            _values(period, cluster),
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
            f"""SELECT {_windows(cluster)}
            FROM accounting_ingestwindow w WHERE w.rows > 0 AND {_IN_RANGE}""",
            _values(period, cluster),
        )
        found: int = cursor.fetchone()[0]
    return min(found / windows, 1.0)
