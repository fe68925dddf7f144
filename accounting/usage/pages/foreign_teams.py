"""Links about teams that the reader may not see: the page shows a warning and the allowed part.

The text is the same for any name in the link, so it does not reveal whether a team exists.
"""

from collections.abc import Collection

from accounting.usage.pages.page_state import PageState


def foreign_teams(state: PageState, own: Collection[str]) -> list[str]:
    """The teams in an address that the reader may not see; empty for a person who sees all."""
    if state.visitor.scope.sees_all:
        return []
    return [slug for slug in state.query.getlist("team") if slug and slug not in own]


def foreign_note(foreign: Collection[str], shown: str) -> str:
    """The warning about them.

    Args:
        foreign: slugs, as in the link.
        shown: one sentence on what the page shows instead; "" for nothing.
    """
    named = ", ".join(f'"{slug[:60]}"' for slug in foreign)
    text = (
        f"This link is about the team {named}, which is not one of your teams."
        if len(foreign) == 1
        else f"This link is about the teams {named}, which are not your teams."
    )
    return f"{text} {shown}".rstrip()


def leave_out_foreign(state: PageState, own: Collection[str], shown: str) -> None:
    """Remove foreign teams from a page's filters and links, and show a warning."""
    foreign = foreign_teams(state, own)
    if not foreign:
        return
    kept = [slug for slug in state.query.getlist("team") if slug not in foreign]
    state.query = state.query.copy()
    state.query.setlist("team", kept)
    state.filters = {
        name: values if name != "team" else tuple(kept)
        for name, values in state.filters.items()
        if name != "team" or kept
    }
    state.note = f"{state.note} {foreign_note(foreign, shown)}".strip()
