"""Teams of databases of earlier versions that are called like another party of the ledger."""

from dataclasses import dataclass

from django.db.models import Q
from django.db.models.functions import Lower, Trim

from accounting.access.models.teams import Team
from accounting.access.reserved_names import (
    RESERVED_SLUGS,
    name_fault,
    other_name,
    other_slug,
    slug_fault,
)


@dataclass(frozen=True, slots=True)
class ReservedTeam:
    """One of them.

    Attributes:
        text: what is wrong.
        advice: what to do.
    """

    text: str
    advice: str


def reserved_teams() -> list[ReservedTeam]:
    """All of them, by slug; one query."""
    teams = Team.objects.annotate(lower=Lower("slug"), word=Lower(Trim("name")))
    found = teams.filter(Q(lower__in=RESERVED_SLUGS) | Q(word__in=RESERVED_SLUGS))
    return [
        one for team in found.order_by("slug") if (one := _reserved(team)) is not None
    ]


def _reserved(team: Team) -> ReservedTeam | None:
    if fault := slug_fault(team.slug):
        return ReservedTeam(
            f"the slug of team {team.slug!r} {fault}; people of this team read nothing of it",
            f"run manage.py rename_team {team.slug} {other_slug(team.slug)}, change the setup "
            "file, and close months again in which it used GPUs",
        )
    if fault := name_fault(team.name):
        return ReservedTeam(
            f"the name {team.name!r} of team {team.slug!r} {fault}",
            f"give it another name, like {other_name(team.name)}, in the setup file",
        )
    return None
