"""Teams: created and changed by administrators."""

from django.core.exceptions import ValidationError

from accounting.access.models.teams import Team
from accounting.access.reserved_names import name_fault, other_name, slug_fault
from accounting.kit.audit import Actor, act
from accounting.kit.locks import lock
from accounting.kit.outcomes import Refused

COLOUR_SLOTS = 8  # product: at most eight colors that can be distinguished


def free_slot() -> int:
    """The color slot of the next team: 1 to 8, then 0 ("other")."""
    used = Team.objects.count()
    return used + 1 if used < COLOUR_SLOTS else 0


def save_team(
    *,
    slug: str,
    name: str,
    department: str,
    cost_centre: str,
    is_new: bool = False,
    actor: Actor,
) -> Team:
    """Create a team, or change the one with this slug.

    Args:
        slug, name, department, cost_centre: of the team.
        is_new: refuse a slug that a team has, also since a form was checked.
        actor: the person who makes the change.

    Raises:
        ValidationError: a value is not valid, or the slug of a new team is taken.
    """
    with act(actor, f"team {slug}"):
        lock("teams", 0)  # two people who add one must not get the same color slot
        team = Team.objects.select_for_update().filter(slug=slug).first()
        if team is None or is_new:
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
