"""C4, C5, P25: usage by hour of a closed month, and how long statements over closed days plan.

The month is that of `bench.closing`, as small as one of 750 GPUs. The sum of the hours is compared
with the charges of the close before it is timed.
"""

import re
import statistics
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import Scope
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.close import close_period
from accounting.prices.sql.line_hours_sql import line_hours
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.ranking import moved_most
from accounting.usage.reads.usage import usage_rows
from bench import closing
from bench.measure import Figure, interleaved

GPUS, ROWS_AN_HOUR = 750, 30
EVERY = Scope(team_ids=None)
CUT = Interval.of(
    datetime(2026, 10, 12, 5, tzinfo=UTC), datetime(2026, 10, 19, 15, tzinfo=UTC)
)
BEFORE = Interval.of(
    datetime(2026, 10, 4, 19, tzinfo=UTC), datetime(2026, 10, 12, 5, tzinfo=UTC)
)


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures of this module that are wanted (all when none is named)."""
    if wanted and not wanted & {"C4", "C5", "P25"}:
        return
    closing.fill(GPUS, ROWS_AN_HOUR)
    closed = close_period(closing.MONTH, now=datetime(2026, 11, 5, tzinfo=UTC))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    yield from _by_hour(closed)
    yield _planning()


def _by_hour(closed: PeriodRevision) -> Iterator[Figure]:
    month = Selection(EVERY, Interval.of(closed.starts_at, closed.ends_at))
    held = closed.lines.exclude(team="platform").exclude(kind="rounding")
    booked = held.aggregate(Sum("charge"))["charge__sum"]
    rows = usage_rows(month, ("hour",))
    charges = (row.charge.amount for row in rows if row.charge is not None)
    assert sum(charges) == booked, "the hours are not the month"
    found = held.values_list("billing_on", flat=True).distinct()
    days = sorted(day for day in found if day is not None)
    seconds = interleaved(
        {
            "stored": lambda: usage_rows(month, ("hour",)),
            "divided": lambda: _divided(closed, days),
        }
    )
    ours, rival = (statistics.median(seconds[name]) for name in ("stored", "divided"))
    what = f"usage by hour of {closed.line_count:,} closed lines, against dividing them"
    yield Figure("C4", what, rival / ours, 4, detail={"ms": ours * 1000})
    what = f"usage by hour of {closed.line_count:,} closed lines"
    yield Figure("P25", what, ours * 1000, 200, "ms", at_most=True)


def _divided(closed: PeriodRevision, days: Sequence[date]) -> None:
    """The charges by hour, divided again, as reports did before hours were stored."""
    lines = "SELECT * FROM charge_line WHERE revision_id = %(id)s AND billing_on IS NOT NULL"
    values: dict[str, Any] = {
        "id": closed.pk,
        "currency": closed.currency,
        "days": days,
        "days_begin": closed.starts_at,
        "days_end": closed.ends_at,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off; SET LOCAL jit = off")
        cursor.execute(
            f"""SELECT hour_start, sum(part)
                FROM ({line_hours(lines)}) l, unnest(hours, parts) p(hour_start, part)
                GROUP BY hour_start""",
            values,
        )
        assert cursor.fetchall()


def _planning() -> Figure:
    """The slowest of several statements, each the best of three."""
    cut = Selection(EVERY, CUT)
    with CaptureQueriesContext(connection) as asked:
        usage_rows(cut, ("team",))
        usage_rows(cut, ("workload", "hour"))
        usage_rows(cut, ("family",))
        ledger_rows(cut, ("day",))
        moved_most(cut, BEFORE, 10, 2)
    found = [query["sql"] for query in asked if len(query["sql"]) > 1_000]
    slowest = max(min(_planned(sql) for _ in range(3)) for sql in found)
    what = f"planning of {len(found)} statements over cut closed days, the slowest"
    return Figure("C5", what, slowest, 10, "ms", at_most=True)


def _planned(sql: str) -> float:
    with connection.cursor() as cursor:
        cursor.cursor.execute(f"EXPLAIN (SUMMARY) {sql}")
        last = cursor.fetchall()[-1][0]
    found = re.search(r"Planning Time: ([\d.]+) ms", last)
    assert found is not None
    return float(found[1])
