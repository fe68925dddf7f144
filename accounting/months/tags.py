"""Words of billing months on pages."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounting.kit.charts.bars import BarPart
from accounting.kit.tags.components import icon, state_rect
from accounting.months.rules.methods import method_title

register = template.Library()


@register.filter
def method_name(name: str) -> str:
    """What a method is called: `By allocation` for `alloc-v1`."""
    return method_title(name)


@register.simple_tag(takes_context=True)
def open_statement(context: Mapping[str, Any], team: str, name: str) -> SafeString:
    """The link that opens the families below a statement, or closes them."""
    query = context["request"].GET.copy()
    is_open = query.get("open") == team
    query["open"] = "" if is_open else team
    if is_open:
        del query["open"]
    return format_html(
        '<a class="opens" href="?{}#{}" aria-expanded="{}" aria-label="Families of {}">{}</a>',
        query.urlencode(),
        "statements-title" if is_open else "open",
        "true" if is_open else "false",
        name,
        icon("chevron-down" if is_open else "chevron-right"),
    )


@register.simple_tag
def waterfall_bar(part: BarPart, slot: int) -> SafeString:
    """One bar of a waterfall; its row has the amount in words."""
    rect = state_rect(
        part.kind, slot, x=f"{part.x}%", y=1, width=f"{part.width}%", height=14, rx=2
    )
    return format_html(
        '<svg class="stackbar t{}" aria-hidden="true">{}</svg>', slot, rect
    )
