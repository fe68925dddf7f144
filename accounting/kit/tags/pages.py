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

from accounting.bills.rules.words import TITLES as BILL_TITLES
from accounting.kit.tags.units import (
    NO_DATA,
    NO_PRICE,
    day,
    days,
    gpu_hours,
    short_day,
)
from accounting.months.reads.payers import NAMES
from accounting.months.rules.methods import method_title
from accounting.usage.rules.rows import UsageRow

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


@register.simple_tag(takes_context=True)
def before_label(context: Mapping[str, Any]) -> str:
    """The compared range: `1-22 Oct 2026 to 10:00` while it is running."""
    state = context["state"]
    text = days(state.before)
    if not state.is_before_cut:
        return text
    end = state.before_period.end.astimezone(state.zone)
    on = "" if end.date() == state.before.last else f"{short_day(end.date())} "
    return f"{text} to {on}{end:%H:%M}"


@register.simple_tag(takes_context=True)
def not_compared(context: Mapping[str, Any]) -> str:
    """Why a range is not compared with the one before, as a sentence without its full stop."""
    state, reason = context["state"], context["breakdown"].refusal
    first = state.data_days[0]
    if first and state.before.last < first:
        return f"No data before {day(first)}"
    if first and state.before.first < first:
        reason = f"no data before {day(first)}"
    return f"Not compared with {days(state.before)}: {reason}"


@register.simple_tag
def unpriced(row: UsageRow) -> SafeString:
    """Next to a row's money: the part of its time without a price."""
    if not 0 < row.unpriced_ms < row.allocated_ms:
        return mark_safe("")  # all of it is priced, or the money is "No price"
    return format_html(
        '<span class="cell-sub">without {} GPU-h</span>', gpu_hours(row.unpriced_ms)
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
def method_name(name: str) -> str:
    """What a method is called: `By allocation` for `alloc-v1`."""
    return method_title(name)


@register.filter
def revision_title(text: str) -> str:
    """A text with `October 2026, revision 1` in place of `2026-10-r1`, and months in words."""
    return _REVISION.sub(_titled, text)


def _titled(found: re.Match[str]) -> str:
    first = date.fromisoformat(f"{found[1]}-01")
    return f"{first:%B %Y}, revision {found[2]}" if found[2] else f"{first:%B %Y}"


@register.filter
def bill_word(word: str) -> str:
    """The heading of rows of a bill, by the word that the API and files have."""
    return BILL_TITLES.get(word, word.replace("_", " ").capitalize())
