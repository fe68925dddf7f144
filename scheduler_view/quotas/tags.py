"""Parts of the page of everything that limits GPUs."""

from django import template

from scheduler_view.quotas.reads.limits.queue_limits import TITLES

register = template.Library()

DEEPEST = 4  # levels that are indented


@register.filter
def queue_title(kind: str) -> str:
    """`Queue of Volcano`."""
    return TITLES.get(kind, kind)


@register.filter
def shown_depth(depth: int) -> int:
    """The level of a queue in its tree, as far as it is indented."""
    return min(depth, DEEPEST)


@register.filter
def priority(text: str) -> str:
    """`2,000,001,000` of the value of a class."""
    return f"{int(text):,}" if text.lstrip("-").isdecimal() else text
