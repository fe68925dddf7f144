"""The grid of GPUs: a square for each GPU of a node, colored by its busy share.

Drawn in Python: a page has about a thousand squares, and a template takes 0.2 ms for each.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounting.templatetags.components import state_rect

register = template.Library()


@register.simple_tag(takes_context=True)
def gpu_squares(context: Mapping[str, Any], lines: Iterable[Any]) -> SafeString:
    """The squares of some GPUs (`views.gpus.gpu_line.GpuLine`); each opens its GPU if it may."""
    state = context["state"]
    names_holder, carry = state.is_newest, state.carry
    return format_html_join(
        "",
        "{}",
        ((_square(one, names_holder=names_holder, carry=carry),) for one in lines),
    )


def _square(line: Any, *, names_holder: bool, carry: str) -> SafeString:
    text, url = f"{line.uuid}: {line.text}", line.url
    if not url:
        return format_html(
            '<span class="gpu" role="img" title="{0}" aria-label="{0}">{1}</span>',
            text,
            _picture(line.look),
        )
    if names_holder and line.now:
        text += f", held now by {line.now.text}"
    return format_html(
        '<a class="gpu" href="{0}{1}" title="{2}" aria-label="{2}">{3}</a>',
        url,
        carry,
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
