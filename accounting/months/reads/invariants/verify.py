"""The invariants that can be checked in a database, each as a query that finds violations."""

from collections.abc import Sequence

from django.db import connection

from accounting.core.interval import Interval
from accounting.kit.reads.invariant import Check, Verdict
from accounting.metering.reads.ledger_ends import oldest
from accounting.metering.sql.states_sql import (
    STATE_COLUMNS,
    columns,
    held,
    platform,
    sums,
    wall,
)
from accounting.months.reads.invariants.day_checks import (
    UNLIKE_FACTS,
    bounds,
    stored_days,
)
from accounting.months.reads.invariants.gpu_checks import GPU_CHECKS
from accounting.months.reads.invariants.sum_checks import SUM_CHECKS
from accounting.organization.reads.chain_checks import audit_checks
from accounting.prices.sql.charge_sql import INTENSITY_COLUMNS, difference, over, raw

_DIFFER = " OR ".join(
    f"coalesce(a.{s}, 0) <> coalesce(b.{s}, 0)" for s in STATE_COLUMNS
)
_HARD = ", ".join(f"{over(name)} AS {name}" for name in INTENSITY_COLUMNS)
_HARD_DIFFER = " OR ".join(
    f"coalesce(a.{name}, 0) <> coalesce(b.{name}, 0)" for name in INTENSITY_COLUMNS
)


_KEY = ("window_start", "window_start")  # column, and its order
_OLDEST_WINDOW = oldest("usage_window", *_KEY)

CHECKS: Sequence[Check] = (
    Check(
        "time is conserved (I3)",
        "the states of each GPU in a window add up to the time it was present",
        f"""
        WITH done AS (
            SELECT cluster_id, window_start,
                   (extract(epoch FROM window_start) * 1000)::bigint AS low
            FROM accounting_ingestwindow
            WHERE state IN ('done', 'partial') AND rows > 0
              AND window_start >= %(start)s AND window_start < %(end)s
        ), facts AS (
            SELECT cluster_id, window_start, gpu_id, sum({wall()}) AS ms
            FROM usage_window JOIN done USING (cluster_id, window_start)
            GROUP BY cluster_id, window_start, gpu_id
        ), present AS (
            SELECT d.cluster_id, d.window_start, p.gpu_id,
                   sum(least(d.low + 300000, coalesce(p.end_ms, d.low + 300000))
                       - greatest(d.low, p.start_ms)) AS ms
            FROM done d
            JOIN accounting_gpu g ON g.cluster_id = d.cluster_id
            JOIN accounting_gpupresence p ON p.gpu_id = g.id
                AND p.start_ms < d.low + 300000
                AND (p.end_ms IS NULL OR p.end_ms > d.low)
            GROUP BY d.cluster_id, d.window_start, p.gpu_id
        ), newest AS (
            SELECT cluster_id, max(window_start) AS at FROM done GROUP BY cluster_id
        )
        SELECT g.uuid || ' ' || coalesce(f.window_start, p.window_start),
               coalesce(f.ms, 0)::text, coalesce(p.ms, 0)::text
        FROM facts f FULL JOIN present p USING (cluster_id, window_start, gpu_id)
        JOIN accounting_gpu g ON g.id = gpu_id
        JOIN newest n ON n.cluster_id = g.cluster_id
        WHERE coalesce(f.ms, 0) <> coalesce(p.ms, 0) AND window_start < n.at
        """,
    ),
    Check(
        "no window exceeds its length",
        "the states of a GPU in a window are not negative and never exceed five minutes",
        f"""
        SELECT gpu_id || ' ' || window_start, sum({wall()})::text, '300000'
        FROM usage_window
        WHERE window_start >= %(start)s AND window_start < %(end)s
        GROUP BY cluster_id, window_start, gpu_id
        HAVING sum({wall()}) > 300000
            OR min(least({columns()})) < 0
        """,
    ),
    Check(
        "platform states apply to the platform only",
        "lines of pods have only busy, idle and unknown time; the platform's lines have the "
        "other states",
        f"""
        SELECT gpu_id || ' ' || window_start, pod_id::text, 'its own states'
        FROM usage_window
        WHERE window_start >= %(start)s AND window_start < %(end)s
          AND ((pod_id = 0 AND {held()} <> 0)
            OR (pod_id <> 0 AND {platform()} <> 0))
        """,
    ),
    Check(
        "unknown is not idle (I9)",
        "a line without a metric has neither busy nor idle time",
        """
        SELECT gpu_id || ' ' || window_start, (busy_ms + idle_ms)::text, '0'
        FROM usage_window
        WHERE window_start >= %(start)s AND window_start < %(end)s
          AND metric = 0 AND busy_ms + idle_ms <> 0
        """,
    ),
    Check(
        "hours match their windows (I5)",
        "every up-to-date hour is the sum of its five-minute facts",
        f"""
        WITH a AS (
            SELECT cluster_id, hour_start, {sums()} FROM usage_hour
            WHERE hour_start >= %(start)s AND hour_start < %(end)s
            GROUP BY cluster_id, hour_start
        ), b AS (
            SELECT cluster_id, date_trunc('hour', window_start, 'UTC') AS hour_start, {sums()}
            FROM usage_window
            WHERE window_start >= %(start)s AND window_start < %(end)s
            GROUP BY cluster_id, hour_start
        )
        SELECT j.hour_start::text, j.rolled::text, j.facts::text
        FROM (
            SELECT cluster_id, hour_start, coalesce(a.busy_ms, 0) AS rolled,
                   coalesce(b.busy_ms, 0) AS facts
            FROM a FULL JOIN b USING (cluster_id, hour_start)
            WHERE {_DIFFER}
        ) j
        WHERE j.hour_start >= {_OLDEST_WINDOW}
          AND NOT EXISTS (SELECT 1 FROM accounting_dirtyhour d
                          WHERE d.cluster_id = j.cluster_id
                            AND d.hour_start = j.hour_start)
        """,
    ),
    Check(
        "days match their hours (I5)",
        "every billing day whose hours are up to date is the sum of its hours",
        f"""
        WITH a AS (
            SELECT cluster_id, billing_on, {sums()} FROM usage_day
            GROUP BY cluster_id, billing_on
        ), b AS (
            SELECT cluster_id, billing_on, {sums()} FROM usage_hour
            GROUP BY cluster_id, billing_on
        )
        SELECT j.billing_on::text, j.rolled::text, j.hours::text
        FROM (
            SELECT cluster_id, billing_on, coalesce(a.busy_ms, 0) AS rolled,
                   coalesce(b.busy_ms, 0) AS hours
            FROM a FULL JOIN b USING (cluster_id, billing_on)
            WHERE {_DIFFER}
        ) j
        WHERE j.billing_on >= {oldest("usage_hour", "billing_on", "hour_start, billing_on")}
          AND j.billing_on >= (%(start)s)::date - 1 AND j.billing_on <= (%(end)s)::date
          AND NOT EXISTS (SELECT 1 FROM accounting_dirtyhour d
                          WHERE d.cluster_id = j.cluster_id AND d.hour_start::date
                                BETWEEN j.billing_on - 1 AND j.billing_on + 1)
        """,
    ),
    Check(
        "days match their facts (I5)",
        "every billing day whose facts are kept has exactly their time, none of it twice",
        UNLIKE_FACTS,
    ),
    *SUM_CHECKS,
    *GPU_CHECKS,
    *(
        Check(
            f"GPU activity: {coarse}s match their {fine}s",
            f"the GPU activity of every up-to-date {coarse} is the sum of its {fine}s",
            f"""
            WITH a AS (
                SELECT cluster_id, {key} AS at, {_HARD} FROM intensity_{coarse}
                WHERE {key} >= {low} AND {key} <= {high}
                GROUP BY cluster_id, at
            ), b AS (
                SELECT cluster_id, {of} AS at, {_HARD} FROM intensity_{fine}
                WHERE {of} >= {low} AND {of} <= {high} AND {near_by}
                GROUP BY cluster_id, at
            )
            SELECT at::text, coalesce(a.energy_mj, 0)::text, coalesce(b.energy_mj, 0)::text
            FROM a FULL JOIN b USING (cluster_id, at)
            WHERE ({_HARD_DIFFER})
              AND at >= {first}
              AND NOT EXISTS (SELECT 1 FROM accounting_dirtyhour d
                              WHERE d.cluster_id = coalesce(a.cluster_id, b.cluster_id)
                                AND d.hour_start {near})
            """,
        )
        for coarse, fine, key, of, low, high, near_by, first, near in (
            (
                *("hour", "window", "hour_start"),
                "date_trunc('hour', window_start, 'UTC')",
                *("%(start)s", "%(end)s - interval '1 second'"),
                # only these partitions; an expression of the key would read all of them
                (
                    "window_start >= %(start)s "
                    "AND window_start < %(end)s + interval '1 hour'"
                ),
                f"date_trunc('hour', {oldest('intensity_window', *_KEY)}, 'UTC')",
                "= at",
            ),
            (
                *("day", "hour", "billing_on", "billing_on"),
                *("(%(start)s)::date - 1", "(%(end)s)::date"),
                *(
                    "true",
                    oldest("intensity_hour", "billing_on", "hour_start, billing_on"),
                ),
                "BETWEEN at - interval '1 day' AND at + interval '2 days'",
            ),
        )
    ),
    Check(
        "money is conserved (I6)",
        "the charges of teams and the platform add up to the price of all GPU time",
        f"""
        WITH fleet AS (
            SELECT w.cluster_id, date_trunc('hour', w.window_start, 'UTC') AS hour_start,
                   g.model, sum({wall()}) AS ms
            FROM usage_window w JOIN accounting_gpu g ON g.id = w.gpu_id
            WHERE w.window_start >= %(start)s AND w.window_start < %(end)s
            GROUP BY w.cluster_id, hour_start, g.model
        ), lines AS (
            SELECT cluster_id, hour_start, model,
                   sum({raw(wall(), "rate")}
                       + {difference(held(), "rate", "gpu_rate")}) AS money,
                   min(gpu_rate) AS low, max(gpu_rate) AS high,
                   bool_or(price_id = 0 OR gpu_price_id = 0) AS is_unpriced
            FROM usage_hour
            WHERE hour_start >= %(start)s AND hour_start < %(end)s
            GROUP BY cluster_id, hour_start, model
        )
        SELECT model || ' ' || hour_start, money::text, (ms * low)::text
        FROM fleet JOIN lines USING (cluster_id, hour_start, model)
        WHERE NOT is_unpriced AND low = high AND money <> ms * low
          AND NOT EXISTS (SELECT 1 FROM accounting_dirtyhour d
                          WHERE d.cluster_id = fleet.cluster_id
                            AND d.hour_start = lines.hour_start)
        """,
    ),
    Check(
        "each GPU is in one place",
        "no GPU is in two places at the same time",
        """
        SELECT g.uuid, a.start_ms::text, b.start_ms::text
        FROM accounting_gpupresence a
        JOIN accounting_gpupresence b ON b.gpu_id = a.gpu_id AND b.id > a.id
            AND a.start_ms < coalesce(b.end_ms, 9223372036854775807)
            AND b.start_ms < coalesce(a.end_ms, 9223372036854775807)
        JOIN accounting_gpu g ON g.id = a.gpu_id
        """,
    ),
    Check(
        "the window list matches the stored facts",
        "every computed window has as many facts as its record states",
        f"""
        SELECT w.window_start::text, w.rows::text, count(u.gpu_id)::text
        FROM accounting_ingestwindow w
        LEFT JOIN usage_window u ON u.cluster_id = w.cluster_id
            AND u.window_start = w.window_start
        WHERE w.state IN ('done', 'partial')
          AND w.window_start >= %(start)s AND w.window_start < %(end)s
          AND w.window_start >= {_OLDEST_WINDOW}
        GROUP BY w.id HAVING count(u.gpu_id) <> w.rows
        """,
    ),
)


def verdicts(period: Interval) -> list[Verdict]:
    """Run every check over a period, in one snapshot of the database."""
    parameters = {
        "start": period.start,
        "end": period.end,
        **bounds(stored_days(period)),
    }
    found: list[Verdict] = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM usage_window WHERE window_start >= %(start)s "
            "AND window_start < %(end)s",
            parameters,
        )
        checked = int(cursor.fetchone()[0])
        for check in (*CHECKS, *audit_checks()):
            rows: list[tuple[str, str, str]] = []
            for query in check.queries:
                cursor.execute(f"{query} LIMIT 20", parameters)
                rows += ((str(a), str(b), str(c)) for a, b, c in cursor.fetchall())
            found.append(Verdict(check, checked, tuple(rows[:20])))
    return found
