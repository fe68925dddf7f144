"""Values of pages: numbers that open their explanation, comparisons, figures as JSON."""

import json
import re
from collections.abc import Mapping
from datetime import date
from html import escape
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from accounting.core.charge_lines import NAMES
from accounting.kit.tags.units import NO_DATA, NO_PRICE

register = template.Library()

_REVISION = re.compile(r"(?<![\d-])(\d{4}-(?:0[1-9]|1[0-2]))(?:-r(\d+)\b|(?!-?\w))")

_SAFE_JSON = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


def explain_url(context: Mapping[str, Any], what: str, key: Mapping[str, Any]) -> str:
    """The address that explains one number: figure, row and range."""
    own = {name: str(value) for name, value in key.items() if value}
    state = context.get("state")
    if state is not None:
        return str(state.explain_url(what, own))
    return f"{reverse('explain')}?{urlencode({'what': what, **own})}"


@register.simple_tag(takes_context=True)
def number(context: Mapping[str, Any], text: str, what: str, **key: Any) -> SafeString:
    """A number that links to its explanation; with scripts it opens in a drawer.

    Written without `format_html`: a table has hundreds.
    """
    missing = " nodata" if text in (NO_DATA, NO_PRICE) else ""
    html = (
        f'<a class="num{missing}" href="{escape(explain_url(context, what, key))}"'
        f' data-explain aria-haspopup="dialog">{escape(text)}'
        '<span class="vh">, explain</span></a>'
    )
    return mark_safe(html)  # noqa: S308  # both values are escaped


@register.simple_tag(takes_context=True)
def split_number(  # one parameter for each part of the number
    context: Mapping[str, Any], text: str, what: str, by: str, value: str, **key: Any
) -> SafeString:
    """A number of a row whose dimension is only known when the page is rendered."""
    return number(context, text, what, **key | {by: value})


@register.simple_tag(takes_context=True)
def figure(
    context: Mapping[str, Any], text: str, unit: str, what: str, **key: Any
) -> SafeString:
    """The large number of a card; links to its explanation."""
    small = (
        format_html(" <small>{}</small>", unit)
        if unit and text not in (NO_DATA, NO_PRICE)
        else ""
    )
    return format_html(
        '<a class="fig" href="{}" data-explain aria-haspopup="dialog">{}{}'
        '<span class="vh">, explain</span></a>',
        explain_url(context, what, key),
        text,
        small,
    )


@register.simple_tag
def figure_json(value: Mapping[str, Any], name: str) -> SafeString:
    """A figure as JSON for the loader; escaped so that no text can end the script."""
    text = json.dumps(value, separators=(",", ":")).translate(_SAFE_JSON)
    return format_html(
        '<script type="application/json" id="{}-figure">{}</script>',
        name,
        mark_safe(text),  # noqa: S308  # escaped in the line above
    )


@register.filter
def named(teams: Mapping[str, Any], slug: str) -> str:
    """The name of a team by its slug, or of time without one; the slug if it is not known."""
    found = teams.get(slug) if teams else None
    return NAMES.get(slug, slug) if found is None else str(found.name)


@register.filter
def lower_first(text: str) -> str:
    """A label inside a sentence; names in capitals do not change."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


@register.filter
def quoted(text: str) -> str:
    """The end of a sentence: a text in quotation marks with one stop, its own or that after it."""
    return f"“{text}”" if text.rstrip().endswith((".", "!", "?")) else f"“{text}”."


@register.filter
def entry(table: Mapping[str, Any], key: str) -> Any:
    """The value of a table for a key that is only known in the template."""
    return table.get(key) if table else None


@register.filter
def revision_title(text: str) -> str:
    """A text with `October 2026, revision 1` in place of `2026-10-r1`, and months in words."""
    return _REVISION.sub(_titled, text)


def _titled(found: re.Match[str]) -> str:
    first = date.fromisoformat(f"{found[1]}-01")
    return f"{first:%B %Y}, revision {found[2]}" if found[2] else f"{first:%B %Y}"
