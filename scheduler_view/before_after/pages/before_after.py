"""Before and after: two periods side by side, with what was changed in and between them."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.rights import WHOLE_FLEET
from accounting.core.money import minor_places
from accounting.health.pages import chip_of
from accounting.kit.pages.permissions import page, visitor_of
from accounting.kit.reads.selection import SelectionError
from scheduler_view.before_after.pages.chart import cost_by_day
from scheduler_view.before_after.pages.file import figures_file
from scheduler_view.before_after.pages.lines import (
    MarkLine,
    doubts_of,
    figure_lines,
    mark_text,
    money_lines,
    since,
    text_of,
    total_line,
)
from scheduler_view.before_after.pages.periods import (
    choice_of,
    file_url,
    offered_changes,
)
from scheduler_view.before_after.reads import (
    applied_changes,
    data_interval,
    marks_of,
    period_figures,
)
from scheduler_view.before_after.rules import (
    compared,
    default_periods,
    story,
)


@page(WHOLE_FLEET)
def before_after(request: HttpRequest) -> HttpResponse:
    """Two periods, with what was changed in and between them."""
    visitor = visitor_of(request)
    chip = chip_of(request)
    zone = visitor.billing.zone
    data = data_interval(chip.since, chip.until)
    changes = applied_changes(visitor.scope, zone)
    today = visitor.now.astimezone(zone).date()
    first_data = chip.since.astimezone(zone).date() if chip.since else None
    last_data = (
        (chip.until - timedelta(milliseconds=1)).astimezone(zone).date()
        if chip.until
        else None
    )
    if last_data is not None and not chip.is_live:
        today = min(today, last_data)
    usual = default_periods(today, first_data)
    choice = choice_of(request.GET, changes, today, usual)
    offered = offered_changes(changes, today)
    context: dict[str, Any] = {
        "choice": choice,
        "changes": offered,
        "can_choose": any(one.until is None for one in offered),
    }
    if choice.days is None:
        if "csv" in request.GET:
            raise SelectionError(choice.reason.removesuffix("."))
        return render(request, "before_after/before_after.html", context)
    days = choice.days
    before, after = (
        period_figures(visitor.scope, one, zone, data, visitor.now) for one in days
    )
    figures = compared(before.figures, after.figures)
    if "csv" in request.GET:
        return figures_file(visitor, before, after, figures)
    marks = marks_of(visitor.scope, days[0].first, days[1].after, zone, chip.since)
    lines = [MarkLine(n, one, mark_text(one)) for n, one in enumerate(marks, start=1)]
    currency = visitor.billing.currency
    money = money_lines(before, after, minor_places(currency))
    context |= {
        "before": before.figures,
        "after": after.figures,
        "lines": figure_lines(figures, before, after, currency),
        "money": money,
        "total": total_line(money),
        "currency": currency,
        "chart": cost_by_day(visitor, before, after, lines),
        "marks": lines,
        "doubts": doubts_of(before, after, first_data, last_data),
        "sentences": story(
            since(choice.change, before, after),
            before.figures,
            after.figures,
            figures,
            lambda one, value: text_of(one.unit, value, currency, is_short=True),
        ),
        "file_url": file_url(days, choice.change),
        "has_any": bool(before.daily or after.daily),
    }
    return render(request, "before_after/before_after.html", context)
