"""Billed against our cost, by cluster and billing day (money.md M43).

What a bill has for nodes is compared with our cost of these nodes. What it has for the account of a
cluster is compared with our cost of the whole cluster: reconciled - estimated. One bill, or all
bills in effect together: then no node is compared twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.core.interval import HOUR_MS
from accounting.core.rounding import half_even
from accounting.metering.sql.states_sql import wall
from accounting.prices.sql import conversion_sql

_OF_BILLS = "l.bill_id = ANY(%(bills)s)"
_OF_DAYS = """
    l.billing_on >= %(first)s AND l.billing_on < %(after)s AND EXISTS (
        SELECT FROM accounting_bill b WHERE b.id = l.bill_id AND b.replaced_at IS NULL
    )
"""


def _variance(lines: str, key: str) -> str:
    """The query.

    Args:
        lines: which lines of bills, as SQL.
        key: SQL of what is compared together: a bill, or 0 for all.
    """
    return f"""
WITH line AS MATERIALIZED (
    SELECT l.bill_id, l.billing_on, l.cluster_id, l.node_id, sum(l.cost) AS cost
    FROM accounting_billline l
    WHERE {lines} AND l.cluster_id IS NOT NULL
    GROUP BY l.bill_id, l.billing_on, l.cluster_id, l.node_id
), converted AS (
    SELECT {key} AS key, l.billing_on, l.cluster_id, b.is_final,
           sum(l.cost) * min({conversion_sql.fx("b.currency", "l.billing_on")}) AS amount
    FROM line l JOIN accounting_bill b ON b.id = l.bill_id
    GROUP BY l.bill_id, l.billing_on, l.cluster_id, b.is_final
), billed AS (
    SELECT key, billing_on, cluster_id, bool_and(is_final) AS is_final,
           CASE WHEN count(amount) = count(*) THEN sum(amount) END AS amount
    FROM converted GROUP BY key, billing_on, cluster_id
), part AS MATERIALIZED (
    SELECT DISTINCT {key} AS key, billing_on, cluster_id, node_id FROM line
), scope AS MATERIALIZED (
    SELECT key, billing_on, cluster_id, count(node_id) AS nodes,
           bool_or(node_id IS NULL) AS is_whole
    FROM part GROUP BY key, billing_on, cluster_id
), used AS MATERIALIZED (
    SELECT u.billing_on, u.cluster_id, u.node_id, u.model, u.lifecycle,
           sum({wall("u")} * u.gpu_cost) AS raw,
           coalesce(sum({wall("u")}) FILTER (WHERE u.gpu_cost IS NULL), 0)::bigint AS without_ms
    FROM usage_gpu_day u
    JOIN (SELECT DISTINCT billing_on, cluster_id FROM part) d USING (billing_on, cluster_id)
    GROUP BY u.billing_on, u.cluster_id, u.node_id, u.model, u.lifecycle
), matched AS MATERIALIZED (
    SELECT s.key, u.* FROM scope s JOIN used u USING (billing_on, cluster_id)
    WHERE s.is_whole OR EXISTS (
        SELECT FROM part p
        WHERE (p.key, p.billing_on, p.cluster_id, p.node_id)
            = (s.key, u.billing_on, u.cluster_id, u.node_id)
    )
), ours AS (
    SELECT key, billing_on, cluster_id, sum(raw) AS raw, sum(without_ms)::bigint AS without_ms
    FROM matched GROUP BY key, billing_on, cluster_id
), present AS (
    SELECT g.key, u.billing_on, u.cluster_id, count(DISTINCT u.node_id) AS nodes
    FROM (SELECT DISTINCT key, billing_on, cluster_id, model, lifecycle FROM matched) g
    JOIN used u USING (billing_on, cluster_id, model, lifecycle)
    GROUP BY g.key, u.billing_on, u.cluster_id
)
SELECT b.key, b.billing_on, k.name, b.amount, o.raw / {HOUR_MS},
       CASE WHEN s.is_whole THEN 0 ELSE s.nodes END,
       coalesce(n.nodes, 0), coalesce(o.without_ms, 0), b.is_final
FROM billed b
JOIN scope s USING (key, billing_on, cluster_id)
JOIN accounting_cluster k ON k.id = b.cluster_id
LEFT JOIN ours o USING (key, billing_on, cluster_id)
LEFT JOIN present n USING (key, billing_on, cluster_id)
ORDER BY b.key, b.billing_on, k.name
"""


@dataclass(frozen=True, slots=True)
class Variance:
    """A bill against our cost, in the billing currency.

    Attributes:
        billed: None where the bill's currency has no conversion (M16).
        estimated: our cost of the same nodes, or of the whole cluster; None where nothing of it has
            a cost price.
        nodes_billed: nodes that are billed; 0 where an account is, for the whole cluster.
        nodes: nodes with GPU time of the same models and lifecycles.
        without_cost_ms: GPU time of what is compared that has no cost price.
    """

    billed: Decimal | None
    estimated: Decimal | None
    nodes_billed: int
    nodes: int
    without_cost_ms: int

    @property
    def variance(self) -> Decimal | None:
        """Reconciled less estimated; None if one of them is not known."""
        if self.billed is None or self.estimated is None:
            return None
        return self.billed - self.estimated

    @property
    def ratio(self) -> Decimal | None:
        """The variance as a share of our cost; None where that is 0."""
        if self.variance is None or not self.estimated:
            return None
        return self.variance / self.estimated

    @property
    def percent(self) -> Decimal | None:
        """The same in percent, with two places."""
        return None if self.ratio is None else half_even(self.ratio * 100, 2)


@dataclass(frozen=True, slots=True)
class VarianceRow(Variance):
    """The variance of a cluster on a billing day.

    Attributes:
        bill: its number; 0 for all bills together.
        state: `final` if the provider has closed the periods of the bills, else `reconciled`.
    """

    bill: int
    billing_on: date
    cluster: str
    state: str


def variance_rows(bills: Sequence[int], currency: str) -> list[VarianceRow]:
    """Each bill on its own, by billing day and cluster, for days with matched lines.

    Args:
        bills: their numbers.
        currency: the billing currency.
    """
    return _rows(_variance(_OF_BILLS, "bill_id"), {"bills": list(bills)}, currency)


def cluster_variance_rows(first: date, after: date, currency: str) -> list[VarianceRow]:
    """All bills in effect together, by billing day and cluster.

    Args:
        first, after: billing days, the second one excluded; of the charges, whatever the billing
            period of their bill.
        currency: the billing currency.
    """
    days = {"first": first, "after": after}
    return _rows(_variance(_OF_DAYS, "0"), days, currency)


def _rows(query: str, values: dict[str, Any], currency: str) -> list[VarianceRow]:
    with connection.cursor() as cursor:
        cursor.execute(query, values | {"currency": currency})
        return [_row(row) for row in cursor.fetchall()]


def _row(values: Sequence[Any]) -> VarianceRow:
    bill, day, cluster, billed, estimated, named, nodes, without_ms, is_final = values
    return VarianceRow(
        billed=billed,
        estimated=estimated,
        nodes_billed=named,
        nodes=nodes,
        without_cost_ms=without_ms,
        bill=bill,
        billing_on=day,
        cluster=cluster,
        state="final" if is_final else "reconciled",
    )


def total_variance(rows: Sequence[VarianceRow]) -> Variance:
    """The sum of rows; None where one of them is not known. Nodes are those of the best day."""
    return Variance(
        billed=_sum([row.billed for row in rows]),
        estimated=_sum([row.estimated for row in rows]),
        nodes_billed=max((row.nodes_billed for row in rows), default=0),
        nodes=max((row.nodes for row in rows), default=0),
        without_cost_ms=sum(row.without_cost_ms for row in rows),
    )


def _sum(values: Sequence[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return sum(known, Decimal(0)) if len(known) == len(values) and known else None
