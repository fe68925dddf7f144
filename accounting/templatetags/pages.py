"""Pieces of pages that templates repeat: icons, number buttons, bars, table heads, links."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from accounting.charts.bars import BarPart
from accounting.domain.core.billing_calendar import DayRange
from accounting.domain.reports.rows import UsageRow
from accounting.templatetags.units import (
    NO_DATA,
    NO_PRICE,
    days,
    gpu_hours,
    short_day,
)

register = template.Library()

_SAFE_JSON = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@register.simple_tag
def icon(name: str) -> SafeString:
    """One symbol of the sprite; decorative, next to its text."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false">'
        '<use href="{}#{}"></use></svg>',
        static("vendor/lucide/sprite.svg"),
        name,
    )


def explain_url(context: Mapping[str, Any], what: str, key: Mapping[str, Any]) -> str:
    """The address that explains one number: which figure, row and range."""
    pairs: dict[str, Any] = {"what": what}
    state = context.get("state")
    if state is not None:
        pairs |= state.exact | state.filters
    pairs |= {name: str(v) for name, v in key.items() if v}
    return f"{reverse('explain')}?{urlencode(pairs, doseq=True)}"


@register.simple_tag(takes_context=True)
def number(context: Mapping[str, Any], text: str, what: str, **key: Any) -> SafeString:
    """A number that leads to its explanation; a script shows that in a drawer."""
    missing = " nodata" if text in (NO_DATA, NO_PRICE) else ""
    return format_html(
        '<a class="num{}" href="{}" data-explain aria-haspopup="dialog">{}'
        '<span class="vh">, explain</span></a>',
        missing,
        explain_url(context, what, key),
        text,
    )


@register.simple_tag(takes_context=True)
def split_number(  # one parameter a part of the number
    context: Mapping[str, Any], text: str, what: str, by: str, value: str, **key: Any
) -> SafeString:
    """A number of a row whose dimension is only known when the page is made."""
    return number(context, text, what, **key | {by: value})


@register.simple_tag(takes_context=True)
def figure(
    context: Mapping[str, Any], text: str, unit: str, what: str, **key: Any
) -> SafeString:
    """The large number of a card; leads to its explanation."""
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
    """What a range is compared with: `1-22 Oct 2026 to 10:00` while it still runs."""
    state = context["state"]
    text = days(state.before)
    if not state.is_before_cut:
        return text
    end = state.before_period.end.astimezone(state.zone)
    on = "" if end.date() == state.before.last else f"{short_day(end.date())} "
    return f"{text} to {on}{end:%H:%M}"


@register.simple_tag
def unpriced(row: UsageRow) -> SafeString:
    """Beside a row's money: the part of its time that the money leaves out."""
    if not 0 < row.unpriced_ms < row.allocated_ms:
        return mark_safe("")  # all of it is priced, or the money is "No price"
    return format_html(
        '<span class="cell-sub">without {} GPU-h</span>', gpu_hours(row.unpriced_ms)
    )


_HATCHES = {
    "idle": "{slot}",
    "free": "0",
}  # state -> pattern of components/patterns.html


@register.simple_tag
def state_rect(kind: str, slot: int | str = 0, **box: float | str) -> SafeString:
    """One area of a picture that shows a state: the only place that knows how it is hatched.

    Args:
        kind: the state, a class `s-...` of components.css.
        slot: the color of the team, for idle time.
        box: `x`, `y`, `width`, `height` and `rx` as SVG has them.
    """
    hatch = _HATCHES.get(kind, "").format(slot=slot)
    if hatch:
        box["fill"] = f"url(#hatch-{hatch})"
    attributes = format_html_join("", ' {}="{}"', box.items())
    return format_html('<rect class="s-{}"{}/>', kind, attributes)


@register.simple_tag
def state_bar(
    parts: Sequence[BarPart], slot: int, text: str, css: str = "stackbar"
) -> SafeString:
    """A bar of states: solid busy, hatched idle, dashed no data, plain unallocated."""
    height = 14 if css == "stackbar" else 28
    rects = format_html_join(
        "",
        "{}",
        (
            (
                state_rect(
                    part.kind,
                    slot,
                    x=f"{part.x}%",
                    y=1,
                    width=f"{part.width}%",
                    height=height,
                    rx=2,
                ),
            )
            for part in parts
        ),
    )
    return format_html(
        '<svg class="{} t{}" role="img" aria-label="{}">{}</svg>',
        css,
        slot,
        text,
        rects,
    )


@register.simple_tag
def meter(ratio: float | None) -> SafeString:
    """A share as a small bar next to its number."""
    width = 0 if ratio is None else round(ratio * 100, 1)
    return format_html(
        '<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" '
        'aria-hidden="true" focusable="false"><rect class="track" width="100" height="8"/>'
        '<rect class="fill" width="{}" height="8"/></svg>',
        width,
    )


@register.simple_tag
def run_bar(read_ms: int, runs: Sequence[Any]) -> SafeString:
    """How long an ingest run took, against the slowest of the list."""
    slowest = max((run.read_ms for run in runs), default=0)
    return meter(read_ms / slowest if slowest else None)


@register.simple_tag(takes_context=True)
def sort_th(
    context: Mapping[str, Any], column: str, label: str, css: str = ""
) -> SafeString:
    """A column head that sorts by the address; a second click turns the order."""
    state = context["state"]
    is_now = state.sort.lstrip("-") == column
    is_down = state.sort.startswith("-")
    following = column if is_now and is_down else f"-{column}"
    if is_now and not is_down:
        following = f"-{column}"
    order = ("descending" if is_down else "ascending") if is_now else ""
    return format_html(
        '<th scope="col" class="c-{}{}"{}><a href="{}">{}{}</a></th>',
        column,
        f" {css}" if css else "",
        format_html(' aria-sort="{}"', order) if order else "",
        state.url(sort=following, page=""),
        label,
        icon("arrow-down" if is_down else "arrow-up") if is_now else "",
    )


@register.simple_tag(takes_context=True)
def page_url(
    context: Mapping[str, Any], number: int, by: int, name: str = "page"
) -> str:
    """The address of the page before or after."""
    url: str = context["state"].url(**{name or "page": str(number + by)})
    return url


@register.simple_tag(takes_context=True)
def only(context: Mapping[str, Any], name: str, value: str, text: str) -> SafeString:
    """A small link that filters the page by one value; nothing where it already is."""
    state = context["state"]
    if value in state.filters.get(name, ()):
        return mark_safe("")
    return format_html(
        '<a class="only" href="{}" aria-label="Only {}" title="Only {}" data-filter>{}</a>',
        state.with_filter(name, value),
        text,
        text,
        icon("funnel"),
    )


@register.simple_tag(takes_context=True)
def filter_link(context: Mapping[str, Any], name: str, value: str) -> SafeString:
    """A value of a table that filters the page by this value; plain text if the filter is
    active."""
    state = context["state"]
    if not value or value in state.filters.get(name, ()):
        return format_html("{}", value or "Unknown")
    return format_html(
        '<a class="name" href="{}" title="Only {}" data-filter>{}</a>',
        state.with_filter(name, value),
        value,
        value,
    )


@register.simple_tag(takes_context=True)
def workloads_url(context: Mapping[str, Any], line: Any) -> str:
    """The workloads of a line's team, with that workload in sight."""
    url: str = context["state"].link(
        reverse("team-workloads", args=[line.key]), team="", q=line.workload
    )
    return url


@register.simple_tag
def own_workload(line: Any, span: DayRange) -> str:
    """The workloads of a line's team on some days, with that workload in sight."""
    pairs = {"from": span.first.isoformat(), "to": span.after.isoformat()}
    query = urlencode(pairs | {"q": line.workload})
    return f"{reverse('team-workloads', args=[line.key])}?{query}"


@register.simple_tag(takes_context=True)
def changes_csv(context: Mapping[str, Any]) -> str:
    """Every workload that moved, as a file."""
    url: str = context["state"].url(csv="changes")
    return url


@register.simple_tag(takes_context=True)
def open_url(context: Mapping[str, Any], line: Any) -> str:
    """The list with the pods of one workload in sight."""
    url: str = context["state"].url(open=line.open_key)
    return f"{url}#open"


@register.simple_tag(takes_context=True)
def holds_csv(context: Mapping[str, Any], line: Any) -> str:
    """All holds of a workload in the range, as the API gives them."""
    pairs = dict(context["state"].exact)
    pairs |= {"team": line.key, "namespace": line.namespace, "workload": line.workload}
    return f"{reverse('api-holds')}?{urlencode(pairs | {'format': 'csv'})}"


def report_url(
    context: Mapping[str, Any], noun: str, by: str, key: Mapping[str, Any]
) -> str:
    """The API's address for the rows of a table."""
    state = context.get("state")
    pairs: dict[str, Any] = {"by": by} if by else {}
    if state is not None:
        pairs |= state.exact | state.stored_filters
    pairs |= {name: str(value) for name, value in key.items() if value}
    return f"/api/v1/{noun}?{urlencode(pairs, doseq=True, safe=',')}"


TABLE_COLUMNS = (  # of usage on pages; the API gives all of them where none is named
    *("allocated_gpu_hours", "busy_gpu_hours", "idle_gpu_hours", "unknown_gpu_hours"),
    *("efficiency", "coverage", "charge", "idle_charge", "currency"),
    "unpriced_gpu_hours",
)


@register.simple_tag(takes_context=True)
def csv_link(
    context: Mapping[str, Any], noun: str = "usage", by: str = "", **key: Any
) -> SafeString:
    """All rows of a table as CSV: the same query as the API's, in the table's columns."""
    url = report_url(context, noun, by, key)
    mark = "&" if "?" in url else "?"
    if noun == "usage":
        url = f"{url}{mark}columns={','.join(TABLE_COLUMNS)}"
        mark = "&"
    return format_html(
        '<a class="tool" href="{}" download>{}CSV</a>',
        f"{url}{mark}format=csv",
        icon("download"),
    )


@register.inclusion_tag("components/api_menu.html", takes_context=True)
def api_menu(
    context: Mapping[str, Any], noun: str = "usage", by: str = "", **key: Any
) -> dict[str, Any]:
    """`</> API`: a ready request for exactly this table."""
    state = context["state"]
    return {"url": f"{state.host}{report_url(context, noun, by, key)}", "name": noun}


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
    """The name of a team for its slug; the slug where it is not known."""
    found = teams.get(slug) if teams else None
    return slug if found is None else str(found.name)


@register.filter
def lower_first(text: str) -> str:
    """A label inside a sentence; names in capitals stay as they are."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


@register.filter
def entry(table: Mapping[str, Any], key: str) -> Any:
    """What a table holds under a key that is only known in the template."""
    return table.get(key) if table else None
