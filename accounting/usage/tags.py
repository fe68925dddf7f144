"""Rows of reports on pages: their money, and how a number compares with the range before."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from accounting.core.billing_calendar import DayRange
from accounting.core.interval import Interval
from accounting.core.money_text import number_text
from accounting.kit.tags.units import (
    NO_DATA,
    day,
    days,
    gpu_hours,
    money,
    money_round,
    of_row,
    short_day,
    short_model,
)
from accounting.metering.rules.intensity.summary import Intensity
from accounting.usage.rules.comparison import Comparison
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.sentence import Sentence

register = template.Library()


@register.filter
def idle_charge(row: UsageRow, currency: str) -> str:
    """The idle cost of a row as `money`; `2 currencies` if it is in several."""
    return of_row(row, money(row.idle_charge, currency))


@register.filter
def charge_round(row: UsageRow, currency: str) -> str:
    """The charge of a row as `money_round`."""
    return of_row(row, money_round(row.charge, currency))


@register.filter
def idle_charge_round(row: UsageRow, currency: str) -> str:
    """The idle cost of a row as `money_round`."""
    return of_row(row, money_round(row.idle_charge, currency))


@register.simple_tag
def unpriced(row: UsageRow) -> SafeString:
    """Next to a row's money: the part of its time without a price."""
    if not 0 < row.unpriced_ms < row.allocated_ms:
        return mark_safe("")  # all of it is priced, or the money is "No price"
    return format_html(
        '<span class="cell-sub">without {} GPU-h</span>', gpu_hours(row.unpriced_ms)
    )


@register.simple_tag
def short_models(models: Sequence[str]) -> SafeString:
    """The first two of some GPU models in short, and how many more; all of them at the pointer."""
    if not models:
        return mark_safe("")
    text = ", ".join(short_model(model) for model in models[:2])
    more = f", {len(models) - 2} more" if len(models) > 2 else ""
    full = ", ".join(model or short_model(model) for model in models)
    return format_html('<span title="{}">{}{}</span>', full, text, more)


@register.filter
def energy(hard: Intensity) -> str:
    """`12.4 kWh`; a lower bound is marked."""
    joules = hard.energy_joules
    if joules is None:
        return NO_DATA
    kwh = joules / 3_600_000
    text = number_text(kwh, 2 if kwh < 10 else 1 if kwh < 1000 else 0)
    return f"{'≥ ' if hard.is_lower_bound else ''}{text} kWh"


@register.filter
def moved(change: Comparison | None) -> str:
    """`▲ 12.4%`, or a text if there is too little data. The base is shown next to it."""
    if change is None:
        return ""
    if change.difference == 0:
        return "No change"
    mark = "▲" if change.difference > 0 else "▼"
    if change.ratio is None or change.before < 0:
        # a percentage of what is below zero, as of credits, has the wrong sign
        base = "almost nothing" if change.ratio is None else "below zero"
        return f"{mark} from {base}"
    if change.ratio >= 10:
        return f"{mark} {change.after / change.before:,.0f} times as much"
    if abs(change.ratio) < 0.0005:
        return f"{mark} <0.1%"
    return f"{mark} {abs(change.ratio) * 100:.1f}%"


@register.filter
def moved_points(change: Comparison | None) -> str:
    """The change of a share: `▲ 3.1 pts`."""
    if change is None:
        return ""
    points = float(change.difference) * 100
    if abs(points) < 0.05:
        return "No change"
    return f"{'▲' if points > 0 else '▼'} {abs(points):.1f} pts"


@register.filter
def moved_money(change: Comparison | None, currency: str) -> str:
    """`▲ €21,480.00`: the difference itself."""
    if change is None:
        return ""
    if change.difference == 0:
        return "No change"
    mark = "▲" if change.difference > 0 else "▼"
    return f"{mark} {money(abs(change.difference), currency)}"


@register.simple_tag(takes_context=True)
def before_label(context: Mapping[str, Any]) -> str:
    """The compared range: `1-22 Oct 2026 to 10:00` while it is running."""
    return before_text(context["state"])


class Compared(Protocol):
    """What a page compares its range with, if it compares it."""

    @property
    def before(self) -> DayRange | None: ...
    @property
    def before_period(self) -> Interval | None: ...
    @property
    def is_before_cut(self) -> bool: ...
    @property
    def zone(self) -> ZoneInfo: ...


def before_text(state: Compared) -> str:
    """The same for a page; "" if it compares nothing."""
    if state.before is None or state.before_period is None:
        return ""
    text = days(state.before)
    if not state.is_before_cut:
        return text
    end = state.before_period.end.astimezone(state.zone)
    on = "" if end.date() == state.before.last else f"{short_day(end.date())} "
    return f"{text} to {on}{end:%H:%M}"


@register.simple_tag
def lede(sentences: Iterable[Sentence]) -> SafeString:
    """Sentences whose figures are bold."""
    return format_html_join(" ", "{}", ((_told(one),) for one in sentences if one))


def _told(sentence: Sentence) -> SafeString:
    parts = (
        (format_html("<strong>{}</strong>", text) if is_figure else text,)
        for text, is_figure in sentence
    )
    return format_html_join("", "{}", parts)


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
