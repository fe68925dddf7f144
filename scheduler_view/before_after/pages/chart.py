"""The cost of each day of both periods, with the marks of what was changed."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from accounting.core.billing_calendar import DAY
from accounting.core.ledger_line import STATES
from accounting.core.money import amount_of
from accounting.core.money_text import currency_sign
from accounting.kit.charts import bars, plots
from accounting.kit.charts.plots import PlotSeries, TimeAxis
from accounting.kit.pages.permissions import Visitor
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart, Key
from accounting.usage.rules.rows import LedgerRow
from scheduler_view.before_after.pages.lines import MarkLine
from scheduler_view.before_after.reads import (
    PeriodRead,
)

MOST_TICKS = 6
SLOT = 1  # the figures are those of no team: the product's own color


def cost_by_day(
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
        sentence=marked(len(marks)),
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


def marked(count: int) -> str:
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
