"""The grid of GPUs: a square for each GPU of a node, colored by its busy share.

Drawn in Python: a page has about a thousand squares, and a template takes 0.2 ms for each.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from accounting.kit.tags.components import state_rect

register = template.Library()


@register.simple_tag(takes_context=True)
def gpu_squares(context: Mapping[str, Any], lines: Iterable[Any]) -> SafeString:
    """The squares of some GPUs (`fleet.pages.gpu_line.GpuLine`); each opens its GPU if it may."""
    state = context["state"]
    squares = (
        _square(
            one,
            url=state.link(url) if (url := one.url) else "",
            names_holder=state.is_newest,
        )
        for one in lines
    )
    return mark_safe("".join(squares))  # noqa: S308  # texts and links of squares are escaped


def _square(line: Any, *, url: str, names_holder: bool) -> str:
    text, picture = f"{line.uuid}: {line.text}", _picture(line.look)
    if url and names_holder and line.now:
        text += f", held now by {line.now.text}"
    text = escape(text)
    if not url:
        return f'<span class="gpu" role="img" title="{text}" aria-label="{text}">{picture}</span>'
    return f'<a class="gpu" href="{escape(url)}" title="{text}" aria-label="{text}">{picture}</a>'


@cache  # q0 to q9, free and dark
def _picture(look: str) -> SafeString:
    if look in ("free", "dark"):
        rect = state_rect(look, x=0.5, y=0.5, width=23, height=25, rx=4)
    else:
        rect = format_html('<rect class="{}" width="24" height="26" rx="4"/>', look)
    return format_html(
        '<svg viewBox="0 0 24 26" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false">{}</svg>',
        rect,
    )
