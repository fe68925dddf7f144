"""Teams: created and changed by administrators."""

from django.core.exceptions import ValidationError

from accounting.access.models.teams import Team
from accounting.access.reserved_names import name_fault, other_name, slug_fault
from accounting.kit.audit import Actor, act
from accounting.kit.outcomes import Refused

COLOUR_SLOTS = 8  # product: at most eight colors that can be distinguished


def free_slot() -> int:
    """The color slot of the next team: 1 to 8, then 0 ("other")."""
    used = Team.objects.count()
    return used + 1 if used < COLOUR_SLOTS else 0


def save_team(
    *, slug: str, name: str, department: str, cost_centre: str, actor: Actor
) -> Team:
    """Create a team, or change the one with this slug."""
    with act(actor, f"team {slug}"):
        team = Team.objects.select_for_update().filter(slug=slug).first()
        if team is None:
            team = Team(slug=slug, colour_slot=free_slot())
        team.name, team.department, team.cost_centre = name, department, cost_centre
        team.full_clean()
        team.save()
    return team


def rename_reserved(slug: str, wanted: str, *, actor: Actor) -> Team:
    """Give a team of an earlier version another slug than that of a party of the ledger.

    Other slugs do not change: closed statements and files name them.

    Raises:
        Refused: no team has the slug, it is not reserved, or the new one cannot be had.
    """
    if not slug_fault(slug):
        raise Refused(
            f"{slug!r} is not reserved; closed statements and files name it, so it stays"
        )
    with act(actor, f"team {slug} renamed"):
        team = Team.objects.select_for_update().filter(slug=slug).first()
        if team is None:
            raise Refused(f"no team has the slug {slug!r}")
        team.slug = wanted
        if name_fault(team.name):
            team.name = other_name(team.name)
        try:
            team.full_clean()
        except ValidationError as error:
            raise Refused(f"{wanted!r}: {' '.join(error.messages)}") from None
        team.save()
    return team
