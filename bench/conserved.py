"""Conservation of time and money, checked with SQL that shares nothing with the product's.

Every query runs in one snapshot, so that it can run while workers write: windows that wait for a
worker, hours that wait for their rollup, and a cluster's newest window, whose end is still open,
are excluded.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg

STATES = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")
ALL = " + ".join(f"{state}_ms" for state in STATES)
EACH = ", ".join(f"sum({state}_ms)::bigint AS {state}_ms" for state in STATES)
DIFFER = " OR ".join(
    f"coalesce(a.{state}_ms, 0) <> coalesce(b.{state}_ms, 0)" for state in STATES
)


@dataclass(frozen=True, slots=True)
class Conserved:
    """The comparisons of one snapshot.

    Attributes:
        windows: computed ones.
        facts: rows in them.
        compared: number of compared sums.
        findings: one sentence for each pair that differs; empty if all are equal.
    """

    windows: int
    facts: int
    compared: int
    findings: tuple[str, ...]


DONE = """
    done AS (
        SELECT w.cluster_id, w.window_start,
               (extract(epoch FROM w.window_start) * 1000)::bigint AS low
        FROM accounting_ingestwindow w
        WHERE w.state IN ('done', 'partial')
          AND w.window_start >= (SELECT min(window_start) FROM usage_window)
          AND w.window_start < (SELECT max(n.window_start) FROM accounting_ingestwindow n
                                WHERE n.cluster_id = w.cluster_id
                                  AND n.state IN ('done', 'partial') AND n.rows > 0)
    )
"""

# For every GPU and hour (or day): the seven states, compared with its presence.
TIME = f"""
    WITH {DONE}, had AS (
        SELECT cluster_id, gpu_id, date_trunc(%(unit)s, window_start, 'UTC') AS at,
               sum({ALL})::bigint AS ms
        FROM usage_window JOIN done USING (cluster_id, window_start) GROUP BY 1, 2, 3
    ), there AS (
        SELECT d.cluster_id, p.gpu_id, date_trunc(%(unit)s, d.window_start, 'UTC') AS at,
               sum(least(coalesce(p.end_ms, d.low + 300000), d.low + 300000)
                   - greatest(p.start_ms, d.low))::bigint AS ms
        FROM done d
        JOIN accounting_gpupresence p ON p.start_ms < d.low + 300000
            AND coalesce(p.end_ms, d.low + 300000) > d.low
        JOIN accounting_gpu g ON g.id = p.gpu_id AND g.cluster_id = d.cluster_id
        GROUP BY 1, 2, 3
    )
    SELECT 'GPU ' || gpu_id || ', ' || %(unit)s || ' ' || at, coalesce(had.ms, 0),
           coalesce(there.ms, 0)
    FROM had FULL JOIN there USING (cluster_id, gpu_id, at)
"""

# For every clean hour and model: each state, compared with its facts.
HOURS = f"""
    WITH a AS (
        SELECT cluster_id, hour_start AS at, model, {EACH} FROM usage_hour GROUP BY 1, 2, 3
    ), b AS (
        SELECT w.cluster_id, date_trunc('hour', w.window_start, 'UTC') AS at, g.model, {EACH}
        FROM usage_window w JOIN accounting_gpu g ON g.id = w.gpu_id GROUP BY 1, 2, 3
    )
    SELECT 'hour ' || at || ' of ' || model, ({DIFFER})::int, 0
    FROM a FULL JOIN b USING (cluster_id, at, model)
    WHERE NOT EXISTS (SELECT FROM accounting_dirtyhour d WHERE d.hour_start = at)
"""

# For every clean day and model: each state and the money, compared with its hours.
MONEY = f"sum(({ALL}) * rate + (busy_ms + idle_ms + unknown_ms) * (gpu_rate - rate))"
DAYS = f"""
    WITH a AS (
        SELECT cluster_id, billing_on, model, {EACH}, {MONEY} AS money
        FROM usage_day GROUP BY 1, 2, 3
    ), b AS (
        SELECT cluster_id, billing_on, model, {EACH}, {MONEY} AS money
        FROM usage_hour GROUP BY 1, 2, 3
    )
    SELECT 'day ' || billing_on || ' of ' || model,
           ({DIFFER} OR a.money IS DISTINCT FROM b.money)::int, 0
    FROM a FULL JOIN b USING (cluster_id, billing_on, model)
    WHERE NOT EXISTS (
        SELECT FROM accounting_dirtyhour d
        WHERE d.hour_start::date BETWEEN billing_on - 1 AND billing_on + 1
    )
"""

# For every day and model by family: each state and the money, compared with the day.
FAMILY_DAYS = DAYS.replace("usage_day", "usage_family_day").replace(
    "usage_hour", "usage_day"
)

# For every hour and cluster: each state, compared with its hours.
TOTALS = f"""
    WITH a AS (
        SELECT cluster_id, hour_start AS at, {EACH} FROM usage_hour_total GROUP BY 1, 2
    ), b AS (SELECT cluster_id, hour_start AS at, {EACH} FROM usage_hour GROUP BY 1, 2)
    SELECT 'total of ' || at, ({DIFFER})::int, 0 FROM a FULL JOIN b USING (cluster_id, at)
"""

# For every billing day and cluster: the same, and the cost.
DAY_TOTALS = f"""
    WITH a AS (
        SELECT cluster_id, billing_on AS at, {EACH}, sum(cost_raw) AS cost
        FROM usage_day_total GROUP BY 1, 2
    ), b AS (
        SELECT cluster_id, billing_on AS at, {EACH}, sum(({ALL}) * gpu_cost) AS cost
        FROM usage_day GROUP BY 1, 2
    )
    SELECT 'total of ' || at, ({DIFFER} OR a.cost IS DISTINCT FROM b.cost)::int, 0
    FROM a FULL JOIN b USING (cluster_id, at)
"""

LINES = f"""
    SELECT cluster_id, hour_start, model, {MONEY} AS money FROM usage_hour
    WHERE NOT EXISTS (SELECT FROM accounting_dirtyhour d
                      WHERE d.hour_start = usage_hour.hour_start)
    GROUP BY 1, 2, 3
"""
FLEET = f"""
    SELECT w.cluster_id, w.window_start, g.model, w.node_id, sum({ALL})::bigint
    FROM usage_window w JOIN accounting_gpu g ON g.id = w.gpu_id GROUP BY 1, 2, 3, 4
"""
PRICES = """
    SELECT model, cluster_id, lifecycle, rate_per_gpu_hour, valid_from, valid_to
    FROM accounting_unitprice WHERE kind = 'rate' AND tier = '' AND profile = ''
"""
LIVES = "SELECT node_id, valid_from, lifecycle FROM accounting_nodefact ORDER BY 1, 2"


def conserved(url: str) -> Conserved:
    """Compare everything that is stored, in one snapshot of the database."""
    with psycopg.connect(url) as database:
        database.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        counts = (
            f"WITH {DONE} SELECT count(*) FROM done",
            "SELECT count(*) FROM usage_window",
        )
        windows, facts = (int(_rows(database, query)[0][0]) for query in counts)
        compared = list(_compared(database))
    findings = [
        f"{what}: {found}, should be {wanted}"
        for what, found, wanted in compared
        if found != wanted
    ]
    return Conserved(windows, facts, len(compared), tuple(findings))


Pair = tuple[str, Any, Any]  # what, found, expected


def _compared(database: psycopg.Connection) -> Iterator[Pair]:
    for unit in ("hour", "day"):
        yield from _rows(database, TIME, unit=unit)
    yield from _rows(database, HOURS)
    yield from _rows(database, DAYS)
    yield from _rows(database, FAMILY_DAYS)
    yield from _rows(database, TOTALS)
    yield from _rows(database, DAY_TOTALS)
    yield from _money(database)


def _rows(database: psycopg.Connection, query: str, **values: str) -> list[Any]:
    return database.execute(query.encode(), values or None).fetchall()


def _money(database: psycopg.Connection) -> Iterator[Pair]:
    """For every clean hour and model: the lines, compared with the price of the GPUs' time.

    The price of each window is looked up here separately (rules.md N24, N26), by the model
    and by the lifecycle of the node at the start of the window.
    """
    prices = _rows(database, PRICES)
    lives: dict[int, list[tuple[datetime, str]]] = defaultdict(list)
    for node, since, lifecycle in _rows(database, LIVES):
        lives[node].append((since, lifecycle))
    price: dict[tuple[int, datetime, str], Decimal] = defaultdict(Decimal)
    unpriced: set[tuple[int, datetime, str]] = set()
    for cluster, at, model, node, ms in _rows(database, FLEET):
        key = (cluster, at.replace(minute=0), model)
        rate = _rate(prices, cluster, model, _lifecycle(lives[node], at), at)
        if rate is None:
            unpriced.add(key)
        else:
            price[key] += ms * rate
    for cluster, hour, model, money in _rows(database, LINES):
        key = (cluster, hour, model)
        if key not in unpriced:
            yield f"money of {model} in the hour {hour}", money, price[key]


def _lifecycle(facts: Sequence[tuple[datetime, str]], at: datetime) -> str:
    known = [lifecycle for since, lifecycle in facts if since <= at]
    return (known or [lifecycle for _, lifecycle in facts[:1]] or ["unknown"])[-1]


def _rate(
    prices: Sequence[Any], cluster: int, model: str, lifecycle: str, at: datetime
) -> Decimal | None:
    fitting = [
        ((of is not None) + bool(life), of is not None, rate)
        for name, of, life, rate, since, until in prices
        if name == model
        and of in {None, cluster}
        and life in {"", lifecycle}
        and since <= at
        and (until is None or at < until)
    ]
    return max(fitting)[2] if fitting else None
