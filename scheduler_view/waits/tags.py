"""Why work waits and what would let it start, on pages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounting.core.interval import to_instant
from accounting.kit.tags.units import short_day
from scheduler_view.clusters.rules.wording import sentence
from scheduler_view.waits.rules.change_wording import change_text, free_behind_text
from scheduler_view.waits.rules.details import details_of
from scheduler_view.waits.rules.number_wording import partial_text
from scheduler_view.waits.rules.wording import (
    cause_text,
    metric_cause_text,
    overlay_text,
)

register = template.Library()


class _DetailedRow(Protocol):
    @property
    def cause(self) -> str: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...


@register.filter
def wait_details(row: _DetailedRow) -> list[str]:
    """Sentences below the cause of a wait, with instants in the reader's zone."""
    return details_of(row.cause, row.facts, _local)


def _local(at_ms: int) -> str:
    at = timezone.localtime(to_instant(at_ms))
    return f"{short_day(at)} {at.hour:02}:{at.minute:02}"


@register.filter
def wait_message(cause: str) -> str:
    """Why work waits as a short text, shown with the server's message."""
    return cause_text(cause)


class _ExplainedRow(Protocol):
    @property
    def cause(self) -> str: ...
    @property
    def is_from_metrics(self) -> bool: ...


@register.simple_tag
def wait_cause(row: _ExplainedRow) -> SafeString | str:
    """Why a unit waits, marked if it is from metrics alone."""
    if not row.is_from_metrics:
        return cause_text(row.cause)
    text = metric_cause_text(row.cause)
    return format_html('{} <span class="badge mute">From metrics</span>', text)


@register.filter
def wait_overlay(overlay: str, stage: str = "") -> str:
    """What makes a wait worse, as a short text."""
    return overlay_text(overlay, stage)


@register.filter
def wait_free(free: Mapping[str, Any]) -> str:
    """GPUs that are free where one constraint of waiting work excludes them, as a sentence."""
    return sentence(free_behind_text(free))


@register.filter
def wait_partial(partial: Mapping[str, Any]) -> str:
    """A change that is not enough alone, with what then remains, as a sentence."""
    return sentence(partial_text(partial))


@register.filter
def wait_changes(
    changes: Sequence[Mapping[str, Any]], free: Sequence[Mapping[str, Any]] = ()
) -> list[str]:
    """Changes of which each is enough, as sentences; those with the same words once.

    Pods of teams that the person may not read have no names: their number is added.

    Args:
        changes: those that were tried.
        free: GPUs that a change opens: shown by `wait_free`, which says the change too.
    """
    opened = [change_text(one) for one in free]
    texts = Counter(change_text(change) for change in changes)
    return [
        sentence(text if count == 1 else f"{text} (any of {count})")
        for text, count in texts.items()
        if text not in opened
    ]
