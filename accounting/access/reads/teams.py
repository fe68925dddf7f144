"""Teams as pages show them: slug, name, department and color."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounting.access.models.teams import Team
from accounting.access.scope import Scope, readable_teams
from accounting.core.read_once import read_once
from accounting.core.unmapped import UNMAPPED


@dataclass(frozen=True, slots=True)
class TeamRef:
    """The properties that pages need to show a team. `id` 0 is unmapped usage."""

    id: int
    slug: str
    name: str
    department: str
    slot: int


UNMAPPED_TEAM = TeamRef(0, UNMAPPED, "Unmapped", "", 0)


@read_once
def visible_teams(scope: Scope) -> Mapping[str, TeamRef]:
    """The teams of a scope by slug, in order of name."""
    shown = "pk", "slug", "name", "department", "colour_slot"
    rows = readable_teams(scope).values_list(*shown)
    return {slug: TeamRef(number, slug, *others) for number, slug, *others in rows}


@read_once
def known_teams() -> Mapping[int, Team]:
    """Every team by its id, in the order of slugs; whom a person may see is not asked."""
    return {team.pk: team for team in Team.objects.order_by("slug")}


def team_named(teams: Mapping[str, TeamRef], slug: str) -> TeamRef:
    """The team of a report row: one of `teams`, or the line of unmapped usage."""
    return teams.get(slug, UNMAPPED_TEAM)
