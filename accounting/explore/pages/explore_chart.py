"""The charts of Explore: a measure through time, or by one grouping, stacked by the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from accounting.access.reads.teams import team_named
from accounting.core.interval import HOUR_MS
from accounting.core.money_text import currency_sign
from accounting.explore.pages.explore_state import ExploreState
from accounting.explore.pages.rows import label_of
from accounting.explore.reads.table import ExploreTable
from accounting.explore.rules import ExploreMeasure
from accounting.kit.charts import plots
from accounting.kit.charts.bars import Number
from accounting.kit.charts.plots import NAMED_SERIES, OTHER_SLOT, PlotSeries
from accounting.kit.pages.filters import written
from accounting.kit.reads.dimensions import Dimension
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart, Key
from accounting.usage.pages.steps import ChartStep, axis_of
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import rounded, total_of

MOST_BARS = 12  # others are summed as "Other (n)"
VALUE_SLOTS = range(11, 11 + NAMED_SERIES)
"""Colors of values that are not teams, whose slots are 1 to 8."""

Rows = Mapping[str, Sequence[UsageRow]]
"""Rows by position on the axis."""


class ChartPlace(Protocol):
    """A place on the axis; without rows there, a gap is unknown and not zero."""

    @property
    def key(self) -> str:
        """As rows have it."""

    @property
    def label(self) -> str:
        """On the page."""

    @property
    def is_gap(self) -> bool:
        """Whether nothing is known of it."""


@dataclass(frozen=True, slots=True)
class NamedBar:
    """A value of the first grouping as a place on the axis."""

    key: str
    label: str
    is_gap: bool = False


def chart_through_time(
    state: ExploreState, table: ExploreTable, steps: Sequence[ChartStep], places: int
) -> Chart:
    """The largest values of the other grouping as series, and the others as one.

    Args:
        state: with a grouping through time.
        table: by it.
        steps: of it; gaps are not zeros.
        places: of the currency: cells come to their rounded total by largest remainder.
    """
    other = next((one for one in state.groupings if one.name != state.time), None)
    rows = rounded(table.cells, places)
    series = _stack(state, rows, other, lambda row: row.key[state.time], steps)
    totals = _totals(state, rows, lambda row: row.key[state.time], steps)
    axis = axis_of(steps)
    if state.measure.is_share:
        figure = plots.shares_by_step(axis, series)
    else:
        figure = plots.money_by_step(axis, series, *_units(state))
    heading = state.time.capitalize()
    sentence = _sentence(state, steps, totals)
    return _chart(
        state, (figure, sentence), heading, series if other else [], steps, totals
    )


def chart_by_name(state: ExploreState, table: ExploreTable, places: int) -> Chart:
    """The largest values of the first grouping as bars, stacked by the second one.

    Args:
        state: with two groupings, neither of them time.
        table: by both.
        places: of the currency.
    """
    first, second = state.groupings
    rows = rounded(table.cells, places)
    grouped: dict[str, list[UsageRow]] = {}
    for row in rows:
        grouped.setdefault(_key(first, row), []).append(row)
    order = sorted(grouped, key=lambda key: (-_size(state.measure, grouped[key]), key))
    many = len(order) > MOST_BARS + 1
    shown = order[:MOST_BARS] if many else order
    labels = [
        label_of(first, grouped[key][0].key[first.name], state.teams) for key in shown
    ]
    bars = [
        NamedBar(key, f"{label} ({grouped[key][0].key['namespace']})")
        if labels.count(label) > 1 and "namespace" in grouped[key][0].key
        else NamedBar(key, label)
        for key, label in zip(shown, labels, strict=True)
    ]
    if many:
        bars.append(NamedBar("", f"Other ({len(order) - MOST_BARS})"))

    def place(row: UsageRow) -> str:
        key = _key(first, row)
        return key if key in shown else ""

    series = _stack(state, rows, second, place, bars)
    totals = _totals(state, rows, place, bars)
    names = [bar.label for bar in bars]
    if state.measure.is_share:
        figure = plots.shares_by_name(names, series)
    else:
        figure = plots.amounts_by_name(names, series, *_units(state))
    sentence = _extremes(state, names[: len(shown)], totals, "None has a figure.")
    return _chart(state, (figure, sentence), first.label, series, bars, totals)


def _stack(
    state: ExploreState,
    rows: Sequence[UsageRow],
    of: Dimension | None,
    place: Callable[[UsageRow], str],
    positions: Sequence[ChartPlace],
) -> list[PlotSeries]:
    """The largest values of a grouping as series, and the others as one; without one, all."""
    measure = state.measure
    cells: dict[str, dict[str, list[UsageRow]]] = {}
    values: dict[str, str] = {}
    for row in rows:
        key = _key(of, row) if of else ""
        values[key] = row.key[of.name] if of else ""
        cells.setdefault(key, {}).setdefault(place(row), []).append(row)
    whole = {
        key: [row for some in cells[key].values() for row in some] for key in cells
    }
    order = sorted(cells, key=lambda key: (-_size(measure, whole[key]), key))
    many = len(order) > NAMED_SERIES + 1
    shown = order[:NAMED_SERIES] if many else order
    series = []
    for position, key in enumerate(shown):
        name, url, slot = measure.label, "", VALUE_SLOTS[0]
        if of is not None:
            name = label_of(of, values[key], state.teams)
            url = state.adding({of.name: written(values[key])})
            slot = _slot(state, of, values[key], position)
        series.append(
            PlotSeries(name, slot, _values(measure, cells[key], positions), url)
        )
    if many:
        rest: dict[str, list[UsageRow]] = {}
        for key in order[NAMED_SERIES:]:
            for where, some in cells[key].items():
                rest.setdefault(where, []).extend(some)
        name = f"Other ({len(order) - NAMED_SERIES})"
        series.append(PlotSeries(name, OTHER_SLOT, _values(measure, rest, positions)))
    return series


def _slot(state: ExploreState, of: Dimension, value: str, position: int) -> int:
    """The color of a value: a team's own; others have no color of a team."""
    if of.name == "team":
        return team_named(state.teams, value).slot
    return VALUE_SLOTS[position] if position < NAMED_SERIES else OTHER_SLOT


def _totals(
    state: ExploreState,
    rows: Sequence[UsageRow],
    place: Callable[[UsageRow], str],
    positions: Sequence[ChartPlace],
) -> tuple[Decimal | None, ...]:
    grouped: dict[str, list[UsageRow]] = {}
    for row in rows:
        grouped.setdefault(place(row), []).append(row)
    return _values(state.measure, grouped, positions)


def _chart(
    state: ExploreState,
    drawn: tuple[plots.Figure, str],
    heading: str,
    series: Sequence[PlotSeries],
    positions: Sequence[ChartPlace],
    totals: Sequence[Decimal | None],
) -> Chart:
    """The figure with its table and its legend; without series, with the totals alone."""
    figure, sentence = drawn
    return Chart(
        figure=figure,
        sentence=sentence,
        columns=(
            heading,
            *(one.name for one in series),
            "Total" if series else state.measure.label,
        ),
        rows=tuple(
            (
                position.label,
                *(
                    text_of(state.measure, one.values[i], state.currency)
                    for one in series
                ),
                text_of(state.measure, totals[i], state.currency),
            )
            for i, position in enumerate(positions)
        ),
        legend=tuple(Key(one.name, one.slot, "busy", one.url) for one in series),
    )


def _key(of: Dimension, row: UsageRow) -> str:
    """All fields of a value of a grouping: a family is one of its namespace."""
    return "/".join(row.key[key.name] for key in of.keys)


def _units(state: ExploreState) -> tuple[str, str]:
    """The sign of money, and the unit of other figures."""
    measure = state.measure
    sign = currency_sign(state.currency) if measure.is_money else ""
    return sign, f" {measure.unit}"


def _size(measure: ExploreMeasure, rows: Sequence[UsageRow]) -> Decimal:
    """What a value is sorted by: of shares, the time that they are of."""
    total = total_of(rows)
    if measure.is_share:
        return Decimal(total.allocated_ms)
    return measure.of(total) or Decimal(0)


def _values(
    measure: ExploreMeasure, rows: Rows, positions: Sequence[ChartPlace]
) -> tuple[Decimal | None, ...]:
    return tuple(_value(measure, rows.get(one.key), one) for one in positions)


def _value(
    measure: ExploreMeasure, rows: Sequence[UsageRow] | None, position: ChartPlace
) -> Decimal | None:
    if rows and (value := measure.of(total_of(rows))) is not None:
        return value
    return None if position.is_gap or measure.is_share or rows else Decimal(0)


def text_of(measure: ExploreMeasure, value: Number | None, currency: str) -> str:
    """A figure as text."""
    if value is None:
        return units.NO_DATA
    if measure.is_money:
        return units.money(Decimal(value), currency)
    if measure.is_share:
        return units.percent(float(value))
    return units.gpu_hours(int(Decimal(value) * HOUR_MS))


def _sentence(
    state: ExploreState, steps: Sequence[ChartStep], totals: Sequence[Decimal | None]
) -> str:
    """The highest and the lowest complete step."""
    over = [i for i, step in enumerate(steps) if not step.is_running]
    names = [steps[i].name for i in over]
    values = [totals[i] for i in over]
    return _extremes(state, names, values, f"No complete {state.time} yet.")


def _extremes(
    state: ExploreState,
    names: Sequence[str],
    values: Sequence[Decimal | None],
    nothing: str,
) -> str:
    """The highest and the lowest of named figures."""
    found = plots.extremes(values[: len(names)])
    if found is None:
        return nothing
    unit = f" {state.measure.unit}" if state.measure.unit else ""
    high, low = (
        f"{names[i]} ({text_of(state.measure, values[i], state.currency)}{unit})"
        for i in found
    )
    return f"Highest: {high}" + (f"; lowest: {low}." if len(names) > 1 else ".")
