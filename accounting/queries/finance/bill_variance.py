"""Billed against our cost, by cluster and billing day (money.md M43).

A group is a cluster, a billing day, a model and a lifecycle. A bill of a node is of the groups of
that node's GPU time; a bill of an account is of all groups of its cluster. Where a group has a
bill, our cost of the group is compared with it: reconciled - estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.domain.core.interval import HOUR_MS
from accounting.domain.core.rounding import half_even
from accounting.rating import conversion_sql
from accounting.rating.states_sql import wall

_VARIANCE = f"""
WITH part AS MATERIALIZED (
    SELECT l.bill_id, l.billing_on, l.cluster_id, l.node_id, sum(l.cost) AS cost
    FROM accounting_billline l
    WHERE l.bill_id = ANY(%(bills)s) AND l.cluster_id IS NOT NULL
    GROUP BY l.bill_id, l.billing_on, l.cluster_id, l.node_id
), converted AS (
    SELECT p.bill_id, p.billing_on, p.cluster_id, count(p.node_id) AS nodes,
           sum(p.cost) AS cost, min({conversion_sql.fx("b.currency", "p.billing_on")}) AS fx
    FROM part p JOIN accounting_bill b ON b.id = p.bill_id
    GROUP BY p.bill_id, p.billing_on, p.cluster_id
), used AS MATERIALIZED (
    SELECT DISTINCT u.billing_on, u.cluster_id, u.node_id, u.model, u.lifecycle
    FROM usage_gpu_day u
    JOIN (SELECT DISTINCT billing_on, cluster_id FROM part) d USING (billing_on, cluster_id)
), compared AS MATERIALIZED (
    SELECT DISTINCT p.bill_id, u.billing_on, u.cluster_id, u.model, u.lifecycle
    FROM part p JOIN used u USING (billing_on, cluster_id)
    WHERE p.node_id IS NULL OR p.node_id = u.node_id
), ours AS (
    SELECT g.bill_id, d.billing_on, d.cluster_id,
           sum({wall("d")} * d.gpu_cost) AS raw,
           coalesce(sum({wall("d")}) FILTER (WHERE d.gpu_cost IS NULL), 0)::bigint AS without_ms
    FROM compared g JOIN usage_day d USING (billing_on, cluster_id, model, lifecycle)
    GROUP BY g.bill_id, d.billing_on, d.cluster_id
), present AS (
    SELECT g.bill_id, u.billing_on, u.cluster_id, count(DISTINCT u.node_id) AS nodes
    FROM compared g JOIN used u USING (billing_on, cluster_id, model, lifecycle)
    GROUP BY g.bill_id, u.billing_on, u.cluster_id
)
SELECT c.bill_id, c.billing_on, k.name, c.cost * c.fx, o.raw / {HOUR_MS}, c.nodes,
       coalesce(n.nodes, 0), coalesce(o.without_ms, 0), b.is_final
FROM converted c
JOIN accounting_bill b ON b.id = c.bill_id
JOIN accounting_cluster k ON k.id = c.cluster_id
LEFT JOIN ours o USING (bill_id, billing_on, cluster_id)
LEFT JOIN present n USING (bill_id, billing_on, cluster_id)
ORDER BY c.bill_id, c.billing_on, k.name
"""


@dataclass(frozen=True, slots=True)
class Variance:
    """A bill against our cost, in the billing currency.

    Attributes:
        billed: None where the bill's currency has no conversion (M16).
        estimated: our cost of the same groups; None where none of them has a cost price.
        nodes_billed: nodes that the bill names; 0 for a bill of an account.
        nodes: nodes with GPU time in the same groups.
        without_cost_ms: GPU time of these groups that has no cost price.
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
        state: `final` if the provider has closed the bill's period, else `reconciled`.
    """

    bill: int
    billing_on: date
    cluster: str
    state: str


def variance_rows(bills: Sequence[int], currency: str) -> list[VarianceRow]:
    """By bill, billing day and cluster, for days with matched lines.

    Args:
        bills: their numbers.
        currency: the billing currency.
    """
    with connection.cursor() as cursor:
        cursor.execute(_VARIANCE, {"bills": list(bills), "currency": currency})
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
