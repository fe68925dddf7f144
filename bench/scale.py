"""A ledger of 13 months of 1,000, 10,000 or 100,000 GPUs, filled by SQL and closed by the product.

Each day has rows of usage for some workloads of 200 teams, by hour in the last closed month and
the running one. Workloads belong to families: their names end with a generated suffix. The
product closes the months before the running one, so what it stores at a close is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.core.billing_calendar import months_later
from accounting.metering.tasks.facts import partitions
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.close import close_period
from accounting.months.tasks.hours import divide_closed
from accounting.months.tasks.running import book_running
from bench import cluster
from bench.closing import thaw

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = date(2026, 11, 20)
FIRST_DAY, FIRST_HOUR = date(2025, 11, 1), date(2026, 10, 1)
LAST_CLOSED = "2026-10"
TEAMS, FAMILIES, MODELS = 200, 20_000, 4
DAYS_BY_GPU = 2
MS_A_DAY = 86_400_000
HOURS_TODAY = 13  # in Berlin, of the running day


@dataclass(frozen=True, slots=True)
class Size:
    """How many GPUs there are, and how many workloads hold them on one day.

    Attributes:
        closed: months that the product closes, the last ones; earlier ones are as before the first
            close. Twelve of the largest would take a quarter of an hour.
    """

    gpus: int
    workloads: int
    closed: int = 12


SIZES: Mapping[int, Size] = {
    1_000: Size(1_000, 400),
    10_000: Size(10_000, 1_000, closed=6),
    100_000: Size(100_000, 2_500, closed=2),
}

_KEY = (
    "namespace_id, team_id, workload_id, workload_type, model, lifecycle, tier, price_id,"
    " gpu_price_id, rate, cost, gpu_rate, gpu_cost, currency, samples_expected, samples_used"
)
_NAMES = """
    UPDATE accounting_unitprice SET model = '' WHERE model = 'A100';
    INSERT INTO accounting_workload (id, cluster_id, namespace_id, kind, name, type, family)
    SELECT 1000000 + i, 1, 1 + i %% %(teams)s, 'Job',
           'train-' || i %% %(families)s || '-'
               || lpad(translate(to_hex(i), '013ae', 'xyzwv'), 5, 'k'),
           'training', 'train-' || i %% %(families)s
    FROM generate_series(0, %(workloads)s * (%(days)s + 1)) i;
    ANALYZE accounting_workload
"""
# A workload runs on two days. The last row of a model is its free time. `i` is the row of a day.
_LINES = """
    SELECT i, day, w, free, 1 + w %% {teams} AS team, 'NVIDIA-' || i %% {models} AS model,
           CASE WHEN i %% 3 = 0 THEN 'spot' ELSE 'on-demand' END AS lifecycle,
           ({gpus}::bigint * {ms}) / {workloads} + (i * 37 + day * 11) %% 1009 AS ms
    FROM generate_series({first}, {last}) day, generate_series(0, {workloads} - 1) i,
         LATERAL (SELECT 1000000 + (day / 2 * {workloads} + i) AS w,
                         i >= {workloads} - {models} AS free) x
"""
_VALUES = """
    CASE WHEN l.free THEN 0 ELSE l.team END, CASE WHEN l.free THEN 0 ELSE l.team END,
    CASE WHEN l.free THEN 0 ELSE l.w END, CASE WHEN l.free THEN '' ELSE 'training' END, l.model,
    l.lifecycle, CASE WHEN l.free THEN '' ELSE 'batch' END, p.id, p.id, p.rate, p.cost, p.rate,
    p.cost, 'EUR', 8640, 8640
"""
_STATES = """
    CASE WHEN l.free THEN 0 ELSE l.ms * (4 + l.i %% 5) / 10 END,
    CASE WHEN l.free THEN 0 ELSE l.ms - l.ms * (4 + l.i %% 5) / 10 END,
    CASE WHEN l.free THEN l.ms ELSE 0 END
"""
_PRICE = """
    JOIN (SELECT lifecycle, min(id) FILTER (WHERE kind = 'rate') AS id,
                 max(rate_per_gpu_hour) FILTER (WHERE kind = 'rate') AS rate,
                 max(rate_per_gpu_hour) FILTER (WHERE kind = 'cost') AS cost
          FROM accounting_unitprice GROUP BY lifecycle) p
      ON p.lifecycle = CASE l.lifecycle WHEN 'spot' THEN 'spot' ELSE '' END
"""
_HOURS = f"""
    INSERT INTO usage_hour (cluster_id, hour_start, billing_on, {_KEY}, busy_ms, idle_ms, free_ms)
    SELECT 1, (date '{FIRST_DAY}' + l.day)::timestamp AT TIME ZONE 'Europe/Berlin'
              + h * interval '1 hour', date '{FIRST_DAY}' + l.day, {_VALUES}, {_STATES}
    FROM ({_LINES}) l {_PRICE}, generate_series(0, {{hours}} - 1) h
"""
_DAYS = f"""
    INSERT INTO usage_day (cluster_id, billing_on, {_KEY}, busy_ms, idle_ms, free_ms)
    SELECT 1, date '{FIRST_DAY}' + l.day, {_VALUES}, {_STATES} FROM ({_LINES}) l {_PRICE}
"""
_DAYS_OF_HOURS = f"""
    INSERT INTO usage_day (cluster_id, billing_on, {_KEY}, busy_ms, idle_ms, free_ms)
    SELECT cluster_id, billing_on, {_KEY}, sum(busy_ms), sum(idle_ms), sum(free_ms)
    FROM usage_hour GROUP BY cluster_id, billing_on, {_KEY}
"""
_BY_GPU = f"""
    INSERT INTO usage_gpu_day (cluster_id, billing_on, gpu_id, node_id, {_KEY}, busy_ms, idle_ms)
    SELECT 1, date '{TODAY}' - n, i, 1 + (i - 1) / 8, 1 + i %% {TEAMS}, 1 + i %% {TEAMS},
           1000000 + i %% 1000, 'training', 'A100', 'on-demand', 'batch', p.id, p.id, p.rate, 1.70,
           p.rate, 1.70, 'EUR', 8640, 8640, 60000000, 26400000
    FROM generate_series(1, %(gpus)s) i, generate_series(1, {DAYS_BY_GPU}) n,
         (SELECT id, rate_per_gpu_hour AS rate FROM accounting_unitprice
          WHERE kind = 'rate' AND lifecycle = '') p
    ORDER BY n, i
"""
_PRESENT = """
    INSERT INTO accounting_gpupresence (gpu_id, node_id, start_ms)
    SELECT i, 1 + (i - 1) / 8, 1 FROM generate_series(1, %(gpus)s) i
"""
# Of sixty days, so that nothing is missing.
_WINDOWS = """
    INSERT INTO accounting_source (cluster_id, name, kind, settings, scales, is_active, last_error)
    VALUES (1, 'prometheus', 'prometheus', '{}', '{}', true, '');
    INSERT INTO accounting_ingestwindow
        (cluster_id, shard, window_start, state, fence, worker_host, attempts, last_error, reason,
         rows, samples_expected, samples_seen, read_ms, read_at)
    SELECT 1, 0, at, 'done', 1, '', 0, '', '', %(gpus)s, %(gpus)s * 10, %(gpus)s * 10, 50,
           at + interval '6 minutes'
    FROM generate_series(%(now)s::timestamptz - interval '60 days',
                         %(now)s::timestamptz - interval '10 minutes', interval '5 minutes') at
"""
_OWED = """
    SELECT round(sum((busy_ms + idle_ms + free_ms) * rate) / 3600000, 2)
    FROM usage_day WHERE to_char(billing_on, 'YYYY-MM') = %(period)s
"""


def fill(size: Size) -> list[PeriodRevision]:
    """The ledger of one size; what was there before is removed.

    Returns:
        The closed months. Their payable is time x price, summed by SQL of its own.
    """
    thaw()
    cluster.reset()
    cluster.make(size.gpus, TEAMS)
    start = datetime(2025, 10, 31, tzinfo=UTC)
    partitions.ensure((*partitions.ALL_HOURS, *partitions.ALL_DAYS), start, NOW)
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, _values(size))
        cursor.execute(_rows(_DAYS, size, FIRST_DAY, FIRST_HOUR, MS_A_DAY), {})
        cursor.execute(_rows(_HOURS, size, FIRST_HOUR, TODAY, 3_600_000), {})
        one = TODAY + timedelta(days=1)
        today = _rows(_HOURS, size, TODAY, one, 3_600_000, HOURS_TODAY)
        cursor.execute(today, {})
        cursor.execute(_DAYS_OF_HOURS)
        cursor.execute(_BY_GPU, {"gpus": size.gpus})
        cursor.execute(_PRESENT, {"gpus": size.gpus})
        cursor.execute(_WINDOWS, {"gpus": size.gpus, "now": NOW})
        cursor.execute("ANALYZE")
    return _closed(size)


def _rows(
    text: str, size: Size, first: date, after: date, ms: int, hours: int = 24
) -> str:
    return text.format(
        teams=TEAMS,
        models=MODELS,
        gpus=size.gpus,
        workloads=size.workloads,
        ms=ms,
        first=(first - FIRST_DAY).days,
        last=(after - FIRST_DAY).days - 1,
        hours=hours,
    )


def _values(size: Size) -> dict[str, Any]:
    return {
        "teams": TEAMS,
        "families": FAMILIES,
        "workloads": size.workloads,
        "days": (TODAY - FIRST_DAY).days,
    }


def _closed(size: Size) -> list[PeriodRevision]:
    found = []
    for n in range(size.closed):
        month = months_later(date(2026, 10, 1), n - size.closed + 1)
        closed = close_period(f"{month:%Y-%m}", now=NOW)
        owed = _owed(closed.period)
        assert closed.payable == owed, f"{closed.payable} of {closed.period}: {owed}"
        found.append(closed)
    book_running("2026-11", now=NOW)
    while divide_closed():  # a worker does so for large months
        pass
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE charge_line, running_line")
    return found


def _owed(period: str) -> Decimal:
    with connection.cursor() as cursor:
        cursor.execute(_OWED, {"period": period})
        row = cursor.fetchone()
    assert row is not None
    return Decimal(row[0])
