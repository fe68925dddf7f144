"""Teams: created and changed by administrators."""

from accounting.audit import Actor, act
from accounting.models import Team

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
