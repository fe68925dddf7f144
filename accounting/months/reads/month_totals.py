"""What the statements of one month come to for a reader; one query (money.md M6)."""

from dataclasses import dataclass
from decimal import Decimal

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.core.charge_lines import PLATFORM
from accounting.core.money import NOTHING, Money
from accounting.months.models.period import Statement


@dataclass(frozen=True, slots=True)
class MonthTotals:
    """What the statements of a month come to.

    Attributes:
        extras: entries and corrections of the teams that the reader may read.
        teams: their payables, unmapped time included.
        unallocated: the platform's payable; None for people who do not see every team.
    """

    extras: Money
    teams: Money
    unallocated: Money | None

    @property
    def total(self) -> Money | None:
        """Teams + unallocated; None for people who do not see every team."""
        return self.teams + self.unallocated if self.unallocated else None


def month_totals(scope: Scope, period: str) -> MonthTotals | None:
    """Those of the booking in effect; None without one, or without a team that may be read."""
    found = Statement.objects.filter(
        revision__period=period, revision__reopened_at__isnull=True
    )
    if not scope.sees_all:
        own = Team.objects.filter(pk__in=scope.lead_of)
        found = found.filter(team__in=own.values("slug"))
    names = ("team", "entries6", "corrections6", "payable", "revision__currency")
    unallocated = None
    rows = list(found.values_list(*names))
    extras = teams = Money(Decimal(0), rows[0][-1]) if rows else NOTHING
    for team, entries, corrections, payable, currency in rows:
        if team == PLATFORM:
            unallocated = Money(payable, currency)
            continue
        for amount in filter(None, (entries, corrections)):  # most teams have none
            extras += Money(amount, currency).rounded()
        teams += Money(payable, currency)
    if not any(team != PLATFORM for team, *_ in rows):
        return None
    return MonthTotals(extras, teams, unallocated)
