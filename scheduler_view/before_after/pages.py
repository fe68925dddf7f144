"""Before and after: two periods side by side, and the same figures as a file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, timedelta
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
from accounting.core.money_text import MINUS, currency_sign, number_text
from accounting.core.rounding import half_even
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
    first_compared,
    periods_around,
    split_of_cost,
    story,
)

LONGEST_DAYS = 366
FIELDS = ("before_first", "before_last", "after_first", "after_last")
LABELS = (
    "Before, first day",
    "Before, last day",
    "After, first day",
    "After, last day",
)
COST = "cost_per_month"
MOST_TICKS = 6
FILE_PLACES = 6  # of amounts in the file, as in reports
NAMED_MODELS = 2  # of a change of prices; more are counted
SLOT = 1  # the figures are those of no team: the product's own color


@dataclass(frozen=True, slots=True)
class MoneyLine:
    """What one group of states came to in both periods, to the cent."""

    name: str
    before_ms: int | None  # None, as the money, for a period without data
    after_ms: int | None
    before: Money | None
    after: Money | None


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A figure as text."""

    label: str
    help: str
    before: str
    after: str
    change: str


@dataclass(frozen=True, slots=True)
class PeriodChoice:
    """What the address asks for.

    Attributes:
        days: the two periods; None if they cannot be compared.
        change: the change set that they are around.
        fields: what the form has by `FIELDS`; what was entered is kept.
        title, reason: why nothing is compared; "" otherwise.
    """

    days: tuple[DayRange, DayRange] | None
    change: AppliedChange | None = None
    fields: tuple[str, ...] = ()
    title: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OfferedChange:
    """A change set in the list; `until` is the day before which it is too early."""

    change: AppliedChange
    until: date | None


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
    usual = default_periods(today, first_data)
    choice = _choice(request.GET, changes, today, usual)
    offered = _offered(changes, today)
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
        return _file(visitor, before, after, figures)
    marks = marks_of(visitor.scope, days[0].first, days[1].after, zone, chip.since)
    lines = [MarkLine(n, one, mark_text(one)) for n, one in enumerate(marks, start=1)]
    currency = visitor.billing.currency
    money = _money(before, after, minor_places(currency))
    context |= {
        "before": before.figures,
        "after": after.figures,
        "lines": _lines(figures, before, after, currency),
        "money": money,
        "total": _total(money),
        "currency": currency,
        "chart": _chart(visitor, before, after, lines),
        "marks": lines,
        "doubts": _doubts(before, after, first_data, last_data),
        "sentences": story(
            _since(choice.change, before, after),
            before.figures,
            after.figures,
            figures,
            lambda one, value: _text(one.unit, value, currency, is_short=True),
        ),
        "file_url": _file_url(days, choice.change),
        "has_any": bool(before.daily or after.daily),
    }
    return render(request, "before_after/before_after.html", context)


# --- the address -----------------------------------------------------------------------------


def _choice(
    query: Mapping[str, str],
    changes: Sequence[AppliedChange],
    today: date,
    usual: tuple[DayRange, DayRange],
) -> PeriodChoice:
    """Periods around the change set in the address, those in it, or the usual ones."""
    number = query.get("change", "")
    if number:
        change = next((one for one in changes if str(one.number) == number), None)
        if change is None:
            reason = "It was not applied, or is not one of the last 50."
            return _refused(_texts(usual), "No such change set", reason)
        days = periods_around(change.day, today)
        if days is None:
            return PeriodChoice(None, change, _texts(usual), *_too_early(change))
        return PeriodChoice(days, change, _texts(days))
    entered = tuple(query.get(name, "") for name in FIELDS)
    if any(entered):
        return _picked(entered)
    return PeriodChoice(usual, None, _texts(usual))


def _refused(fields: tuple[str, ...], title: str, reason: str) -> PeriodChoice:
    return PeriodChoice(None, None, fields, title, reason)


def _too_early(change: AppliedChange) -> tuple[str, str]:
    reason = (
        f"CS-{change.number} was applied on {units.day(change.day)}. The first complete day "
        f"after it is {units.day(change.day + DAY)}: it can be compared from "
        f"{units.day(first_compared(change.day))}."
    )
    return "There is nothing to compare yet", reason


def _offered(changes: Sequence[AppliedChange], today: date) -> list[OfferedChange]:
    """The change sets, and until when it is too early for each."""
    return [
        OfferedChange(one, None if start <= today else start)
        for one in changes
        for start in (first_compared(one.day),)
    ]


def _picked(entered: tuple[str, ...]) -> PeriodChoice:
    """The periods that were entered, or why they cannot be compared."""
    dates = [_date(text) for text in entered]
    known = [one for one in dates if one is not None]
    if len(known) < len(dates):
        missing = " and ".join(
            label for label, one in zip(LABELS, dates, strict=True) if one is None
        )
        reason = f"Both periods need a first and a last day. Not a day: {missing}."
        return _refused(entered, "A day is missing", reason)
    ends = (known[0], known[1]), (known[2], known[3])
    for name, (first, last) in zip(("before", "after"), ends, strict=True):
        if first > last:
            reason = (
                f"The first day of the period {name}, {units.day(first)}, is after its last day, "
                f"{units.day(last)}."
            )
            return _refused(entered, "The first day is after the last day", reason)
        if (last - first).days >= LONGEST_DAYS:
            reason = f"A period has at most {LONGEST_DAYS} days."
            return _refused(entered, "The period is too long", reason)
    before, after = (DayRange(first, last + DAY) for first, last in ends)
    if before == after:
        reason = f"Both are {units.days(before)}."
        return _refused(entered, "The two periods are the same", reason)
    if before.after > after.first:
        reason = (
            "The first period has to end before the second one begins: it ends on "
            f"{units.day(before.last)}, and the second one begins on {units.day(after.first)}."
        )
        return _refused(entered, "The periods overlap or are in reverse order", reason)
    return PeriodChoice((before, after), None, entered)


def _date(text: str) -> date | None:
    """A day; None for other text, and for days too far away to be instants."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if MINYEAR < day.year < MAXYEAR else None


def _texts(days: tuple[DayRange, DayRange]) -> tuple[str, ...]:
    return tuple(day.isoformat() for one in days for day in (one.first, one.last))


def _file_url(days: tuple[DayRange, DayRange], chosen: AppliedChange | None) -> str:
    if chosen is not None:
        return f"?change={chosen.number}&csv=1"
    pairs = (f"{name}={day}" for name, day in zip(FIELDS, _texts(days), strict=True))
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


def _line(
    one: ComparedFigure, before: PeriodRead, after: PeriodRead, currency: str
) -> FigureLine:
    change = one.difference
    text = "—"
    if change is not None and one.unit is ComparedUnit.MONEY:
        text = units.money_more(_shown_change(one, currency), currency)
    elif change is not None:
        sign = "+" if change > 0 else MINUS if change < 0 else ""
        if one.unit is ComparedUnit.SHARE:
            text = f"{sign}{abs(change) * 100:.1f} pts"
        else:
            text = f"{sign}{_text(one.unit, abs(change), currency)}"
    old, new = (
        _text(one.unit, value, currency) if period.figures.has_data else units.NO_DATA
        for value, period in ((one.before, before), (one.after, after))
    )
    return FigureLine(one.label, one.help, old, new, text)


def _shown_change(one: ComparedFigure, currency: str) -> Decimal:
    """The difference of the two amounts as they are shown."""
    places = minor_places(currency)
    zero = Decimal(0)
    return half_even(one.after or zero, places) - half_even(one.before or zero, places)


def _lines(
    figures: Sequence[ComparedFigure],
    before: PeriodRead,
    after: PeriodRead,
    currency: str,
) -> list[FigureLine]:
    """Every figure; the two parts of the change of cost are below it."""
    lines: list[FigureLine] = []
    for one in figures:
        lines.append(_line(one, before, after, currency))
        if one.name == COST:
            lines += _split_lines(before, after, currency)
    return lines


def _split_lines(
    before: PeriodRead, after: PeriodRead, currency: str
) -> list[FigureLine]:
    places = minor_places(currency)
    split = split_of_cost(before.figures, after.figures, places)
    if split is None:
        return []
    return [
        FigureLine(
            "Of it by GPU-hours",
            "GPU-hours with a price, per 30 days, and their change at the first period's price",
            number_text(split.hours_before, 0),
            number_text(split.hours_after, 0),
            units.money_more(split.by_hours, currency),
        ),
        FigureLine(
            "Of it by the price of a GPU-hour",
            "Cost of a GPU-hour on average: prices, models, spot",
            units.money(split.price_before, currency),
            units.money(split.price_after, currency),
            units.money_more(split.by_price, currency),
        ),
    ]


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
    before: PeriodRead,
    after: PeriodRead,
    first_data: date | None,
    last_data: date | None,
) -> list[str]:
    """What the two periods lack."""
    found = []
    for one in (before.figures, after.figures):
        name = units.days(one.days)
        begins = first_data is not None and one.days.first < first_data
        ends = last_data is not None and one.days.last > last_data
        if begins and first_data is not None:
            found.append(f"{name}: no data before {units.day(first_data)}")
        if ends and last_data is not None:
            found.append(f"{name}: no data after {units.day(last_data)}")
        if not one.has_data and not begins and not ends:
            found.append(f"{name}: no data")
        elif one.has_data and one.seen is not None and one.seen < 1:
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
    had, has = before.figures.has_data, after.figures.has_data
    return [
        MoneyLine(
            old.name,
            old.milliseconds if had else None,
            new.milliseconds if has else None,
            old.charge if had else None,
            new.charge if has else None,
        )
        for old, new in zip(*groups, strict=True)
    ]


def _total(lines: Sequence[MoneyLine]) -> MoneyLine:
    """What the groups come to: the ledger's total of each period."""
    old = [one.before for one in lines if one.before is not None]
    new = [one.after for one in lines if one.after is not None]
    return MoneyLine(
        "Total",
        _sum(one.before_ms for one in lines),
        _sum(one.after_ms for one in lines),
        reduce(add, old) if old else None,
        reduce(add, new) if new else None,
    )


def _sum(times: Iterable[int | None]) -> int | None:
    """None for a period without data: then no time is known."""
    known = [one for one in times if one is not None]
    return sum(known) if known else None


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
        sentence=_marked(len(marks)),
        columns=("Day", *(one.name for one in series), "Total"),
        rows=tuple(
            (
                units.day(day),
                *(
                    _day_text(rows.get(day), states, currency)
                    for states in (*bars.STATE_GROUPS.values(), STATES)
                ),
            )
            for day in every
        ),
        legend=tuple(Key(one.name, one.slot, one.kind) for one in series),
    )


def _marked(count: int) -> str:
    if not count:
        return "Nothing was changed."
    return "1 change is marked." if count == 1 else f"{count} changes are marked."


def _day_text(row: LedgerRow | None, states: Sequence[str], currency: str) -> str:
    """No data is not a missing price."""
    if row is None:
        return units.NO_DATA
    return units.money(_charge(row, states), currency)


def _charge(row: LedgerRow | None, states: Sequence[str]) -> Decimal | None:
    if row is None or row.currencies:
        return None
    return amount_of(row.charge_of(states))


def _draw(
    figure: plots.Figure, every: Sequence[date], marks: Sequence[MarkLine], middle: int
) -> None:
    """A line between the periods, and one with its number for each day with a change.

    A day between the periods has no bar: its number is on the line between them.
    """
    bars_of = {day: float(place) for place, day in enumerate(every)}
    places: dict[float, list[str]] = {}
    for line in marks:
        place = bars_of.get(line.mark.day, middle - 0.5)
        places.setdefault(place, []).append(str(line.number))
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
    split = split_of_cost(before.figures, after.figures, FILE_PLACES)
    if split is not None:
        rows += [
            ("cost_change_by_hours_per_month", currency, None, split.by_hours),
            ("cost_change_by_price_per_month", currency, None, split.by_price),
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
    return round(value, FILE_PLACES)
