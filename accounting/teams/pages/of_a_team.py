"""What every page and card of one team begins with."""

from django.http import Http404

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.kit.pages.filters import LABELS
from accounting.usage.pages.foreign_teams import leave_out_foreign
from accounting.usage.pages.page_state import PageState

OF_A_TEAM = tuple(name for name in LABELS if name != "team")


def team_of(state: PageState, slug: str) -> TeamRef:
    """The team, or 404: its existence is not revealed to others."""
    teams = visible_teams(state.visitor.scope)
    if slug not in teams:
        raise Http404("no such team")
    leave_out_foreign(state, teams, f"{teams[slug].name} is shown instead.")
    return teams[slug]
