"""What waits for the visitor, as a card of other pages."""

from collections.abc import Mapping
from typing import Any

from django import template

from accounting.access.rights import INBOX
from accounting.kit.pages.permissions import asker_of
from scheduler_view.inbox.reads import inbox_rows

register = template.Library()

SHOWN = 5  # rows on a card


@register.inclusion_tag("inbox/_card.html", takes_context=True)
def waiting_for_you(context: Mapping[str, Any]) -> dict[str, Any]:
    """What waits for the visitor: all of it, or what is about the team of the page.

    Nothing for people who decide nothing, nor on the page of a team about which nothing waits.
    """
    asker, team = asker_of(context["request"]), context.get("team")
    if not INBOX.allows(asker.scope):
        return {"is_shown": False}
    rows = inbox_rows(asker, teams=(team.slug,) if team else ())
    return {
        "is_shown": bool(rows) or team is None,
        "rows": rows[:SHOWN],
        "count": len(rows),
        "more": len(rows) - SHOWN,
    }
