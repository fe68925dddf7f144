"""Sums that triggers keep, against their rows (I5): by family, and totals of hours."""

from accounting.core.ledger_line import STATES
from accounting.kit.reads.invariant import Check
from accounting.metering.sql.states_sql import STATE_COLUMNS, columns, sums, wall
from accounting.prices.sql.charge_sql import KEY_COLUMNS, RATE_COLUMNS, SUMMED_COLUMNS
from accounting.prices.sql.line_hours_sql import IS_LATER, IS_TIME
from accounting.usage.reads.relation.families import lines_with_family

_KEY = ("cluster_id", *(name for name in KEY_COLUMNS if name != "workload_id"))
_DAYS = "u.billing_on >= (%(start)s)::date - 1 AND u.billing_on <= (%(end)s)::date"
_SUMS = ", ".join(f"sum(u.{name})::bigint AS {name}" for name in SUMMED_COLUMNS)
_RATES = ", ".join(f"max(u.{name}) AS {name}" for name in RATE_COLUMNS)
_DIFFER = " OR ".join(
    f"a.{name} IS DISTINCT FROM b.{name}" for name in (*SUMMED_COLUMNS, *RATE_COLUMNS)
)

FAMILY_CHECK = Check(
    "days by family match their days (I5)",
    "every day by family has exactly the time and the rates of the days of its workloads",
    f"""
    WITH a AS (
        SELECT u.* FROM usage_family_day u WHERE {_DAYS}
    ), b AS (
        SELECT {", ".join(f"u.{name}" for name in _KEY)}, coalesce(w.family, '') AS family,
               {_SUMS}, {_RATES}
        FROM usage_day u LEFT JOIN accounting_workload w ON w.id = u.workload_id
        WHERE {_DAYS}
        GROUP BY {", ".join(f"u.{name}" for name in _KEY)}, coalesce(w.family, '')
    )
    SELECT billing_on || ' ' || family, coalesce({wall("a")}, 0)::text,
           coalesce({wall("b")}, 0)::text
    FROM a FULL JOIN b USING ({", ".join(_KEY)}, family) WHERE {_DIFFER}
    """,
)

HOUR_CHECK = Check(
    "totals of hours match their hours (I5)",
    "every hour has a total, with exactly the time of its rows",
    f"""
    WITH a AS (
        SELECT cluster_id, hour_start, {columns()} FROM usage_hour_total
        WHERE hour_start >= %(start)s AND hour_start < %(end)s
    ), b AS (
        SELECT cluster_id, hour_start, {sums()} FROM usage_hour
        WHERE hour_start >= %(start)s AND hour_start < %(end)s
        GROUP BY cluster_id, hour_start
    )
    SELECT hour_start::text, coalesce({wall("a")}, 0)::text, coalesce({wall("b")}, 0)::text
    FROM a FULL JOIN b USING (cluster_id, hour_start)
    WHERE {" OR ".join(f"a.{s} IS DISTINCT FROM b.{s}" for s in STATE_COLUMNS)}
    """,
)

DAY_CHECK = Check(
    "totals of days match their days (I5)",
    "every billing day has a total, with exactly the time and the cost of its rows",
    f"""
    WITH a AS (
        SELECT u.* FROM usage_day_total u WHERE {_DAYS}
    ), b AS (
        SELECT u.cluster_id, u.billing_on, {sums("u")}, sum({wall("u")} * u.gpu_cost) AS cost_raw
        FROM usage_day u WHERE {_DAYS} GROUP BY u.cluster_id, u.billing_on
    )
    SELECT billing_on::text, coalesce({wall("a")}, 0)::text, coalesce({wall("b")}, 0)::text
    FROM a FULL JOIN b USING (cluster_id, billing_on)
    WHERE {" OR ".join(f"a.{s} IS DISTINCT FROM b.{s}" for s in (*STATE_COLUMNS, "cost_raw"))}
    """,
)

_OF_LINES = (
    *("revision_id", "billing_on", "team", "cluster", "namespace", "family"),
    *("workload_type", "model", "lifecycle", "tier"),
)
_LINE_SUMS = {
    "charge": "sum(l.charge)",
    "charges": "count(l.charge)",
    "rest_charge": f"sum(l.charge) FILTER (WHERE NOT ({IS_TIME}))",
}
for _state in STATES:
    _of = f"FILTER (WHERE {IS_TIME} AND l.state = '{_state}')"
    _LINE_SUMS |= {
        f"{_state}_charge": f"sum(l.charge) {_of}",
        f"{_state}_lines": f"nullif(count(l.charge) {_of}, 0)",
        f"{_state}_unpriced": f"sum(CASE WHEN l.charge IS NULL THEN l.ms END) {_of}",
    }

LINES_CHECK = Check(
    "booked lines by family match their lines (I5)",
    "every closed day by family has exactly the charges of the lines of its workloads",
    f"""
    WITH a AS (
        SELECT u.* FROM charge_family_day u
        JOIN accounting_periodrevision r ON r.id = u.revision_id AND r.reopened_at IS NULL
        WHERE {_DAYS}
    ), b AS (
        SELECT {", ".join(f"l.{name}" for name in _OF_LINES)}, {IS_LATER} AS is_later,
               {", ".join(f"{sql} AS {name}" for name, sql in _LINE_SUMS.items())}
        FROM {lines_with_family("charge_line")} l
        JOIN accounting_periodrevision r ON r.id = l.revision_id AND r.reopened_at IS NULL
        WHERE {_DAYS.replace("u.", "l.")} AND l.kind <> 'rounding'
        GROUP BY {", ".join(f"l.{name}" for name in _OF_LINES)}, {IS_LATER}
    )
    SELECT billing_on || ' ' || family, coalesce(a.charge, 0)::text, coalesce(b.charge, 0)::text
    FROM a FULL JOIN b USING ({", ".join((*_OF_LINES, "is_later"))})
    WHERE {" OR ".join(f"a.{name} IS DISTINCT FROM b.{name}" for name in _LINE_SUMS)}
    """,
)

_OF_HOURS = (*_OF_LINES, "kind", "state")
_HOUR_KEY = ", ".join((*_OF_HOURS, "is_later", "is_priced", "hour"))

HOURS_CHECK = Check(
    "booked hours by family match their lines (I5)",
    "every closed hour by family has exactly the charges of the hours of its lines",
    f"""
    SELECT billing_on || ' ' || family || ' ' || hour, coalesce(sum(a), 0)::text,
           coalesce(sum(b), 0)::text
    FROM (
        SELECT {", ".join(f"u.{name}" for name in _OF_HOURS)}, u.is_later, u.is_priced, p.hour,
               p.total - coalesce(u.sums[p.n - 1], 0) AS a, NULL::numeric AS b
        FROM charge_family_hours u
        JOIN accounting_periodrevision r ON r.id = u.revision_id AND r.reopened_at IS NULL
        CROSS JOIN unnest(u.hours, u.sums) WITH ORDINALITY p(hour, total, n)
        WHERE {_DAYS}
        UNION ALL
        SELECT {", ".join(f"l.{name}" for name in _OF_HOURS)}, {IS_LATER}, l.charge IS NOT NULL,
               p.hour, NULL, p.part
        FROM {lines_with_family("charge_line")} l
        JOIN accounting_periodrevision r ON r.id = l.revision_id AND r.reopened_at IS NULL
        JOIN line_hours h ON h.revision_id = l.revision_id AND h.line_id = l.line_id
        CROSS JOIN unnest(h.hours, h.parts) p(hour, part)
        WHERE {_DAYS.replace("u.", "l.")} AND l.kind <> 'rounding'
    ) o ({_HOUR_KEY}, a, b)
    GROUP BY {_HOUR_KEY} HAVING sum(a) IS DISTINCT FROM sum(b)
    """,
)

SUM_CHECKS = (FAMILY_CHECK, HOUR_CHECK, DAY_CHECK, LINES_CHECK, HOURS_CHECK)
