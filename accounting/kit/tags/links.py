"""Links of pages and tables: sorting, filters, workloads, files, example API requests."""

from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from accounting.core.billing_calendar import DayRange
from accounting.core.unmapped import UNMAPPED
from accounting.kit.cards import CARDS
from accounting.kit.family_address import family_url
from accounting.kit.run_address import run_url
from accounting.kit.tags.components import icon

register = template.Library()


@register.simple_tag(takes_context=True)
def sort_th(
    context: Mapping[str, Any], column: str, label: str, css: str = ""
) -> SafeString:
    """A column head that sorts by the address; a second click reverses the order."""
    sort = context["request"].GET.get("sort", "")
    is_now = sort.lstrip("-") == column
    is_down = sort.startswith("-")
    following = column if is_now and is_down else f"-{column}"
    if is_now and not is_down:
        following = f"-{column}"
    order = ("descending" if is_down else "ascending") if is_now else ""
    return format_html(
        '<th scope="col" class="c-{}{}"{}><a href="{}">{}{}</a></th>',
        column,
        f" {css}" if css else "",
        format_html(' aria-sort="{}"', order) if order else "",
        _changed(context, sort=following, page=""),
        label,
        icon("arrow-down" if is_down else "arrow-up") if is_now else "",
    )


@register.simple_tag(takes_context=True)
def page_url(
    context: Mapping[str, Any], number: int, by: int, name: str = "page"
) -> str:
    """The address of the previous or next page, with the other parameters of this one."""
    return _changed(context, **{name or "page": str(number + by)})


def _changed(context: Mapping[str, Any], **changes: str) -> str:
    """This page with other values in its address; an empty value removes it."""
    state = context.get("state")  # pages without a range have none
    if state is not None:
        return str(state.url(**changes))
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value:
            query[name] = value
    return f"?{query.urlencode()}"


@register.simple_tag(takes_context=True)
def carried(context: Mapping[str, Any], to: str, *args: Any, **more: str) -> str:
    """Another page with this page's range and filters.

    Args:
        context: of the page.
        to: its address, or the name of its route with `args`.
        args: of the route.
        more: parameters of its own.
    """
    url = to if to.startswith("/") else reverse(to, args=args)
    return str(context["state"].link(url, **more)) if context.get("state") else url


@register.simple_tag(takes_context=True)
def only(context: Mapping[str, Any], name: str, value: str, text: str) -> SafeString:
    """A small link that filters the page by one value; empty if the filter is active."""
    state = context["state"]
    if value in state.filters.get(name, ()):
        return mark_safe("")
    label = f"Only {escape(text)}"
    html = (
        f'<a class="only" href="{escape(state.with_filter(name, value))}"'
        f' aria-label="{label}" title="{label}" data-filter>{icon("funnel")}</a>'
    )
    return mark_safe(html)  # noqa: S308  # both values are escaped


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


@register.simple_tag
def family_name(team: str, namespace: str, family: str, text: str = "") -> SafeString:
    """The name of work that opens its family; plain without a page, as without a team."""
    url = "" if team == UNMAPPED else family_url(team, namespace, family)
    if not url:
        return format_html('<span class="name">{}</span>', text or family)
    return format_html('<a class="name" href="{}">{}</a>', url, text or family)


@register.simple_tag
def run_name(
    team: str, namespace: str, kind: str, name: str, family: str = ""
) -> SafeString:
    """The name of a run that opens its page; as that of its family without one."""
    url = run_url(team, namespace, kind, name)
    if not url:
        return family_name(team, namespace, family, name)
    return format_html('<a class="name" href="{}">{}</a>', url, name)


@register.simple_tag
def own_workload(line: Any, span: DayRange) -> str:
    """The workloads page of a line's team on some days, scrolled to that workload."""
    pairs = {"from": span.first.isoformat(), "to": span.after.isoformat()}
    query = urlencode(pairs | {"by": "run", "q": line.workload})
    return f"{reverse('team-workloads', args=[line.key])}?{query}"


@register.simple_tag(takes_context=True)
def changes_csv(context: Mapping[str, Any]) -> str:
    """All workloads with changes, as a file."""
    url: str = context["state"].url(csv="changes")
    return url


@register.inclusion_tag("kit/late_card.html", takes_context=True)
def late_card(
    context: Mapping[str, Any], route: str, *args: Any, **more: str
) -> dict[str, Any]:
    """The place of a card that loads by itself (`accounting/kit/cards.py`).

    Args:
        context: of the page.
        route: of the card, with `args`.
        args: of the route.
        more: parameters of its address, for a page without a range; not those that are empty.
    """
    card, url = CARDS[route], reverse(route, args=args)
    if context.get("state"):
        url = context["state"].part_url(url)
    elif query := urlencode({name: value for name, value in more.items() if value}):
        url = f"{url}?{query}"
    return {"card": card, "url": url, "rows": range(card.rows)}


@register.simple_tag(takes_context=True)
def open_url(context: Mapping[str, Any], line: Any) -> str:
    """The list with the pods of one workload, scrolled to it."""
    url: str = context["state"].url(open=line.open_key)
    return f"{url}#open"


@register.simple_tag(takes_context=True)
def holds_csv(context: Mapping[str, Any], line: Any) -> str:
    """All holds of a workload in the range, as in the API."""
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
        pairs |= state.reported
    pairs |= {name: str(value) for name, value in key.items() if value}
    url = f"/api/v1/{noun}"
    return f"{url}?{urlencode(pairs, doseq=True, safe=',')}" if pairs else url


# columns of usage on pages; the API returns all columns unless they are named
TABLE_COLUMNS = (
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
    """`</> API`: an example request for exactly this table."""
    state = context["state"]
    return {"url": f"{state.host}{report_url(context, noun, by, key)}", "name": noun}
