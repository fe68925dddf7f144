"""Teams by a person's role in them."""

from accounting.access import Scope
from accounting.models import Team


def led_slugs(scope: Scope) -> set[str]:
    """Slugs of the teams that a person leads."""
    teams = Team.objects.filter(pk__in=scope.lead_of)
    return set(teams.values_list("slug", flat=True))
