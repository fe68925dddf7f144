"""Words of billing months on pages."""

from django import template

from accounting.months.rules.methods import method_title

register = template.Library()


@register.filter
def method_name(name: str) -> str:
    """What a method is called: `By allocation` for `alloc-v1`."""
    return method_title(name)
