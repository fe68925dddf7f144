"""Waiting work on the page of a team."""

from collections.abc import Mapping
from typing import Any

from django import template

from scheduler_view.queues.reads.queued_units import queue_now

register = template.Library()

SHOWN = 5  # units on the page of a team


@register.inclusion_tag("queues/_waiting_work.html", takes_context=True)
def waiting_work(context: Mapping[str, Any]) -> dict[str, Any]:
    """The oldest waiting work of the team of a page; nothing if none waits."""
    state, team = context["state"], context["team"]
    visitor = state.visitor
    found = queue_now(
        visitor.scope,
        visitor.now,
        cluster=state.cluster or "",
        team=team.slug,
        limit=SHOWN + 1,
    )
    return {
        "team": team,
        "rows": found.rows[:SHOWN],
        "has_more": len(found.rows) > SHOWN,
    }
