"""How current and complete the data is: for the badge on every page and for data health."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounting.access.scope import Scope
from accounting.core.efficiency import StateTimes
from accounting.core.interval import WINDOW_MS
from accounting.metering.models.cluster import Source
from accounting.metering.models.ledger import IngestWindow, WindowState

LATE = timedelta(minutes=15)  # product rule: warning from here on
VERY_LATE = timedelta(minutes=60)  # product rule: danger from here on
NOT_DONE = [state for state in WindowState if state is not WindowState.DONE]


@dataclass(frozen=True, slots=True)
class Freshness:
    """The values of the badge.

    Attributes:
        data_to: end of the newest computed window; None before the first one.
        lag: from there to now; None before the first window.
        level: ok, warn or danger.
        coverage: observed / allocated over the last day; None without holds.
        pending: windows that wait to be computed.
        dirty_hours: hours that wait to be rolled up.
        is_demo: some cluster is simulated.
        since: start of the oldest window with facts.
        is_live: some source is not a file.
    """

    data_to: datetime | None
    lag: timedelta | None
    level: str
    coverage: float | None
    pending: int
    dirty_hours: int
    is_demo: bool
    since: datetime | None = None
    is_live: bool = False


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source and its state."""

    cluster: str
    name: str
    kind: str
    is_active: bool
    interval_s: int | None
    last_read_at: datetime | None
    last_sample_at: datetime | None
    last_error: str
    file_from: datetime | None = None  # the time that the last imported file covers
    file_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
    """One computed window of the window ledger."""

    cluster: str
    window_start: datetime
    state: str
    reason: str
    rows: int
    samples_expected: int
    samples_seen: int
    read_ms: int
    read_at: datetime | None
    attempts: int
    last_error: str


_QUERY = """
    WITH ends AS (
        SELECT newest.window_start AS newest, oldest.window_start AS oldest
        FROM accounting_cluster c
        CROSS JOIN LATERAL (
            SELECT window_start FROM accounting_ingestwindow w
            WHERE w.cluster_id = c.id AND w.shard = 0 AND w.rows > 0
              AND w.state IN ('done', 'partial')
            ORDER BY window_start DESC LIMIT 1
        ) newest
        CROSS JOIN LATERAL (
            SELECT window_start FROM accounting_ingestwindow w
            WHERE w.cluster_id = c.id AND w.shard = 0 AND w.rows > 0
            ORDER BY window_start LIMIT 1
        ) oldest
    ), span AS (SELECT max(newest) AS newest, min(oldest) AS oldest FROM ends
    ), day AS (
        SELECT coalesce(sum(busy_ms), 0)::bigint AS busy,
               coalesce(sum(idle_ms), 0)::bigint AS idle,
               coalesce(sum(unknown_ms), 0)::bigint AS unknown
        FROM usage_hour_total
        WHERE hour_start > (SELECT newest FROM span) - interval '1 day'
    )
    SELECT clock_timestamp(), span.newest, span.oldest,
           ARRAY[day.busy, day.idle, day.unknown],
           (SELECT count(*) FROM accounting_ingestwindow
            WHERE state IN ('pending', 'claimed', 'failed')),
           (SELECT count(*) FROM accounting_dirtyhour),
           EXISTS (SELECT 1 FROM accounting_cluster WHERE is_demo),
           EXISTS (SELECT 1 FROM accounting_source WHERE is_active AND kind <> 'openmetrics')
    FROM span, day
"""


def freshness() -> Freshness:
    """How current the data of all clusters is; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY)
        now, newest, oldest, day, pending, dirty, is_demo, is_live = cursor.fetchone()
    data_to = None if newest is None else newest + timedelta(milliseconds=WINDOW_MS)
    lag = None if data_to is None else max(timedelta(0), now - data_to)
    return Freshness(
        data_to=data_to,
        lag=lag,
        level=_level(lag),
        coverage=StateTimes(*day).coverage,
        pending=pending,
        dirty_hours=dirty,
        is_demo=is_demo,
        since=oldest,
        is_live=is_live,
    )


def _level(lag: timedelta | None) -> str:
    if lag is None or lag > VERY_LATE:
        return "danger"
    return "warn" if lag > LATE else "ok"


def source_rows(scope: Scope) -> list[SourceRow]:
    """Every configured source; empty for people who see only their teams."""
    if not scope.sees_all:
        return []
    rows = Source.objects.select_related("cluster").order_by("cluster__name", "name")
    return [
        SourceRow(
            row.cluster.name,
            row.name,
            row.kind,
            row.is_active,
            row.interval_s,
            row.last_read_at,
            row.last_sample_at,
            row.last_error,
            row.file_from,
            row.file_to,
        )
        for row in rows
    ]


def last_runs(scope: Scope, limit: int = 50) -> list[RunRow]:
    """The windows that were read last, newest first."""
    if not scope.sees_all:
        return []
    rows = (
        IngestWindow.objects.filter(read_at__isnull=False)
        .select_related("cluster")
        .order_by("-read_at", "-window_start")[:limit]
    )
    return [_run(row) for row in rows]


def gaps(scope: Scope, limit: int = 200) -> list[RunRow]:
    """Windows that are missing, partial or failed, newest first."""
    if not scope.sees_all:
        return []
    rows = (
        IngestWindow.objects.filter(state__in=NOT_DONE)  # by the index of states
        .select_related("cluster")
        .order_by("-window_start")[:limit]
    )
    return [_run(row) for row in rows]


def _run(row: IngestWindow) -> RunRow:
    return RunRow(
        row.cluster.name,
        row.window_start,
        row.state,
        row.reason,
        row.rows,
        max(row.samples_expected, row.samples_seen),  # rounded down for short presence
        row.samples_seen,
        row.read_ms,
        row.read_at,
        row.attempts,
        row.last_error,
    )
