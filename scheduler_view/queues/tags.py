"""How soon work starts, on pages; waiting work on the page of a team."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localdate

from accounting.access.scope import Scope
from accounting.core.read_once import read_once
from accounting.kit.tags.units import clock, moment_day
from scheduler_view.queues.reads.families import of_family
from scheduler_view.queues.reads.queued_units import QueueNow, queue_now
from scheduler_view.queues.rules.start_wording import NO_ESTIMATE, start_texts
from scheduler_view.queues.rules.starts import ENDS_BY_ITSELF
from scheduler_view.waits.rules.cause import WaitCause

register = template.Library()

SHOWN = 5  # units on the page of a team
MOST_OF_A_TEAM = 10_000  # of which those of a family are chosen


@register.inclusion_tag("queues/_waiting_work.html", takes_context=True)
def waiting_work(context: Mapping[str, Any]) -> dict[str, Any]:
    """The oldest waiting work of the team of a page, or of its family; nothing if none waits."""
    team, family = context["team"], context.get("family")
    rows = _waiting(context, MOST_OF_A_TEAM if family else SHOWN + 1).rows
    if family:
        rows = of_family(rows, family.namespace, family.name)
    return {"team": team, "rows": rows[:SHOWN], "has_more": len(rows) > SHOWN}


@register.simple_tag(takes_context=True)
def waiting_sentence(context: Mapping[str, Any]) -> SafeString | str:
    """How much work of the team waits, and since when; nothing if none waits."""
    found = _waiting(context, SHOWN + 1)
    if not found.rows:
        return ""
    work = sum(group.work for group in found.groups)
    count = f"{work:,} {'piece' if work == 1 else 'pieces'} of work"
    since = found.rows[0].since
    oldest = format_html(", the oldest since {}", moment_day(since)) if since else ""
    waits = "waits" if work == 1 else "wait"
    return format_html("<strong>{}</strong> {}{}.", count, waits, oldest)


def _waiting(context: Mapping[str, Any], limit: int) -> QueueNow:
    state, team = context["state"], context["team"]
    visitor = state.visitor
    return _queue(visitor.scope, visitor.now, state.cluster or "", team.slug, limit)


@read_once
def _queue(
    scope: Scope, now: datetime, cluster: str, team: str, limit: int
) -> QueueNow:
    """What the card shows; a page names it in its sentence, too."""
    return queue_now(scope, now, cluster=cluster, team=team, limit=limit)


class _StartingRow(Protocol):
    @property
    def cause(self) -> str: ...
    @property
    def is_from_metrics(self) -> bool: ...
    @property
    def start_word(self) -> str: ...
    @property
    def start_like(self) -> int: ...
    @property
    def start_kept(self) -> int: ...
    @property
    def start_at(self) -> datetime | None: ...
    @property
    def low_at(self) -> datetime | None: ...
    @property
    def high_at(self) -> datetime | None: ...


@register.simple_tag
def wait_start(row: _StartingRow) -> SafeString:
    """How soon a unit probably starts, or why that is not said; never a date.

    A time of day only if its error is measured, and its whole range is today.
    Not a template: a table has dozens, and each included template takes 30 microseconds.
    """
    range_ = row.start_at, row.low_at, row.high_at
    today = localdate()
    if all(at is not None and localdate(at) == today for at in range_):
        shown = "about {} <span class='cell-sub'>between {} and {}</span>"
        return format_html(shown, *(clock(at) for at in range_))
    if row.cause == WaitCause.OTHER:  # nothing is known that could be changed
        return format_html(_NOTHING, NO_ESTIMATE, "")
    if row.cause not in ENDS_BY_ITSELF and not row.is_from_metrics:
        return format_html(_NOTHING, "Not before this is changed", "")
    text, why = start_texts(row.start_word, row.start_like, row.start_kept)
    if text == NO_ESTIMATE:
        return format_html(_NOTHING, text, _below(why))
    return format_html("{}{}", text, _below(why))


_NOTHING = '<span class="nodata">{}</span>{}'


def _below(text: str) -> SafeString | str:
    return format_html(' <span class="cell-sub">{}</span>', text) if text else ""
