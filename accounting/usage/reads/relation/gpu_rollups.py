"""Which tables by GPU a range is read from: days, hours at its ends, facts for parts of an hour.

`split` divides a range into pieces that do not overlap. The rows that are read grow with GPUs
times days, not with windows (rules.md N32). Hours and days that are not written by GPU yet
(`PendingGpuHour`) are read from the next finer table.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from itertools import groupby, pairwise

from django.db import connection

from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.core.interval import HOUR_MS, Interval, to_instant, to_ms
from accounting.core.read_once import read_once
from accounting.metering.models.ledger import PendingGpuHour

FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(9999, 1, 1)
HOUR = timedelta(hours=1)


class Grain(Enum):
    """The table that a piece of a range is read from."""

    FACTS = "five-minute facts"
    HOURS = "hours by GPU"
    DAYS = "days by GPU"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a range.

    Attributes:
        start, end: of the facts, or of the hours in which the rows begin.
        first, after: the billing days of the rows; an hour that a day cuts is two rows.
    """

    grain: Grain
    start: datetime
    end: datetime
    first: date = FIRST_DAY
    after: date = LAST_DAY


@dataclass(frozen=True, slots=True)
class Pending:
    """Hours and billing days that are not written by GPU yet."""

    hours: frozenset[datetime] = frozenset()
    days: frozenset[date] = frozenset()


@read_once
def pending(period: Interval, clusters: Sequence[str] | None) -> Pending:
    """What is not written by GPU yet in a range.

    Args:
        period: the range.
        clusters: names of clusters; None for all.
    """
    rows = PendingGpuHour.objects.filter(
        hour_start__gt=period.start - 2 * 24 * HOUR, hour_start__lt=period.end
    )
    if clusters is not None:
        rows = rows.filter(cluster__name__in=clusters)
    found = list(rows.values_list("hour_start", "billing_days", "needs_hour"))
    return Pending(
        frozenset(hour for hour, _, needs_hour in found if needs_hour),
        frozenset(day for _, days, _ in found for day in days),
    )


def split(
    period: Interval, *, by_hour: bool, waiting: Pending | None = None
) -> list[Piece]:
    """The pieces of a range, in order of time; days only where no row has an hour.

    Args:
        period: on the five-minute grid.
        by_hour: rows are separate by hour, which daily rollups do not store.
        waiting: what is not written yet.
    """
    waiting = waiting or Pending()
    with billing_remembered():
        return [
            piece
            for start, end, is_days in _segments(period, waiting, by_hour=by_hour)
            for piece in _pieces(start, end, waiting, is_days=is_days)
        ]


def _segments(
    period: Interval, waiting: Pending, *, by_hour: bool
) -> Iterator[tuple[datetime, datetime, bool]]:
    """Parts of a range that are read from days, and the parts between them."""
    start, end = period.start, period.end
    first, after = _day_from(start), billing_day(end)
    if by_hour or first >= after:
        yield start, end, False
        return
    if start < midnight(first):
        yield start, midnight(first), False
    days = [first + timedelta(days=n) for n in range((after - first).days)]
    for is_pending, run in groupby(days, lambda day: day in waiting.days):
        of_run = list(run)
        low, high = midnight(of_run[0]), midnight(of_run[-1] + timedelta(days=1))
        yield low, high, not is_pending
    if midnight(after) < end:
        yield midnight(after), end, False


def _pieces(
    start: datetime, end: datetime, waiting: Pending, *, is_days: bool
) -> Iterator[Piece]:
    if is_days:
        yield Piece(Grain.DAYS, start, end, billing_day(start), billing_day(end))
        return
    at_midnight = midnight(billing_day(start)) == start
    first = billing_day(start) if at_midnight else FIRST_DAY
    after = billing_day(end) if midnight(billing_day(end)) == end else LAST_DAY
    low = _floor(start) if at_midnight else _ceil(start)
    high = _ceil(end) if after != LAST_DAY else _floor(end)
    if low >= high:  # no whole hour
        yield Piece(Grain.FACTS, start, end)
        return
    if start < low:
        yield Piece(Grain.FACTS, start, low)
    facts = sorted(hour for hour in waiting.hours if low <= hour < high)
    for begin, until, is_facts in _runs(low, high, facts):
        if is_facts:
            yield Piece(Grain.FACTS, max(begin, start), min(until, end))
        else:
            yield Piece(Grain.HOURS, begin, until, first, after)
    if high < end:
        yield Piece(Grain.FACTS, high, end)


def _runs(
    low: datetime, high: datetime, hours: Iterable[datetime]
) -> Iterator[tuple[datetime, datetime, bool]]:
    """[low, high) split into runs of the given hours and runs between them."""
    marked = set(hours)
    edges = sorted({low, high, *marked, *(hour + HOUR for hour in marked)})
    parts = ((begin, until, begin in marked) for begin, until in pairwise(edges))
    for is_marked, run in groupby(parts, lambda part: part[2]):
        of_run = list(run)
        yield of_run[0][0], of_run[-1][1], is_marked


def _floor(instant: datetime) -> datetime:
    ms = to_ms(instant)
    return to_instant(ms - ms % HOUR_MS)


def _ceil(instant: datetime) -> datetime:
    ms = to_ms(instant)
    return to_instant(ms + -ms % HOUR_MS)


def _day_from(instant: datetime) -> date:
    """The first billing day that begins at or after an instant."""
    day = billing_day(instant)
    return day if midnight(day) == instant else day + timedelta(days=1)


# The newest hour or day that is stored but not by GPU: expired, or never written by GPU.
# By cluster and step, with LIMIT, so that indexes are probed instead of reading all history.
_MISSING = """
    SELECT max(s.at) FROM accounting_cluster c
    CROSS JOIN LATERAL (
        SELECT o.{by} FROM {oldest} o WHERE o.cluster_id = c.id ORDER BY o.{by} LIMIT 1
    ) AS first(at)
    CROSS JOIN LATERAL (
        SELECT o.{by} FROM {stored} o WHERE o.cluster_id = c.id ORDER BY o.{by} DESC LIMIT 1
    ) AS last(at)
    CROSS JOIN LATERAL generate_series(
        greatest(%(low)s::timestamp, first.at::timestamp),
        least(%(high)s::timestamp - interval '1 {step}', last.at::timestamp),
        interval '1 {step}'
    ) AS s(at)
    LEFT JOIN LATERAL (
        SELECT true FROM {stored} o
        WHERE o.cluster_id = c.id AND o.{by} = s.at::{type} LIMIT 1
    ) AS whole(is_there) ON true
    LEFT JOIN LATERAL (
        SELECT true FROM {by_gpu} o
        WHERE o.cluster_id = c.id AND o.{by} = s.at::{type} LIMIT 1
    ) AS by_gpu(is_there) ON true
    WHERE (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))
      AND whole.is_there AND by_gpu.is_there IS NULL
"""


@read_once
def complete_from(
    piece: Piece, clusters: Sequence[str] | None, *, is_open: bool
) -> date | None:
    """The first day from which a piece is complete by GPU; None where all of it is.

    Args:
        piece: of hours or days.
        clusters: whose; None for all.
        is_open: the range has no start and covers what is kept.
    """
    is_days = piece.grain is Grain.DAYS
    stored, by_gpu, by, kind, step = (
        ("usage_day", "usage_gpu_day", "billing_on", "date", "day")
        if is_days
        else ("usage_hour", "usage_gpu_hour", "hour_start", "timestamptz", "hour")
    )
    low, high = (piece.first, piece.after) if is_days else (piece.start, piece.end)
    query = _MISSING.format(
        oldest=by_gpu if is_open else stored,
        stored=stored,
        by_gpu=by_gpu,
        by=by,
        type=kind,
        step=step,
    )
    values = {
        "low": low,
        "high": high,
        "clusters": None if clusters is None else list(clusters),
    }
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        at: datetime | None = cursor.fetchone()[0]
    if at is None:
        return None
    return (at + timedelta(days=1)).date()


# What is stored at all, and what is stored by GPU; each bound is one probe of an index.
_STORED = """
    SELECT min(day.at), min(gpu_day.at), min(gpu_hour.at), min(fact.at), max(last.at)
    FROM accounting_cluster c
    LEFT JOIN LATERAL (SELECT o.billing_on FROM usage_day o WHERE o.cluster_id = c.id
                       ORDER BY o.billing_on LIMIT 1) AS day(at) ON true
    LEFT JOIN LATERAL (SELECT o.billing_on FROM usage_gpu_day o WHERE o.cluster_id = c.id
                       ORDER BY o.billing_on LIMIT 1) AS gpu_day(at) ON true
    LEFT JOIN LATERAL (SELECT o.hour_start FROM usage_gpu_hour o WHERE o.cluster_id = c.id
                       ORDER BY o.hour_start LIMIT 1) AS gpu_hour(at) ON true
    LEFT JOIN LATERAL (SELECT o.window_start FROM usage_window o WHERE o.cluster_id = c.id
                       ORDER BY o.window_start LIMIT 1) AS fact(at) ON true
    LEFT JOIN LATERAL (SELECT o.billing_on FROM usage_day o WHERE o.cluster_id = c.id
                       ORDER BY o.billing_on DESC LIMIT 1) AS last(at) ON true
    WHERE %(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s)
"""


@read_once
def stored_part(period: Interval | None, clusters: Sequence[str] | None) -> Interval:
    """The part of a range in which anything is stored, up to whole billing days.

    Args:
        period: None, or one without a start, covers what is kept by GPU.
        clusters: whose; None for all.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _STORED, {"clusters": None if clusters is None else list(clusters)}
        )
        day, gpu_day, hour, fact, last = cursor.fetchone()
    if day is None:
        return Interval(0, 0)
    since = midnight(day)
    if period is None or period.start_ms == 0:
        known = [midnight(gpu_day)] if gpu_day else []
        since = min(
            [*known, *(at for at in (hour, fact) if at is not None)], default=since
        )
    stored = Interval.of(since, midnight(last + timedelta(days=1)))
    return stored if period is None else stored.intersection(period) or Interval(0, 0)
