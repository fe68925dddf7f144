"""Charges of booked lines divided over the hours of their day (money.md M5).

A line's hours are those of the same time and price as known now; where its price has changed since,
those of the same time. A line without any, and an entry, is in the first hour of its day.
"""

from collections.abc import Sequence

from accounting.domain.billing.charge_lines import PLATFORM
from accounting.domain.core.ledger_line import STATES
from accounting.rating.largest_remainder_sql import largest_remainder
from accounting.rating.line_sql import dated

_TIME = (
    *("kind", "team", "billing_on", "cluster", "namespace", "workload_kind"),
    *("workload", "workload_type", "model", "lifecycle", "tier", "state"),
)
"""What time of hours and lines has in common; `team` of what is spread is empty."""
_KEY = (*_TIME, "profile", "price_currency", "rate")

_BILLING_CURRENCY = """(SELECT max(b.currency) FROM accounting_periodrevision b
    WHERE b.closed_at IS NOT NULL AND b.reopened_at IS NULL)"""
_NO_WORKLOAD = "'', '', '', ''"  # namespace to workload_type

# Within a line the price is the same, so its money is divided as its time is.
_USAGE = """
    SELECT 'usage' AS kind, team, billing_on, cluster, namespace, workload_kind, workload,
           workload_type, model, profile, lifecycle, tier, state, price_currency,
           coalesce(rate, -1) AS rate, hour_start, sum(ms)::numeric AS weight
    FROM stated WHERE is_paid AND EXISTS (SELECT FROM line WHERE kind = 'usage')
    GROUP BY team, billing_on, cluster, namespace, workload_kind, workload, workload_type,
             model, profile, lifecycle, tier, state, price_currency, rate, hour_start"""
_PLATFORM = f"""
    SELECT 'platform', '{PLATFORM}', billing_on, cluster, {_NO_WORKLOAD}, model, '',
           lifecycle, '', state, own_currency, coalesce(own_rate, -1), hour_start, sum(ms)
    FROM stated WHERE NOT is_paid AND EXISTS (SELECT FROM line WHERE kind = 'platform')
    GROUP BY billing_on, cluster, model, lifecycle, state, own_currency, own_rate, hour_start"""
_DIFFERENCE = f"""
    SELECT 'difference', '{PLATFORM}', billing_on, cluster, {_NO_WORKLOAD}, model, profile,
           lifecycle, tier, '', '', -1, hour_start,
           sum(ms * (own_rate * own_fx - rate * fx))
    FROM stated WHERE is_paid AND own_rate * own_fx * rate * fx IS NOT NULL
        AND EXISTS (SELECT FROM line WHERE kind = 'difference')
    GROUP BY billing_on, cluster, model, profile, lifecycle, tier, hour_start"""
_SPREAD = f"""
    SELECT 'spread', '', billing_on, cluster, {_NO_WORKLOAD}, model, '', lifecycle, '', state,
           '', -1, hour_start, sum(ms * own_rate * own_fx)
    FROM stated WHERE NOT is_paid AND own_rate * own_fx IS NOT NULL
        AND EXISTS (SELECT FROM line WHERE kind = 'spread')
    GROUP BY billing_on, cluster, model, lifecycle, state, hour_start"""
_FIRST_HOUR = """date_trunc('hour', CASE
        WHEN l.billing_on = to_date(p.period, 'YYYY-MM') THEN p.starts_at
        ELSE l.billing_on::timestamp AT TIME ZONE p.timezone END, 'UTC')"""


def divided_by_hour(lines: str, days: str) -> str:
    """A SELECT of all columns of booked lines, their hour and the part in it.

    It adds `hour_start`, `charge_part` (six places) and `unpriced_part` (milliseconds without
    money).

    Args:
        lines: a SELECT of whole lines of `charge_line` or `running_line`.
        days: SQL of which rows `d` of `usage_hour` are theirs.
    """
    time = dated("usage_hour", also=("hour_start",), into=_BILLING_CURRENCY, where=days)
    states = ", ".join(f"('{state}', dated.{state}_ms)" for state in STATES)
    shared = largest_remainder(
        "weighed",
        "units * weight * sign(weights)",
        "abs(weights)",
        "units",
        "revision_id, line_id",
        ["to_char(floored.hour_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')"],
    )
    return f"""
    WITH line AS MATERIALIZED (
        SELECT l.*, {_digest("l", _KEY)} AS id, {_digest("l", _TIME)} AS time_id
        FROM ({lines}) l
    ), dated AS ({time}), stated AS MATERIALIZED (
        SELECT dated.*, s.state, s.ms,
               is_held AND s.state IN ('busy', 'idle', 'unknown')
               AND NOT (s.state = 'idle' AND starts_with(p.method, 'busy-v1')) AS is_paid
        FROM dated
        JOIN accounting_periodrevision p ON p.period = to_char(dated.billing_on, 'YYYY-MM')
            AND p.reopened_at IS NULL
        CROSS JOIN LATERAL (VALUES {states}) s(state, ms)
        WHERE s.ms <> 0
    ), hours AS MATERIALIZED (
        SELECT {_digest("h", _KEY)} AS id, {_digest("h", _TIME)} AS time_id, hour_start, weight
        FROM ({_USAGE} UNION ALL {_PLATFORM} UNION ALL {_DIFFERENCE} UNION ALL {_SPREAD}) h
    ), exact AS (
        SELECT * FROM hours
        JOIN (SELECT id, sum(weight) AS weights FROM hours GROUP BY id) t USING (id)
        WHERE t.weights <> 0
    ), again AS MATERIALIZED (
        SELECT time_id, hour_start, sum(weight) AS weight FROM hours
        WHERE time_id IN (SELECT time_id FROM line WHERE id NOT IN (SELECT id FROM hours))
        GROUP BY time_id, hour_start
    ), timed AS (
        SELECT * FROM again
        JOIN (SELECT time_id, sum(weight) AS weights FROM again GROUP BY time_id) t
            USING (time_id)
        WHERE t.weights <> 0
    ), weighed AS (
        SELECT l.*, coalesce(h.hour_start, o.hour_start, {_FIRST_HOUR}) AS hour_start,
               coalesce(h.weight, o.weight, 1) AS weight,
               coalesce(h.weights, o.weights, 1) AS weights,
               CASE WHEN l.charge IS NULL THEN l.ms ELSE l.charge * 1000000 END AS units
        FROM line l
        JOIN accounting_periodrevision p ON p.period = to_char(l.billing_on, 'YYYY-MM')
            AND p.reopened_at IS NULL
        LEFT JOIN exact h ON h.id = l.id AND l.reference = ''
        LEFT JOIN timed o ON h.id IS NULL AND o.time_id = l.time_id AND l.reference = ''
    )
    SELECT shared.*,
           CASE WHEN charge IS NULL THEN NULL ELSE share * 0.000001 END AS charge_part,
           CASE WHEN charge IS NULL THEN share ELSE 0 END AS unpriced_part
    FROM ({shared}) shared"""


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
