"""The text in the image of a chart, and the name of its file.

An image is used without the page around it, so it must state what it shows, for which teams,
period, unit and filters.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from babel.dates import format_datetime
from django import template

from accounting.kit.reads.file_names import file_name, period_part
from accounting.kit.tags.pages import lower_first
from accounting.kit.tags.units import DATES, days

register = template.Library()


@register.inclusion_tag("components/png_button.html", takes_context=True)
def png_button(
    context: Mapping[str, Any], name: str, title: str, unit: str = ""
) -> dict[str, str]:
    """The button that saves a chart as PNG.

    Args:
        name: the chart's id in the page.
        title: of its card.
        unit: of the vertical axis.
    """
    state = context["state"]
    about, key = _about(context)
    first, after = state.exact["from"], state.exact["to"]
    period = _instants(context) if "gpu" in context else period_part(first, after)
    return {
        "name": name,
        "title": f"{about}: {lower_first(title)}",
        "note": _note(context),
        "unit": unit,
        "file": file_name("png", key, title.lower(), period),
    }


def _about(context: Mapping[str, Any]) -> tuple[str, str]:
    """The subject of a chart: for people, and for a file name."""
    if gpu := context.get("gpu"):
        return str(gpu.uuid), str(gpu.uuid)
    if team := context.get("team"):
        return str(team.name), str(team.slug)
    sees_all = context["state"].visitor.scope.sees_all
    return ("All teams" if sees_all else "Your teams"), "teams"


def _note(context: Mapping[str, Any]) -> str:
    """Period, time zone, filters, and where the data ends inside the period."""
    state = context["state"]
    start, end = state.period.start, state.period.end
    if "gpu" in context:
        start, end = context["period"].start, context["period"].end
        parts = [f"{_moment(start, state)} to {_moment(end, state)}"]
    else:
        parts = [days(state.days)]
    parts.append(str(state.zone))
    if state.cluster:
        parts.append(f"cluster {state.cluster}")
    parts += [f"{one.label} is {one.value}" for one in context.get("chips") or ()]
    until = state.chip.until
    if until is not None and start < until < end:
        parts.append(f"data to {_moment(until, state)}")
    return " \N{MIDDLE DOT} ".join(parts)


def _moment(at: datetime, state: Any) -> str:
    return format_datetime(at.astimezone(state.zone), "d MMM yyyy HH:mm", locale=DATES)


def _instants(context: Mapping[str, Any]) -> str:
    period = context["period"]
    return period_part(period.start.isoformat(), period.end.isoformat())
