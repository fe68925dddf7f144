"""The grid of GPUs: a square for each GPU of a node, colored by its busy share.

Drawn in Python: a page has about a thousand squares, and a template takes 0.2 ms for each.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounting.kit.tags.components import state_rect

register = template.Library()


@register.simple_tag(takes_context=True)
def gpu_squares(context: Mapping[str, Any], lines: Iterable[Any]) -> SafeString:
    """The squares of some GPUs (`views.gpus.gpu_line.GpuLine`); each opens its GPU if it may."""
    state = context["state"]
    squares = (
        _square(
            one,
            url=state.link(one.url) if one.url else "",
            names_holder=state.is_newest,
        )
        for one in lines
    )
    return format_html_join("", "{}", ((square,) for square in squares))


def _square(line: Any, *, url: str, names_holder: bool) -> SafeString:
    text = f"{line.uuid}: {line.text}"
    if not url:
        return format_html(
            '<span class="gpu" role="img" title="{0}" aria-label="{0}">{1}</span>',
            text,
            _picture(line.look),
        )
    if names_holder and line.now:
        text += f", held now by {line.now.text}"
    return format_html(
        '<a class="gpu" href="{0}" title="{1}" aria-label="{1}">{2}</a>',
        url,
        text,
        _picture(line.look),
    )


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
