"""Figures, money and marks of both periods as text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import add

from accounting.core.money import Money, minor_places
from accounting.core.money_text import MINUS, number_text
from accounting.core.rounding import half_even
from accounting.kit.charts import bars
from accounting.kit.tags import units
from accounting.usage.rules.totals import ledger_groups
from scheduler_view.before_after.reads import (
    AppliedChange,
    ChangeMark,
    MarkKind,
    PeriodRead,
)
from scheduler_view.before_after.rules import (
    ComparedFigure,
    ComparedUnit,
    split_of_cost,
)

COST = "cost_per_month"
NAMED_MODELS = 2  # of a change of prices; more are counted


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
class MarkLine:
    """A change with its number in the chart."""

    number: int
    mark: ChangeMark
    text: str


def since(chosen: AppliedChange | None, before: PeriodRead, after: PeriodRead) -> str:
    if chosen is not None:
        return f"Since the change of {units.day(chosen.day)}"
    old, new = before.figures.days, after.figures.days
    if old.is_month and new.is_month:
        return f"From {old.first:%B} to {new.first:%B}"
    return f"From {units.days(old)} to {units.days(new)}"


def text_of(
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
            text = f"{sign}{text_of(one.unit, abs(change), currency)}"
    old, new = (
        text_of(one.unit, value, currency) if period.figures.has_data else units.NO_DATA
        for value, period in ((one.before, before), (one.after, after))
    )
    return FigureLine(one.label, one.help, old, new, text)


def _shown_change(one: ComparedFigure, currency: str) -> Decimal:
    """The difference of the two amounts as they are shown."""
    places = minor_places(currency)
    zero = Decimal(0)
    return half_even(one.after or zero, places) - half_even(one.before or zero, places)


def figure_lines(
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


def doubts_of(
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


def money_lines(before: PeriodRead, after: PeriodRead, places: int) -> list[MoneyLine]:
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


def total_line(lines: Sequence[MoneyLine]) -> MoneyLine:
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
