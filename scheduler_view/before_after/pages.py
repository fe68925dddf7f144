"""Before and after: two periods side by side, and the same figures as a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import add
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.rights import WHOLE_FLEET
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.ledger_line import STATES
from accounting.core.money import Money, amount_of, minor_places
from accounting.core.money_text import MINUS, currency_sign
from accounting.health.pages import chip_of
from accounting.kit.charts import bars, plots
from accounting.kit.charts.plots import PlotSeries, TimeAxis
from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.permissions import Visitor, page, visitor_of
from accounting.kit.reads.selection import SelectionError
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart, Key
from accounting.usage.rules.rows import LedgerRow
from accounting.usage.rules.totals import ledger_groups
from scheduler_view.before_after.reads import (
    AppliedChange,
    ChangeMark,
    MarkKind,
    PeriodRead,
    applied_changes,
    data_interval,
    marks_of,
    period_figures,
)
from scheduler_view.before_after.rules import (
    ComparedFigure,
    ComparedUnit,
    compared,
    default_periods,
    periods_around,
    story,
)

LONGEST_DAYS = 366
FIELDS = ("before_first", "before_last", "after_first", "after_last")
MOST_TICKS = 6
NAMED_MODELS = 2  # of a change of prices; more are counted
SLOT = 1  # the figures are those of no team: the product's own color


@dataclass(frozen=True, slots=True)
class MoneyLine:
    """What one group of states came to in both periods, to the cent."""

    name: str
    before_ms: int
    after_ms: int
    before: Money | None
    after: Money | None


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A figure as text."""

    figure: ComparedFigure
    before: str
    after: str
    change: str


@dataclass(frozen=True, slots=True)
class MarkLine:
    """A change with its number in the chart."""

    number: int
    mark: ChangeMark
    text: str


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
    chosen, note = _chosen(request.GET, changes)
    picked = None
    if not chosen:
        picked, wrong = _picked(request.GET)
        note = note or wrong
    if chosen is not None:
        days = periods_around(chosen.day, today)
    else:
        days = picked or default_periods(today, first_data)
    before, after = (
        period_figures(visitor.scope, one, zone, data, visitor.now) for one in days
    )
    figures = compared(before.figures, after.figures)
    if "csv" in request.GET:
        return _file(visitor, before, after, figures)
    marks = marks_of(visitor.scope, days[0].first, days[1].after, zone, chip.since)
    lines = [MarkLine(n, one, mark_text(one)) for n, one in enumerate(marks, start=1)]
    currency = visitor.billing.currency
    money = _money(before, after, minor_places(currency))
    context: dict[str, Any] = {
        "before": before.figures,
        "after": after.figures,
        "lines": [_line(one, currency) for one in figures],
        "money": money,
        "total": _total(money),
        "currency": currency,
        "chart": _chart(visitor, before, after, lines),
        "marks": lines,
        "changes": changes,
        "chosen": chosen,
        "note": note,
        "doubts": _doubts(before, after, first_data),
        "sentences": story(
            _since(chosen, before, after),
            before.figures,
            after.figures,
            figures,
            lambda one, value: _text(one.unit, value, currency, is_short=True),
        ),
        "file_url": _file_url(days, chosen),
        "has_any": bool(before.daily or after.daily),
    }
    return render(request, "before_after/before_after.html", context)


# --- the address -----------------------------------------------------------------------------


def _chosen(
    query: Mapping[str, str], changes: Sequence[AppliedChange]
) -> tuple[AppliedChange | None, str]:
    """The applied change set in the address, and what is wrong with it."""
    text = query.get("change", "")
    if not text:
        return None, ""
    found = next((one for one in changes if str(one.number) == text), None)
    if found is None:
        return None, "This change set was not applied, or is not one of the last 50."
    return found, ""


def _picked(
    query: Mapping[str, str],
) -> tuple[tuple[DayRange, DayRange] | None, str]:
    """The periods in the address, and what is wrong with them."""
    texts = [query.get(name, "") for name in FIELDS]
    if not any(texts):
        return None, ""
    try:
        dates = [date.fromisoformat(text) for text in texts]
        before, after = (
            DayRange(first, last + DAY) for first, last in (dates[:2], dates[2:])
        )
    except (ValueError, OverflowError):
        return (
            None,
            "Both periods need a first and a last day; these are the usual ones.",
        )
    if max(before.days, after.days) > LONGEST_DAYS:
        return (
            None,
            f"A period has at most {LONGEST_DAYS} days; these are the usual ones.",
        )
    if before.after > after.first:
        return None, "The first period has to end before the second one begins."
    return (before, after), ""


def _file_url(days: tuple[DayRange, DayRange], chosen: AppliedChange | None) -> str:
    if chosen is not None:
        return f"?change={chosen.number}&csv=1"
    ends = (days[0].first, days[0].last, days[1].first, days[1].last)
    pairs = (f"{name}={day}" for name, day in zip(FIELDS, ends, strict=True))
    return f"?{'&'.join(pairs)}&csv=1"


# --- texts -----------------------------------------------------------------------------------


def _since(chosen: AppliedChange | None, before: PeriodRead, after: PeriodRead) -> str:
    if chosen is not None:
        return f"Since the change of {units.day(chosen.day)}"
    old, new = before.figures.days, after.figures.days
    if old.is_month and new.is_month:
        return f"From {old.first:%B} to {new.first:%B}"
    return f"From {units.days(old)} to {units.days(new)}"


def _text(
    unit: ComparedUnit, value: Decimal | None, currency: str, *, is_short: bool = False
) -> str:
    if unit is ComparedUnit.MONEY:
        write = units.money_round if is_short else units.money
        return write(value, currency)
    if value is None:
        return units.NO_DATA
    if unit is ComparedUnit.SHARE:
        return units.percent(float(value))
    if unit is ComparedUnit.TIME:
        return units.duration(int(value))
    return units.average(float(value))


def _line(one: ComparedFigure, currency: str) -> FigureLine:
    change = one.difference
    text = "—"
    if change is not None and one.unit is ComparedUnit.MONEY:
        text = units.money_more(change, currency)
    elif change is not None:
        sign = "+" if change > 0 else MINUS if change < 0 else ""
        if one.unit is ComparedUnit.SHARE:
            text = f"{sign}{abs(change) * 100:.1f} pts"
        else:
            text = f"{sign}{_text(one.unit, abs(change), currency)}"
    return FigureLine(
        one,
        _text(one.unit, one.before, currency),
        _text(one.unit, one.after, currency),
        text,
    )


def mark_text(mark: ChangeMark) -> str:
    """`CS-12: Vision: 24 → 30 GPUs`, `Rate of H100 80 GB`, `+16 H100 80 GB, −8 T4`."""
    if mark.kind is MarkKind.CHANGE:
        return f"CS-{mark.number}: {mark.text}"
    if mark.kind is MarkKind.PRICE:
        names = ", ".join(map(units.short_model, mark.priced))
        if len(mark.priced) > NAMED_MODELS:
            return f"{len(mark.priced)} {mark.text}s"
        return f"{mark.text.capitalize()} of {names}"
    return ", ".join(
        f"{'+' if count > 0 else MINUS}{abs(count)} {units.short_model(model)}"
        for model, count in mark.models
    )


def _doubts(
    before: PeriodRead, after: PeriodRead, first_data: date | None
) -> list[str]:
    """What the two periods lack."""
    found = []
    for one in (before.figures, after.figures):
        name = units.days(one.days)
        if not one.length_ms:
            found.append(f"{name}: no data")
        elif first_data is not None and one.days.first < first_data:
            found.append(f"{name}: no data before {units.day(first_data)}")
        elif one.seen is not None and one.seen < 1:
            percent = min(one.seen * 100, 99.9)
            found.append(f"{name}: {percent:.1f}% of the time has data")
        if one.total.unpriced_ms:
            hours = units.gpu_hours(one.total.unpriced_ms)
            found.append(f"{name}: {hours} GPU-h have no price and are in no amount")
    return found


# --- parts of the page -------------------------------------------------------------------------


def _money(before: PeriodRead, after: PeriodRead, places: int) -> list[MoneyLine]:
    """The four groups of states; each column comes to the ledger's total."""
    groups = (
        ledger_groups(one.figures.total, bars.STATE_GROUPS, places)
        for one in (before, after)
    )
    return [
        MoneyLine(old.name, old.milliseconds, new.milliseconds, old.charge, new.charge)
        for old, new in zip(*groups, strict=True)
    ]


def _total(lines: Sequence[MoneyLine]) -> MoneyLine:
    """What the groups come to: the ledger's total of each period."""
    old = [one.before for one in lines if one.before is not None]
    new = [one.after for one in lines if one.after is not None]
    return MoneyLine(
        "Total",
        sum(one.before_ms for one in lines),
        sum(one.after_ms for one in lines),
        reduce(add, old) if old else None,
        reduce(add, new) if new else None,
    )


def _chart(
    visitor: Visitor,
    before: PeriodRead,
    after: PeriodRead,
    marks: Sequence[MarkLine],
) -> Chart:
    """The cost of each day of both periods by what the GPUs did, with the marks."""
    rows = {
        date.fromisoformat(row.key["day"]): row
        for one in (before, after)
        for row in one.daily
    }
    every = [day for one in (before, after) for day in one.figures.days.each()]
    currency = visitor.billing.currency
    series = [
        PlotSeries(
            name,
            SLOT,
            tuple(_charge(rows.get(day), states) for day in every),
            kind=bars.WORD_CLASS[name],
        )
        for name, states in bars.STATE_GROUPS.items()
    ]
    step = -(-len(every) // MOST_TICKS)
    axis = TimeAxis(
        labels=tuple(units.day(day) for day in every),
        ticks=tuple(
            (n, units.short_day(day)) for n, day in enumerate(every) if n % step == 0
        ),
        edges=tuple((day.isoformat(), (day + DAY).isoformat()) for day in every),
    )
    figure = plots.money_by_step(axis, series, currency_sign(currency))
    _draw(figure, every, marks, len(before.figures.days.each()))
    return Chart(
        figure=figure,
        sentence=f"{len(marks)} changes are marked."
        if marks
        else "Nothing was changed.",
        columns=("Day", *(one.name for one in series), "Total"),
        rows=tuple(
            (
                units.day(day),
                *(
                    units.money(_charge(rows.get(day), states), currency)
                    for states in bars.STATE_GROUPS.values()
                ),
                units.money(_charge(rows.get(day), STATES), currency),
            )
            for n, day in enumerate(every)
        ),
        legend=tuple(Key(one.name, one.slot, one.kind) for one in series),
    )


def _charge(row: LedgerRow | None, states: Sequence[str]) -> Decimal | None:
    if row is None or row.currencies:
        return None
    return amount_of(row.charge_of(states))


def _draw(
    figure: plots.Figure, every: Sequence[date], marks: Sequence[MarkLine], middle: int
) -> None:
    """A line between the periods, and one with its number for each day with a change."""
    places: dict[int, list[str]] = {}
    for line in marks:
        place = sum(1 for day in every if day < line.mark.day)
        places.setdefault(min(place, len(every) - 1), []).append(str(line.number))
    shapes = [plots.vertical(middle - 0.5, "$line-strong", "solid")]
    shapes += [plots.vertical(place, "$accent", "dot") for place in places]
    figure["layout"]["shapes"] = [*figure["layout"]["shapes"], *shapes]
    figure["layout"]["annotations"] = [
        {
            "x": place,
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "showarrow": False,
            "text": ", ".join(numbers),
            "font": {"size": 12, "color": "$accent"},
        }
        for place, numbers in places.items()
    ]
    figure["layout"]["margin"] = {"l": 8, "r": 4, "t": 22, "b": 8}


# --- the file ----------------------------------------------------------------------------------


def _file(
    visitor: Visitor,
    before: PeriodRead,
    after: PeriodRead,
    figures: Sequence[ComparedFigure],
) -> HttpResponse:
    """Figures and money of both periods, one row each."""
    currency = visitor.billing.currency
    days = [one.figures.days for one in (before, after)]
    if any(one.figures.total.currencies for one in (before, after)):
        raise SelectionError("the amounts are in several currencies")
    rows: list[tuple[object, ...]] = [
        (
            one.name,
            currency if one.unit is ComparedUnit.MONEY else one.unit,
            _exact(one.before),
            _exact(one.after),
        )
        for one in figures
    ]
    lines = _money(before, after, minor_places(currency))
    for line in (*lines, _total(lines)):
        name = line.name.lower().replace(" ", "_")
        rows.append((f"{name}_ms", "ms", line.before_ms, line.after_ms))
        amounts = (amount_of(line.before), amount_of(line.after))
        rows.append((f"{name}_cost", currency, *amounts))
    ends = [text for one in days for text in (one.first, one.after)]
    return csv_answer(
        "before-after",
        (
            *("figure", "unit", "before", "after"),
            *("before_from", "before_to", "after_from", "after_to"),
        ),
        [(*row, *ends) for row in rows],
        period=f"{days[0].first}_{days[1].last}",
    )


def _exact(value: Decimal | None) -> Decimal | None:
    """Six places, as the amounts of reports."""
    if value is None or value == value.to_integral_value():
        return None if value is None else Decimal(int(value))
    return round(value, 6)
