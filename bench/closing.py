"""C1 to C3: closing a month of a large fleet, reading its charges, and correcting it.

The month is filled by SQL into usage by hour; the product rolls it up to days before the clock
starts. The payable is compared with time x price, summed by SQL that shares no code with the close.
"""

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection, transaction

from accounting.metering.tasks.facts import partitions
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from accounting.usage.tasks.rollup import roll_up_days
from bench import cluster
from bench.measure import Figure

GPUS, TEAMS, ROWS_AN_HOUR = 100_000, 200, 4_040
FEW_GPUS, FEW_ROWS = 1_000, 100
STARTS = datetime(2026, 9, 30, 22, tzinfo=UTC)  # October in Berlin has 745 hours
HOURS = 745
MONTH = "2026-10"
ROUNDS = 200

_WORKLOADS = """
    INSERT INTO accounting_workload (id, cluster_id, namespace_id, kind, name, type)
    SELECT 1000000 + i, 1, 1 + i %% %(teams)s, 'Job', 'run-' || i, ''
    FROM generate_series(0, %(rows)s * (1 + %(hours)s / 8)) i
"""
# Every eight hours other workloads run. One row of a hundred is free time.
_HOURS = """
    INSERT INTO usage_hour
        (cluster_id, hour_start, billing_on, namespace_id, team_id, workload_id, model,
         lifecycle, tier, price_id, gpu_price_id, rate, cost, gpu_rate, gpu_cost, currency,
         busy_ms, idle_ms, unknown_ms, free_ms)
    SELECT 1, at, (at AT TIME ZONE 'Europe/Berlin')::date,
           CASE WHEN free THEN 0 ELSE 1 + w %% %(teams)s END,
           CASE WHEN free THEN 0 ELSE 1 + w %% %(teams)s END,
           CASE WHEN free THEN 0 ELSE 1000000 + w END, 'A100',
           CASE WHEN i %% 3 = 0 THEN 'reserved' ELSE 'on-demand' END,
           CASE WHEN free THEN '' ELSE 'batch' END, p.id, p.id, 2.10, 1.70, 2.10, 1.70, 'EUR',
           CASE WHEN free THEN 0 ELSE part * 6 / 10 END,
           CASE WHEN free THEN 0 ELSE part * 3 / 10 END,
           CASE WHEN free THEN 0 ELSE part - part * 6 / 10 - part * 3 / 10 END,
           CASE WHEN free THEN part ELSE 0 END
    FROM (SELECT min(id) AS id FROM accounting_unitprice WHERE lifecycle = '') p,
         generate_series(0, %(hours)s - 1) h, generate_series(0, %(rows)s - 1) i,
         LATERAL (SELECT %(starts)s::timestamptz + h * interval '1 hour' AS at,
                         h / 8 * %(rows)s + i AS w, i %% 100 = 99 AS free,
                         (%(gpus)s::bigint * 3600000) / %(rows)s + i %% 7 AS part) line
    ON CONFLICT DO NOTHING
"""
_EXPECTED = """
    SELECT round(sum((busy_ms + idle_ms + unknown_ms + free_ms) * 2.10) / 3600000, 2)
    FROM usage_hour
"""
_OF_TEAM = """
    SELECT billing_on, model, state, sum(ms), sum(charge) FROM charge_line
    WHERE revision_id = %s AND team = %s AND billing_on >= %s AND billing_on < %s
    GROUP BY billing_on, model, state ORDER BY billing_on, model, state
"""


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures of this module that are wanted (all when none is named)."""
    if wanted and not wanted & {"C1", "C2", "C3"}:
        return
    if not wanted or wanted & {"C1", "C2"}:
        closed, figure = _close()
        yield figure
        yield _charges(closed)
    if not wanted or "C3" in wanted:
        yield _corrections()


def _close() -> tuple[PeriodRevision, Figure]:
    fill(GPUS, ROWS_AN_HOUR)
    half = _timed_close(2)
    fill(GPUS, ROWS_AN_HOUR)
    took, closed = _timed_close(1)
    what = f"close of {closed.line_count:,} lines, {GPUS:,} GPUs, {TEAMS} teams"
    detail = {
        "hour_rows": HOURS * ROWS_AN_HOUR,
        "seconds_a_million_lines": took / closed.line_count * 1e6,
        "of_half_the_lines": half[0] / half[1].line_count * 1e6,
    }
    return closed, Figure("C1", what, took, 60, "s", at_most=True, detail=detail)


def _timed_close(part: int) -> tuple[float, PeriodRevision]:
    """Close the month, or the usage of every second workload of it."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_day WHERE workload_id %% %s <> 0", [part])
        cursor.execute("VACUUM (ANALYZE) usage_day")
    began = time.perf_counter()
    closed = close_period(MONTH, now=datetime(2026, 11, 5, tzinfo=UTC))
    took = time.perf_counter() - began
    if part == 1:
        assert closed.payable == _value(_EXPECTED), "the payable is not time x price"
    return took, closed


def _charges(closed: PeriodRevision) -> Figure:
    """Charges by day, model and state of one team and month, as a statement reads them."""
    seconds = []
    for n in range(ROUNDS):
        values: list[Any] = [
            closed.pk,
            f"team-{1 + n % TEAMS}",
            date(2026, 10, 1),
            date(2026, 11, 1),
        ]
        began = time.perf_counter()
        with connection.cursor() as cursor:
            cursor.execute(_OF_TEAM, values)
            assert cursor.fetchall()
        seconds.append(time.perf_counter() - began)
    p95 = statistics.quantiles(seconds, n=20)[-1] * 1000
    what = f"charges of one of {TEAMS} teams by day, 31 days, p95"
    return Figure("C2", what, p95, 20, "ms", at_most=True)


def _corrections() -> Figure:
    fill(FEW_GPUS, FEW_ROWS)
    close_period(MONTH, now=datetime(2026, 11, 5, tzinfo=UTC))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE usage_day SET busy_ms = busy_ms + 1 WHERE busy_ms > 0")
        changed = cursor.rowcount
    began = time.perf_counter()
    running = book_running("2026-11", now=datetime(2026, 11, 5, tzinfo=UTC))
    took = time.perf_counter() - began
    found = running.running_lines.filter(corrects=f"{MONTH}-r1")
    assert sum(one.ms for one in found) == changed, "the corrections are not the change"
    what = f"{len(found):,} corrections of a closed month, {FEW_GPUS:,} GPUs"
    return Figure("C3", what, took, 10, "s", at_most=True)


def fill(gpus: int, rows: int) -> None:
    """An open October of usage by hour and by day, and nothing closed."""
    thaw()
    cluster.reset()
    cluster.make(1_024, TEAMS)
    partitions.ensure([partitions.HOURS], STARTS, STARTS + timedelta(hours=HOURS))
    values: dict[str, Any] = {
        "teams": TEAMS,
        "rows": rows,
        "hours": HOURS,
        "starts": STARTS,
        "gpus": gpus,
    }
    days = [date(2026, 10, 1) + timedelta(days=n) for n in range(31)]
    partitions.ensure([partitions.DAYS], STARTS, STARTS + timedelta(hours=HOURS))
    with connection.cursor() as cursor:
        cursor.execute(_WORKLOADS, values)
        cursor.execute(_HOURS, values)
        cursor.execute("ANALYZE")
    for day in days:
        with transaction.atomic():
            roll_up_days(1, [day])


def thaw() -> None:
    """Remove what an earlier bench closed; the triggers refuse it otherwise."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "TRUNCATE charge_line, running_line, line_hours, charge_family_day,"
            " charge_family_hours, accounting_statement, accounting_periodrevision CASCADE"
        )


def _value(query: str) -> Decimal:
    with connection.cursor() as cursor:
        cursor.execute(query)
        row: tuple[Any, ...] | None = cursor.fetchone()
    assert row is not None
    return Decimal(row[0])
