"""Booked lines divided over the hours of their days, when they are booked (money.md M5).

A line's hours are those of the same time and price as known then; where its price has changed since
its day, those of the same time. A line without any, and an entry, is in the first hour of its day.
"""

from collections.abc import Sequence

from accounting.core.charge_lines import PLATFORM
from accounting.core.ledger_line import STATES
from accounting.metering.sql.largest_remainder_sql import largest_remainder
from accounting.prices.sql.line_sql import dated

_TIME = (
    *("kind", "team", "billing_on", "cluster", "namespace", "workload_kind"),
    *("workload", "workload_type", "model", "lifecycle", "tier", "state"),
)
"""What time of hours and lines has in common; `team` of what is spread is empty."""
_KEY = (*_TIME, "profile", "price_currency", "rate")

_NO_WORKLOAD = "'', '', '', ''"  # namespace to workload_type

# What an hour of a day's time is to a line: its milliseconds x `factor`. Within a line the price
# is the same, so its money is divided as its time is.
_USAGE = """
    SELECT 'usage' AS kind, team, billing_on, cluster, namespace, workload_kind, workload,
           workload_type, model, profile, lifecycle, tier, state, price_currency, rate,
           1::numeric AS factor, part, state AS of_state, ms
    FROM stated WHERE is_paid
        AND EXISTS (SELECT FROM line WHERE kind = 'usage')"""
_PLATFORM = f"""
    SELECT 'platform', '{PLATFORM}', billing_on, cluster, {_NO_WORKLOAD}, model, '',
           lifecycle, '', state, own_currency, own_rate, 1, part, state, ms
    FROM stated WHERE NOT is_paid
        AND EXISTS (SELECT FROM line WHERE kind = 'platform')"""
_DIFFERENCE = f"""
    SELECT 'difference', '{PLATFORM}', billing_on, cluster, {_NO_WORKLOAD}, model, profile,
           lifecycle, tier, '', '', NULL, own_rate * own_fx - rate * fx, part, state, ms
    FROM stated WHERE is_paid AND own_rate * own_fx * rate * fx IS NOT NULL
        AND EXISTS (SELECT FROM line WHERE kind = 'difference')"""
_SPREAD = f"""
    SELECT 'spread', '', billing_on, cluster, {_NO_WORKLOAD}, model, '', lifecycle, '', state,
           '', NULL, own_rate * own_fx, part, state, ms
    FROM stated WHERE NOT is_paid AND own_rate * own_fx IS NOT NULL
        AND EXISTS (SELECT FROM line WHERE kind = 'spread')"""
_MIDNIGHT = "l.billing_on::timestamp AT TIME ZONE p.timezone"
# Where clocks go back at midnight it is midnight twice, and PostgreSQL takes the second one.
_FIRST_HOUR = f"""date_trunc('hour', CASE
        WHEN l.billing_on = to_date(p.period, 'YYYY-MM') THEN p.starts_at
        WHEN ({_MIDNIGHT} - interval '1 hour') AT TIME ZONE p.timezone >= l.billing_on
            THEN {_MIDNIGHT} - interval '1 hour'
        ELSE {_MIDNIGHT} END, 'UTC')"""
_UNITS = "CASE WHEN l.charge IS NULL THEN l.ms ELSE l.charge * 1000000 END"
_IDS = (
    *("cluster_id", "billing_on", "namespace_id", "team_id", "workload_id"),
    *("workload_type", "model", "lifecycle", "tier", "price_id", "gpu_price_id"),
)
"""The key of `usage_hour`, but the hour."""
_RATES = ("rate", "gpu_rate")


IS_TIME = "kind IN ('usage', 'platform')"
"""SQL: lines of time, each in one state; others are of none."""

IS_LATER = "(l.corrects <> '' OR l.kind IN ('credit', 'adjustment'))"
"""SQL: lines `l` of a day that a month books later or beside its time."""

_OF_DAYS = """d.billing_on = ANY(%(days)s)
    AND d.hour_start >= %(days_begin)s AND d.hour_start < %(days_end)s"""


def line_hours(lines: str) -> str:
    """A SELECT of `line_id`, its `hours` in order, and the `parts` in them.

    A part is of the charge, in six places; of a line without a charge, of its milliseconds.
    Names are compared once for each day; the hours of a day are joined by ids. Parameters:
    currency, days (the billing days of the lines), days_begin and days_end (all hours of these
    days are between them: the partitions that are read).

    Args:
        lines: a SELECT of whole lines of `charge_line` or `running_line`.
    """
    time = dated("day_part", also=("part",), where="true")
    states = ", ".join(f"('{state}', dated.{state}_ms)" for state in STATES)
    sums = ", ".join(f"sum(d.{state}_ms)::bigint AS {state}_ms" for state in STATES)
    hour_states = " ".join(f"WHEN '{state}' THEN d.{state}_ms" for state in STATES)
    same = " AND ".join(f"g.{name} = d.{name}" for name in _IDS)
    prices = " AND ".join(f"g.{name} IS NOT DISTINCT FROM d.{name}" for name in _RATES)
    ids = ", ".join(f"d.{name}" for name in (*_IDS, *_RATES))
    shared = largest_remainder(
        "weighed",
        "units * weight * sign(weights)",
        "abs(weights)",
        "units",
        "number",
        ["floored.hour_start"],
        is_text=False,
    )
    return f"""
    WITH line AS MATERIALIZED (
        SELECT l.*, {_digest("l", _KEY)} AS id, row_number() OVER () AS number
        FROM ({lines}) l
    ), day_part AS MATERIALIZED (
        SELECT {ids}, {sums}, row_number() OVER () AS part
        FROM usage_hour d WHERE {_OF_DAYS} GROUP BY {ids}
    ), dated AS MATERIALIZED ({time}), stated AS (
        SELECT dated.*, s.state, s.ms,
               is_held AND s.state IN ('busy', 'idle', 'unknown')
               AND NOT (s.state = 'idle' AND starts_with(p.method, 'busy-v1')) AS is_paid
        FROM dated
        JOIN accounting_periodrevision p ON p.period = to_char(dated.billing_on, 'YYYY-MM')
            AND p.reopened_at IS NULL
        CROSS JOIN LATERAL (VALUES {states}) s(state, ms)
        WHERE s.ms <> 0
    ), keyed AS MATERIALIZED (
        SELECT h.*, {_digest("h", _KEY)} AS id
        FROM ({_USAGE} UNION ALL {_PLATFORM} UNION ALL {_DIFFERENCE} UNION ALL {_SPREAD}) h
    ), known AS MATERIALIZED (
        SELECT id, sum(ms * factor) AS weights FROM keyed GROUP BY id
    ), lost AS MATERIALIZED (
        SELECT number, {_digest("l", _TIME)} AS id FROM line l
        WHERE reference = '' AND id NOT IN (SELECT id FROM known)
    ), timed AS MATERIALIZED (
        SELECT {_digest("h", _TIME)} AS id, part, of_state, factor, ms FROM keyed h
        WHERE EXISTS (SELECT FROM lost)
    ), wanted AS MATERIALIZED (
        SELECT l.number, id, weights FROM line l JOIN known USING (id)
        WHERE l.reference = '' AND weights <> 0
        UNION ALL
        SELECT number, id, weights FROM lost
        JOIN (SELECT id, sum(ms * factor) AS weights FROM timed GROUP BY id) t USING (id)
        WHERE weights <> 0
    ), target AS MATERIALIZED (
        SELECT id, row_number() OVER () AS target FROM (SELECT DISTINCT id FROM wanted) w
    ), route AS MATERIALIZED (
        SELECT part, of_state, factor, target
        FROM (SELECT id, part, of_state, factor FROM keyed UNION ALL
              SELECT id, part, of_state, factor FROM timed) k
        JOIN target USING (id)
    ), hours AS MATERIALIZED (
        SELECT target, hour_start, sum(ms * factor) AS weight
        FROM (
            SELECT r.target, d.hour_start, r.factor, CASE r.of_state {hour_states} END AS ms
            FROM usage_hour d
            JOIN day_part g ON {same} AND {prices}
            JOIN route r USING (part)
            WHERE {_OF_DAYS}
        ) h
        WHERE ms <> 0
        GROUP BY target, hour_start
    ), listed AS MATERIALIZED (
        SELECT number, target, weights, {_UNITS} AS units
        FROM line l JOIN wanted USING (number) JOIN target ON target.id = wanted.id
    ), weighed AS (
        SELECT number, hour_start, weight, weights, units FROM hours JOIN listed USING (target)
        UNION ALL
        SELECT l.number, {_FIRST_HOUR}, 1, 1, {_UNITS}
        FROM line l
        JOIN accounting_periodrevision p ON p.period = to_char(l.billing_on, 'YYYY-MM')
            AND p.reopened_at IS NULL
        WHERE l.number NOT IN (SELECT number FROM wanted)
    )
    SELECT l.line_id, array_agg(shared.hour_start ORDER BY shared.hour_start) AS hours,
           array_agg(CASE WHEN l.charge IS NULL THEN share ELSE share * 0.000001 END
                     ORDER BY shared.hour_start) AS parts
    FROM ({shared}) shared JOIN line l USING (number) GROUP BY l.line_id"""


def _digest(alias: str, names: Sequence[str]) -> str:
    """One value for a key: joins of fifteen texts are slow, and planned as if they found none."""
    texts = ", ".join(_text(alias, name) for name in names)
    return f"md5(concat_ws(chr(31), {texts}))::uuid"


def _text(alias: str, name: str) -> str:
    if name == "team":
        return f"CASE WHEN {alias}.kind = 'spread' THEN '' ELSE {alias}.team END"
    if name == "rate":
        return f"trim_scale(coalesce({alias}.rate, -1))"
    return f"{alias}.{name}"
