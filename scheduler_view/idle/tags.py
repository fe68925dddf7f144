"""Who is idle now, as a card of other pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.template.defaultfilters import pluralize
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounting.access.rights import WASTE
from accounting.access.scope import Scope
from accounting.core.read_once import read_once
from accounting.kit.tags.units import money
from scheduler_view.idle.reads import IdleRow, idle_rows, summed
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
    rows = _rows(scope, team.id if team else None)
    if family is not None:
        names = family.namespace, family.name
        rows = [row for row in rows if (row.namespace, row.family) == names]
    return {
        "team": team,
        "rows": rows[:SHOWN],
        "rest": summed(rows[SHOWN:]),
        "total": summed(rows),
    }


@register.simple_tag(takes_context=True)
def idle_sentence(context: Mapping[str, Any]) -> SafeString | str:
    """How many GPUs are idle now and what an hour costs: the sum of the card."""
    scope = context["state"].visitor.scope
    total = summed(_rows(scope, None)) if WASTE.allows(scope) else None
    if total is None or not total.holders:
        return ""
    gpus = f"{total.gpus_text} GPU{pluralize(total.gpus)}"
    hourly = ""
    if total.per_hour is not None:
        cost = money(total.per_hour, total.currency)
        hourly = format_html(", at <strong>{}</strong> an hour", cost)
    are = pluralize(total.gpus, "is,are")
    told = "<strong>{}</strong> {} held and idle now{}."
    return format_html(told, gpus, are, hourly)


@read_once
def _rows(scope: Scope, team: int | None) -> Sequence[IdleRow]:
    """Those of the card; a page names them in its sentence, too."""
    return idle_rows(scope, least_minutes=USUAL_MINUTES, team=team)
