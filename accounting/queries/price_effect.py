"""The effect of a price on hours that are already rolled up, before it is saved."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.domain.billing.charge import split_charges
from accounting.domain.reports.rows import UNMAPPED
from accounting.queries.selection import stored_period
from accounting.rating.charge_sql import (
    difference,
    parameters,
    unpriced_sum,
    with_prices,
)
from accounting.rating.price_sql import matches, specificity
from accounting.rating.states_sql import held

HELD = held("u")

# The new price `n` against the price `p` of each row `u`: it goes before one that sets less.
_EFFECT = f"""
    SELECT coalesce(t.name, %(unmapped)s) AS team,
           sum({difference(HELD, "coalesce(u.rate, 0)", "n.rate")}),
           count(DISTINCT u.billing_on),
           {unpriced_sum(HELD)}
    FROM {{rows}} u
    CROSS JOIN (
        SELECT %(model)s::text AS model, %(cluster_id)s::int AS cluster_id,
               %(profile)s::text AS profile, %(lifecycle)s::text AS lifecycle,
               %(tier)s::text AS tier, %(rate)s::numeric AS rate
    ) n
    LEFT JOIN accounting_team t ON t.id = u.team_id
    LEFT JOIN accounting_unitprice p ON p.id = u.price_id
    WHERE u.namespace_id <> 0 AND {matches("n", "u")}
      AND (p.id IS NULL OR {specificity("p")} <= {specificity("n")})
    GROUP BY team
"""  # built from this project's own constants
_OF_HOURS = _EFFECT.format(
    rows="""(
        SELECT *, '' AS profile FROM usage_hour WHERE hour_start >= %(since)s
    )"""
)
_OF_FACTS = with_prices() + _EFFECT.format(
    rows="""(
        SELECT g.*, d.billing_on, q.rate, q.price_id
        FROM gathered g JOIN piece d USING (at)
        JOIN priced q USING (cluster_id, at, model, lifecycle, tier, profile)
    )"""
)
_GPUS = """
    SELECT DISTINCT y.gpu_id
    FROM accounting_gpugeometry y
    JOIN accounting_gpu g ON g.id = y.gpu_id
    CROSS JOIN LATERAL jsonb_array_elements(y.instances) AS i(part)
    WHERE g.model = %(model)s AND i.part ->> 1 = %(profile)s
"""


@dataclass(frozen=True, slots=True)
class TeamEffect:
    """The difference in a team's charge."""

    team: str
    difference: Decimal


@dataclass(frozen=True, slots=True)
class PriceEffect:
    """The effect of a price: changed days, and money by team, the largest first."""

    days: int
    teams: tuple[TeamEffect, ...]
    newly_priced_ms: int

    @property
    def total(self) -> Decimal:
        """Over all teams."""
        return sum((team.difference for team in self.teams), Decimal(0))


def price_effect(
    *,
    model: str,
    rate: Decimal,
    since: datetime,
    places: int,
    cluster_id: int | None = None,
    profile: str = "",
    lifecycle: str = "",
    tier: str = "",
) -> PriceEffect:
    """Compare a price with the prices that hours used from an instant on.

    Hours whose price has precedence over the new one (N26) do not change. Hours do not distinguish
    profiles: for a profile, the five-minute facts of the GPUs that have it are read, as far back as
    they are stored (N32).
    """
    values = {
        "unmapped": UNMAPPED,
        "rate": rate,
        "model": model,
        "since": since,
        "cluster_id": cluster_id,
        "profile": profile,
        "lifecycle": lifecycle,
        "tier": tier,
    }
    rows = _of_facts(values) if profile else _fetched(_OF_HOURS, values)
    amounts = split_charges({row[0]: row[1] for row in rows}, places)
    effects = [TeamEffect(team, amount) for team, amount in amounts.items() if amount]
    return PriceEffect(
        days=max((row[2] for row in rows), default=0),
        teams=tuple(sorted(effects, key=lambda e: (-abs(e.difference), e.team))),
        newly_priced_ms=sum(row[3] for row in rows),
    )


def _of_facts(values: dict[str, Any]) -> list[tuple[Any, ...]]:
    stored = stored_period()
    if stored is None or stored.end <= values["since"]:
        return []
    start = max(stored.start, values["since"])
    gpus = [row[0] for row in _fetched(_GPUS, values)]
    bounds = parameters(None, start, stored.end, gpus, values["model"])
    return _fetched(_OF_FACTS, values | bounds)


def _fetched(query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())
