"""Who pays: what teams are called in a booking, and whose statements a person may read.

Leads read those of their teams, finance all.
"""

from dataclasses import dataclass
from typing import Any

from accounting.access.models.teams import Team
from accounting.access.reads.teams import known_teams
from accounting.access.scope import Scope
from accounting.core.charge_lines import NAMES, PLATFORM
from accounting.core.unmapped import UNMAPPED
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.lines import Booking


@dataclass(frozen=True, slots=True)
class Payer:
    """A team as a statement names it; "" for what it does not have."""

    name: str
    department: str = ""
    cost_centre: str = ""


def payers_of_booking(booking: Booking) -> dict[str, Payer]:
    """Teams by slug: of a closed revision as they were at its close, else as they are today."""
    found = {slug: Payer(name) for slug, name in NAMES.items()}
    for team in known_teams().values():
        found[team.slug] = Payer(team.name, team.department, team.cost_centre)
    kept: dict[str, Any] = {}
    if booking.is_closed:
        kept = PeriodRevision.objects.values_list("payers", flat=True).get(
            pk=booking.revision_id
        )
    return found | {slug: Payer(**one) for slug, one in kept.items()}


def payer_of(payers: dict[str, Payer], slug: str) -> Payer:
    """One of them; its slug is its name where no such team is known."""
    return payers.get(slug) or Payer(slug)


def readable_payers(scope: Scope) -> dict[str, str]:
    """The names by slug of the teams whose charges a person may read."""
    found = {
        team.slug: team.name
        for team in Team.objects.order_by("name")
        if scope.sees_all or team.pk in scope.lead_of
    }
    if scope.sees_all:
        found |= {slug: NAMES[slug] for slug in (UNMAPPED, PLATFORM)}
    return found


def slugs_of(departments: list[str]) -> set[str]:
    """The teams of some departments, as they are today."""
    found = Team.objects.filter(department__in=departments)
    return set(found.values_list("slug", flat=True))
