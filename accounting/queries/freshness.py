"""How current the numbers are: the newest window read, and how much of it was observed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounting.domain.period import WINDOW_MS

LATE = timedelta(minutes=15)  # amber above
VERY_LATE = timedelta(minutes=60)  # red above
WINDOW = timedelta(milliseconds=WINDOW_MS)

_QUERY = """
    WITH ends AS (
        SELECT c.id, newest.window_start AS newest, oldest.window_start AS oldest
        FROM accounting_cluster c
        LEFT JOIN LATERAL (
            SELECT window_start FROM accounting_ingestwindow w
            WHERE w.cluster_id = c.id AND w.shard = 0 AND w.rows > 0
            ORDER BY window_start DESC LIMIT 1
        ) newest ON true
        LEFT JOIN LATERAL (
            SELECT window_start FROM accounting_ingestwindow w
            WHERE w.cluster_id = c.id AND w.shard = 0 AND w.rows > 0
            ORDER BY window_start LIMIT 1
        ) oldest ON true
    )
    SELECT min(e.newest), max(e.newest), min(e.oldest),
           (SELECT sum(samples_seen)::float / nullif(sum(samples_expected), 0)
            FROM accounting_ingestwindow w JOIN ends n ON n.id = w.cluster_id
            WHERE w.shard = 0 AND w.window_start > n.newest - interval '1 day'
              AND w.window_start <= n.newest),
           (SELECT bool_or(is_active AND kind <> 'openmetrics') FROM accounting_source),
           (SELECT bool_or(is_demo) FROM accounting_cluster)
    FROM ends e
"""


@dataclass(frozen=True, slots=True)
class Freshness:
    """What the chip at the top of every page says.

    Attributes:
        until: end of the newest window that was read; of several clusters, the one that is
            furthest behind.
        latest: end of the newest window of any cluster.
        since: start of the oldest window.
        covered: samples seen / expected over the last day of data; None without any.
        tone: "" fresh, `warn` late, `danger` very late, `mute` when nothing is live.
        reason: why it has that tone, one sentence.
    """

    until: datetime | None
    latest: datetime | None
    since: datetime | None
    covered: float | None
    tone: str
    reason: str
    is_today: bool
    has_demo: bool = False


def freshness(now: datetime) -> Freshness:
    """How fresh the ledger is at an instant; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY)
        newest, latest, oldest, covered, is_live, has_demo = cursor.fetchone()
    if newest is None:
        return Freshness(
            None, None, None, None, "mute", "No window has been read yet.", False
        )
    until = newest + WINDOW
    tone, reason = _tone(now - until, is_live=bool(is_live))
    return Freshness(
        until=until,
        latest=latest + WINDOW,
        since=oldest,
        covered=None if covered is None else min(covered, 1.0),
        tone=tone,
        reason=reason,
        is_today=abs(now - until) < timedelta(hours=18),
        has_demo=bool(has_demo),
    )


def _tone(lag: timedelta, *, is_live: bool) -> tuple[str, str]:
    if not is_live:
        return "mute", "These data came from files; no live source is configured."
    minutes = int(lag.total_seconds() // 60)
    if lag > VERY_LATE:
        return "danger", f"The newest data are {minutes // 60} h {minutes % 60} min old."
    if lag > LATE:
        return "warn", f"The newest data are {minutes} min old."
    return "", "Data arrive on time."
