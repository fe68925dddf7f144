"""Which teams' statements and charges a person may read: leads theirs, finance all."""

from accounting.access import Scope
from accounting.domain.billing.charge_lines import PLATFORM, UNMAPPED
from accounting.models import Team


def readable_payers(scope: Scope) -> dict[str, str]:
    """The names by slug of the teams whose charges a person may read."""
    found = {
        team.slug: team.name
        for team in Team.objects.order_by("name")
        if scope.sees_all or team.pk in scope.lead_of
    }
    if scope.sees_all:
        found |= {UNMAPPED: "Unmapped", PLATFORM: "Platform"}
    return found


def slugs_of(departments: list[str]) -> set[str]:
    """The teams of some departments, as they are today."""
    found = Team.objects.filter(department__in=departments)
    return set(found.values_list("slug", flat=True))
