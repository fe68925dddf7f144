"""The platform's lines divided over teams by their weights, exactly (money.md M23)."""

from accounting.core.charge_lines import PLATFORM
from accounting.core.unmapped import UNMAPPED
from accounting.metering.sql.largest_remainder_sql import largest_remainder
from accounting.months.rules.methods import Spread

RAW_UNITS = 10**16  # raw amounts have 16 places
RAW_UNIT = "0.0000000000000001"  # one of them: a product is exact, a quotient is not

_POOLS = f"""
    SELECT billing_on, cluster, model, lifecycle, state, sum(ms)::numeric AS ms,
           sum(raw) * {RAW_UNITS} AS raw_units
    FROM booking_line
    WHERE kind = 'platform' AND status = 'priced' AND corrects = %(corrects)s
    GROUP BY billing_on, cluster, model, lifecycle, state
"""
# Held time of each team. Idle time that the platform pays by busy-v1 was held too.
_HELD = f"""
    SELECT d.billing_on, c.name AS cluster, coalesce(t.slug, '{UNMAPPED}') AS team,
           d.model, d.lifecycle, sum(d.busy_ms + d.idle_ms + d.unknown_ms) AS ms
    FROM usage_day d
    JOIN accounting_cluster c ON c.id = d.cluster_id
    LEFT JOIN accounting_team t ON t.id = d.team_id
    WHERE d.billing_on >= %(first)s AND d.billing_on < %(after)s AND d.namespace_id <> 0
      AND d.busy_ms + d.idle_ms + d.unknown_ms > 0
    GROUP BY d.billing_on, c.name, coalesce(t.slug, '{UNMAPPED}'), d.model, d.lifecycle
"""
_QUOTAS = """
    SELECT day.billing_on, c.name AS cluster, t.slug AS team, q.milli_gpus::numeric AS weight
    FROM unnest(%(days)s::date[], %(starts)s::timestamptz[]) AS day(billing_on, starts_at)
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (cluster_id, team_id) cluster_id, team_id, milli_gpus
        FROM accounting_teamquota WHERE valid_from <= day.starts_at
        ORDER BY cluster_id, team_id, valid_from DESC
    ) q
    JOIN accounting_cluster c ON c.id = q.cluster_id
    JOIN accounting_team t ON t.id = q.team_id
    WHERE q.milli_gpus > 0
"""
_WEIGHTS = {
    Spread.HELD_TIME: """
        SELECT p.*, h.team, h.ms AS weight
        FROM pool p JOIN held h USING (billing_on, cluster, model, lifecycle)""",
    Spread.QUOTA: f"""
        SELECT p.*, q.team, q.weight FROM pool p
        JOIN ({_QUOTAS}) q USING (billing_on, cluster)""",
    Spread.EVEN: f"""
        SELECT p.*, h.team, 1::numeric AS weight
        FROM pool p
        JOIN (SELECT DISTINCT billing_on, cluster, team FROM held
              WHERE team <> '{UNMAPPED}') h USING (billing_on, cluster)""",
}
_LIST = "billing_on, cluster, model, lifecycle, state"


def spread_lines(spread: Spread) -> str:
    """A SELECT of the spread's own lines (`line_sql.OWN_FIELDS`) from the table `booking_line`.

    A line for each team, and the opposite one for the platform. Without any weight a pool stays
    with the platform. Parameters: first, after, corrects (of the lines to be spread), days and
    starts (the billing days and their first instants).
    """
    raw = largest_remainder(
        "weighted", "raw_units * weight", "all_weights", "raw_units", _LIST, ["team"]
    )
    time = largest_remainder(
        "weighted", "ms * weight", "all_weights", "ms", _LIST, ["team"]
    )
    return f"""
WITH pool AS ({_POOLS}), held AS MATERIALIZED ({_HELD}),
weighed AS ({_WEIGHTS[spread]}),
weighted AS MATERIALIZED (
    SELECT *, sum(weight) OVER (PARTITION BY {_LIST}) AS all_weights FROM weighed
), raws AS ({raw}), times AS ({time}),
shared AS (
    SELECT billing_on, cluster, model, lifecycle, state, team,
           times.share AS ms, raws.share * {RAW_UNIT} AS raw
    FROM raws JOIN times USING (billing_on, cluster, model, lifecycle, state, team)
)
SELECT 'spread' AS kind, team, billing_on, cluster, '', '', '', '', model, '', lifecycle, '',
       state, '', NULL::numeric, NULL::numeric, ms::bigint, raw, 'priced'
FROM shared WHERE ms <> 0 OR raw <> 0
UNION ALL
SELECT 'spread', '{PLATFORM}', billing_on, cluster, '', '', '', '', model, '', lifecycle, '',
       state, '', NULL, NULL, (-sum(ms))::bigint, -sum(raw), 'priced'
FROM shared
GROUP BY billing_on, cluster, model, lifecycle, state
HAVING sum(ms) <> 0 OR sum(raw) <> 0
"""
