"""What belongs to the cause of a wait, on pages."""

from collections.abc import Mapping
from typing import Any, Protocol

from django import template
from django.utils import timezone

from accounting.core.interval import to_instant
from accounting.kit.tags.units import short_day
from scheduler_view.waits.rules.details import details_of

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
