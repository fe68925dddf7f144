"""Who is idle now, as a card of other pages."""

from collections.abc import Mapping
from typing import Any

from django import template

from accounting.access.rights import WASTE
from scheduler_view.idle.reads import idle_rows, summed
from scheduler_view.idle.rules import USUAL_MINUTES

register = template.Library()

SHOWN = 4  # holders on a card


@register.inclusion_tag("idle/_idle_card.html", takes_context=True)
def idle_now(context: Mapping[str, Any]) -> dict[str, Any]:
    """The dearest holders that are idle now, and the sum of the rest.

    Of the page's team, if any, and of its family on the page of one.

    Nothing for people who may not see them, and where nobody is idle.
    """
    scope, team = context["state"].visitor.scope, context.get("team")
    family = context.get("family")
    if not WASTE.allows(scope):
        return {"total": None}
    rows = idle_rows(scope, least_minutes=USUAL_MINUTES, team=team.id if team else None)
    if family is not None:
        names = family.namespace, family.name
        rows = [row for row in rows if (row.namespace, row.family) == names]
    return {
        "team": team,
        "rows": rows[:SHOWN],
        "rest": summed(rows[SHOWN:]),
        "total": summed(rows),
    }
