"""What a price would change in hours that are already rolled up, before it is saved."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.db import connection

from accounting.domain.core.interval import HOUR_MS
from accounting.domain.core.rounding import split_money
from accounting.domain.reports.rows import UNMAPPED
from accounting.queries.selection import stored_period
from accounting.rating.charge_sql import parameters, with_prices

_MATCHES = """
      AND (%(cluster_id)s::int IS NULL OR u.cluster_id = %(cluster_id)s)
      AND (%(lifecycle)s = '' OR u.lifecycle = %(lifecycle)s)
      AND (%(tier)s = '' OR u.tier = %(tier)s)
      AND (p.id IS NULL OR
           ((p.cluster_id IS NOT NULL)::int + (p.profile <> '')::int
            + (p.lifecycle <> '')::int + (p.tier <> '')::int,
            p.cluster_id IS NOT NULL, p.profile <> '', p.lifecycle <> '', p.tier <> '')
           <= (%(weight)s, %(cluster_id)s::int IS NOT NULL, %(profile)s <> '',
               %(lifecycle)s <> '', %(tier)s <> ''))
"""
_OF_HOURS = f"""
    SELECT coalesce(t.name, %(unmapped)s) AS team,
           sum((u.busy_ms + u.idle_ms + u.unknown_ms) * (%(rate)s - coalesce(u.rate, 0))),
           count(DISTINCT u.billing_on),
           coalesce(sum(u.busy_ms + u.idle_ms + u.unknown_ms)
                    FILTER (WHERE u.rate IS NULL), 0)
    FROM usage_hour u
    LEFT JOIN accounting_team t ON t.id = u.team_id
    LEFT JOIN accounting_unitprice p ON p.id = u.price_id
    WHERE u.model = %(model)s AND u.namespace_id <> 0 AND u.hour_start >= %(since)s
      {_MATCHES}
    GROUP BY team
"""  # built from this project's own constants
_GPUS = """
    SELECT DISTINCT y.gpu_id
    FROM accounting_gpugeometry y
    JOIN accounting_gpu g ON g.id = y.gpu_id
    CROSS JOIN LATERAL jsonb_array_elements(y.instances) AS i(part)
    WHERE g.model = %(model)s AND i.part ->> 1 = %(profile)s
"""
_OF_FACTS = f"""{with_prices()}
    SELECT coalesce(t.name, %(unmapped)s) AS team,
           sum((u.busy_ms + u.idle_ms + u.unknown_ms) * (%(rate)s - coalesce(q.rate, 0))),
           count(DISTINCT d.billing_on),
           coalesce(sum(u.busy_ms + u.idle_ms + u.unknown_ms)
                    FILTER (WHERE q.rate IS NULL), 0)
    FROM gathered u
    JOIN piece d USING (at)
    JOIN priced q USING (cluster_id, at, model, lifecycle, tier, profile)
    LEFT JOIN accounting_team t ON t.id = u.team_id
    LEFT JOIN accounting_unitprice p ON p.id = q.price_id
    WHERE u.namespace_id <> 0 AND u.profile = %(profile)s
      {_MATCHES}
    GROUP BY team
"""


@dataclass(frozen=True, slots=True)
class TeamEffect:
    """How much more (or less) a team would be charged."""

    team: str
    difference: Decimal


@dataclass(frozen=True, slots=True)
class PriceEffect:
    """What a price would change: days touched, and money by team, the largest first."""

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
    """Compare a price with those that hours used from an instant on.

    Hours whose price goes before the new one (N26) keep theirs. Hours do not tell profiles
    apart: for one, the five-minute facts of the GPUs that have it are read, as far as they
    are kept (N32).
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
        "weight": sum(map(bool, (cluster_id is not None, profile, lifecycle, tier))),
    }
    rows = _of_facts(values) if profile else _fetched(_OF_HOURS, values)
    amounts = split_money({row[0]: Fraction(row[1]) / HOUR_MS for row in rows}, places)
    effects = [TeamEffect(team, amount) for team, amount in amounts.items() if amount]
    return PriceEffect(
        days=max((row[2] for row in rows), default=0),
        teams=tuple(sorted(effects, key=lambda e: (-abs(e.difference), e.team))),
        newly_priced_ms=sum(int(row[3]) for row in rows),
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
