"""What a price would change in hours that are already rolled up, before it is saved."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from django.db import connection

from accounting.domain.period import HOUR_MS
from accounting.domain.report import UNMAPPED
from accounting.domain.rounding import split_money

_QUERY = """
    SELECT coalesce(t.name, %(unmapped)s),
           sum((u.busy_ms + u.idle_ms + u.unknown_ms) * (%(rate)s - coalesce(u.rate, 0))),
           count(DISTINCT u.billing_on),
           coalesce(sum(u.busy_ms + u.idle_ms + u.unknown_ms)
                    FILTER (WHERE u.rate IS NULL), 0)
    FROM usage_hour u
    LEFT JOIN accounting_team t ON t.id = u.team_id
    LEFT JOIN accounting_unitprice p ON p.id = u.price_id
    WHERE u.model = %(model)s AND u.namespace_id <> 0 AND u.hour_start >= %(since)s
      AND (%(cluster)s::int IS NULL OR u.cluster_id = %(cluster)s)
      AND (%(lifecycle)s = '' OR u.lifecycle = %(lifecycle)s)
      AND (%(tier)s = '' OR u.tier = %(tier)s)
      AND (p.id IS NULL OR
           ((p.cluster_id IS NOT NULL)::int + (p.profile <> '')::int
            + (p.lifecycle <> '')::int + (p.tier <> '')::int,
            p.cluster_id IS NOT NULL, p.profile <> '', p.lifecycle <> '', p.tier <> '')
           <= (%(weight)s, %(cluster)s::int IS NOT NULL, false, %(lifecycle)s <> '',
               %(tier)s <> ''))
    GROUP BY 1
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
    lifecycle: str = "",
    tier: str = "",
) -> PriceEffect:
    """Compare a price with those that hours used from an instant on; one query.

    Hours whose price goes before the new one (N26) keep theirs.
    """
    weight = (cluster_id is not None) + bool(lifecycle) + bool(tier)
    with connection.cursor() as cursor:
        cursor.execute(
            _QUERY,
            {
                "unmapped": UNMAPPED,
                "rate": rate,
                "model": model,
                "since": since,
                "cluster": cluster_id,
                "lifecycle": lifecycle,
                "tier": tier,
                "weight": weight,
            },
        )
        rows = cursor.fetchall()
    amounts = split_money({row[0]: Fraction(row[1]) / HOUR_MS for row in rows}, places)
    effects = [TeamEffect(team, amount) for team, amount in amounts.items() if amount]
    return PriceEffect(
        days=max((row[2] for row in rows), default=0),
        teams=tuple(sorted(effects, key=lambda e: (-abs(e.difference), e.team))),
        newly_priced_ms=sum(int(row[3]) for row in rows),
    )
