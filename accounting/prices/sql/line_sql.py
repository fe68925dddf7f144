"""Lines of billing days: whose time, at which price, by which method (money.md M9-M11, M17, M22).

A day of usage has a row for each team, workload and price; here each state becomes a line, with
names instead of ids. Amounts are exact: milliseconds x rate x conversion.
"""

from collections.abc import Sequence

from accounting.core.charge_lines import KEY_FIELDS, PLATFORM
from accounting.core.ledger_line import STATES
from accounting.core.unmapped import UNMAPPED
from accounting.prices.sql import conversion_sql

OWN_FIELDS = (*KEY_FIELDS[:-1], "fx", "ms", "raw", "status")
"""Columns of an own line: no charge yet, no correction, no entry."""

KEY = ", ".join(KEY_FIELDS)

USAGE = "usage_day"
PRICES = "accounting_unitprice"


_OF_DAYS = "d.billing_on >= %(first)s AND d.billing_on < %(after)s"


def dated(
    usage: str = USAGE,
    prices: str = PRICES,
    *,
    also: Sequence[str] = (),
    into: str = "%(currency)s",
    where: str = _OF_DAYS,
) -> str:
    """A SELECT of time with names, prices and conversions. Parameters: as of `OWN_LINES`.

    Args:
        usage: a relation with the columns of `usage_day` that are named here.
        prices: a relation with the columns id, profile and currency of prices.
        also: further columns of `usage`.
        into: SQL of the billing currency.
        where: which rows `d` of `usage`.
    """
    # `own_`: the price of the whole GPU, without profile and tier (rules.md N27).
    return f"""
    SELECT d.billing_on, c.name AS cluster, d.namespace_id <> 0 AS is_held,
           coalesce(t.slug, '{UNMAPPED}') AS team, coalesce(n.name, '') AS namespace,
           coalesce(w.kind, '') AS workload_kind, coalesce(w.name, '') AS workload,
           d.workload_type, d.model, coalesce(p.profile, '') AS profile, d.lifecycle, d.tier,
           coalesce(p.currency, '') AS price_currency, d.rate,
           {conversion_sql.fx("p.currency", "d.billing_on", into)} AS fx,
           coalesce(o.currency, '') AS own_currency, d.gpu_rate AS own_rate,
           {conversion_sql.fx("o.currency", "d.billing_on", into)} AS own_fx,
           {", ".join(f"d.{state}_ms" for state in STATES)}
           {"".join(f", d.{name}" for name in also)}
    FROM {usage} d
    JOIN accounting_cluster c ON c.id = d.cluster_id
    LEFT JOIN accounting_team t ON t.id = d.team_id
    LEFT JOIN accounting_namespace n ON n.id = d.namespace_id
    LEFT JOIN accounting_workload w ON w.id = d.workload_id
    LEFT JOIN {prices} p ON p.id = d.price_id
    LEFT JOIN {prices} o ON o.id = d.gpu_price_id
    WHERE {where}
"""


DATED = dated()

_STATED = f"""
    SELECT dated.*, s.state, s.ms,
           is_held AND s.state = ANY(%(paid_states)s) AS is_paid
    FROM dated
    CROSS JOIN LATERAL (VALUES {
    ", ".join(f"('{state}', dated.{state}_ms)" for state in STATES)
}) s(state, ms)
    WHERE s.ms <> 0
"""
# What nobody pays for, by the GPU's own price: of whom it was is not kept.
_PLATFORM_FIELDS = ("namespace", "workload_kind", "workload", "workload_type")
_TIMES = f"""
    SELECT 'usage' AS kind, team, billing_on, cluster, namespace, workload_kind, workload,
           workload_type, model, profile, lifecycle, tier, state, price_currency, rate, fx, ms
    FROM stated WHERE is_paid
    UNION ALL
    SELECT 'platform', '{PLATFORM}', billing_on, cluster,
           {", ".join("''" for _ in _PLATFORM_FIELDS)},
           model, '', lifecycle, '', state, own_currency, own_rate, own_fx, ms
    FROM stated WHERE NOT is_paid
"""
_PRICED = """
    SELECT kind, team, billing_on, cluster, namespace, workload_kind, workload,
           workload_type, model, profile, lifecycle, tier, state, price_currency, rate, fx,
           sum(ms)::bigint AS ms, sum(ms) * rate * fx AS raw,
           CASE WHEN rate IS NULL THEN 'unpriced' WHEN fx IS NULL THEN 'unconverted'
                ELSE 'priced' END AS status
    FROM times
    GROUP BY kind, team, billing_on, cluster, namespace, workload_kind, workload,
             workload_type, model, profile, lifecycle, tier, state, price_currency, rate, fx
"""
_DIFFERENCE = f"""
    SELECT 'difference', '{PLATFORM}', billing_on, cluster, '', '', '', '',
           model, profile, lifecycle, tier, '', '', NULL::numeric, NULL::numeric, 0,
           sum(ms * (own_rate * own_fx - rate * fx)), 'priced'
    FROM stated
    WHERE is_paid AND own_rate * own_fx * rate * fx IS NOT NULL
    GROUP BY billing_on, cluster, model, profile, lifecycle, tier
    HAVING sum(ms * (own_rate * own_fx - rate * fx)) <> 0
"""


def line_parts(time: str) -> str:
    """What `LINES` reads, as parts of a WITH: `dated`, the time of a `dated` SELECT, and others.

    Parameters: first, after (dates: the billing days [first, after)), paid_states, currency
    (the billing currency).
    """
    return f"dated AS ({time}), stated AS MATERIALIZED ({_STATED}), times AS ({_TIMES})"


LINES = f"{_PRICED} UNION ALL {_DIFFERENCE}"
"""A SELECT of `OWN_FIELDS`, without what is spread, after `line_parts`."""


def own_lines(time: str) -> str:
    """A SELECT of `OWN_FIELDS` of the time of a `dated` SELECT. Parameters: of `line_parts`."""
    return f"WITH {line_parts(time)} {LINES}"


OWN_LINES = own_lines(DATED)
"""The own lines of a period, from its days of usage."""
