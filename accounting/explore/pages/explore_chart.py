"""The charts of Explore: a measure through time, or by one grouping, stacked by the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from accounting.core.money_text import currency_sign
from accounting.explore.pages.explore_state import ExploreState
from accounting.explore.pages.rows import label_of, name_of
from accounting.explore.reads.groupings import TIMES
from accounting.explore.reads.table import ExploreTable
from accounting.explore.rules import ExploreMeasure
from accounting.kit.charts import plots
from accounting.kit.charts.plots import NAMED_SERIES, OTHER_SLOT, PlotSeries
from accounting.kit.reads.dimensions import Dimension
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart, Key
from accounting.usage.pages.steps import ChartStep, axis_of
from accounting.usage.reads.breakdown import row_name
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import rounded_each, total_of

MOST_BARS = 12  # others are summed as "Other (n)"
VALUE_SLOTS = range(11, 11 + NAMED_SERIES)
"""Colors of values that are not teams, whose slots are 1 to 8."""


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


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """A series: at each place its row with money that is rounded once; None if it has no row."""

    name: str
    slot: int
    url: str
    rows: tuple[UsageRow | None, ...]


def chart_through_time(
    state: ExploreState, table: ExploreTable, steps: Sequence[ChartStep], places: int
) -> Chart:
    """The largest values of the other grouping as series, and the others as one.

    Args:
        state: with a grouping through time.
        table: by it.
        steps: of it; gaps are not zeros.
        places: of the currency: each cell and each total is rounded once (rules.md N28).
    """
    other = next((one for one in state.groupings if one.name != state.time), None)

    def place(row: UsageRow) -> str:
        return row.key[state.time]

    series = _stack(state, table.cells, other, place, steps, places)
    totals = _sums(table.places, place, steps, places)
    plotted = _plotted(state, series, steps)
    axis = axis_of(steps)
    if state.measure.is_share:
        figure = plots.shares_by_step(axis, plotted)
    else:
        values = _values(state.measure, totals, steps)
        figure = plots.money_by_step(axis, plotted, *_units(state), values)
    heading = state.time.capitalize()
    over = [i for i, step in enumerate(steps) if not step.is_running]
    sentence = _extremes(
        state,
        [(steps[i].name, steps[i], totals[i]) for i in over],
        f"No complete {state.time} yet.",
    )
    return _chart(
        state, (figure, sentence), heading, series if other else [], steps, totals
    )


def chart_by_name(state: ExploreState, table: ExploreTable, places: int) -> Chart:
    """The largest values of the first grouping as bars, stacked by the second one.

    Args:
        state: with two groupings, neither of them time.
        table: by both.
        places: of the currency: each cell and each total is rounded once (rules.md N28).
    """
    first, second = state.groupings
    found = {row_name(row, first.name): row for row in table.places}
    order = sorted(found, key=lambda key: (-_size(state.measure, [found[key]]), key))
    many = len(order) > MOST_BARS + 1
    shown = order[:MOST_BARS] if many else order
    labels = [label_of(first, found[key].key[first.name], state.teams) for key in shown]
    bars = [
        NamedBar(key, f"{label} ({found[key].key['namespace']})")
        if labels.count(label) > 1 and "namespace" in found[key].key
        else NamedBar(key, label)
        for key, label in zip(shown, labels, strict=True)
    ]
    if many:
        bars.append(NamedBar("", f"Other ({len(order) - MOST_BARS})"))

    def place(row: UsageRow) -> str:
        key = row_name(row, first.name)
        return key if key in shown else ""

    series = _stack(state, table.cells, second, place, bars, places)
    totals = _sums(table.places, place, bars, places)
    plotted = _plotted(state, series, bars)
    names = [bar.label for bar in bars]
    if state.measure.is_share:
        figure = plots.shares_by_name(names, plotted)
    else:
        figure = plots.amounts_by_name(names, plotted, *_units(state))
    named = list(zip(names, bars, totals, strict=True))[: len(shown)]
    sentence = _extremes(state, named, "None has a figure.")
    return _chart(state, (figure, sentence), first.label, series, bars, totals)


def _stack(
    state: ExploreState,
    rows: Sequence[UsageRow],
    of: Dimension | None,
    place: Callable[[UsageRow], str],
    positions: Sequence[ChartPlace],
    places: int,
) -> list[ChartSeries]:
    """The largest values of a grouping as series, and the others as one; without one, all.

    Times are in their order; other values are by size.
    """
    measure = state.measure
    if of is None:
        sums = _sums(rows, place, positions, places)
        return [ChartSeries(measure.label, VALUE_SLOTS[0], "", sums)]
    whole: dict[str, list[UsageRow]] = {}
    for row in rows:
        whole.setdefault(row_name(row, of.name), []).append(row)
    order = sorted(whole, key=lambda key: (-_size(measure, whole[key]), key))
    many = len(order) > NAMED_SERIES + 1
    shown = order[:NAMED_SERIES] if many else order
    if of.name in TIMES:
        shown = sorted(shown)
    series = []
    for position, key in enumerate(shown):
        name = name_of(of, whole[key][0].key, state)
        slot = VALUE_SLOTS[position] if position < NAMED_SERIES else OTHER_SLOT
        if of.name == "team":
            slot = name.slot
        sums = _sums(whole[key], place, positions, places)
        series.append(ChartSeries(name.text, slot, name.url, sums))
    if many:
        rest = [row for key in order[NAMED_SERIES:] for row in whole[key]]
        name_of_rest = f"Other ({len(order) - NAMED_SERIES})"
        sums = _sums(rest, place, positions, places)
        series.append(ChartSeries(name_of_rest, OTHER_SLOT, "", sums))
    return series


def _sums(
    rows: Sequence[UsageRow],
    place: Callable[[UsageRow], str],
    positions: Sequence[ChartPlace],
    places: int,
) -> tuple[UsageRow | None, ...]:
    """The sum of exact rows at each position, its money rounded once."""
    grouped: dict[str, list[UsageRow]] = {}
    for row in rows:
        grouped.setdefault(place(row), []).append(row)
    sums = [some[0] if len(some) == 1 else total_of(some) for some in grouped.values()]
    found = dict(zip(grouped, rounded_each(sums, places), strict=True))
    return tuple(found.get(one.key) for one in positions)


def _plotted(
    state: ExploreState,
    series: Sequence[ChartSeries],
    positions: Sequence[ChartPlace],
) -> list[PlotSeries]:
    return [
        PlotSeries(
            one.name, one.slot, _values(state.measure, one.rows, positions), one.url
        )
        for one in series
    ]


def _chart(
    state: ExploreState,
    drawn: tuple[plots.Figure, str],
    heading: str,
    series: Sequence[ChartSeries],
    positions: Sequence[ChartPlace],
    totals: Sequence[UsageRow | None],
) -> Chart:
    """The figure with its table and its legend; without series, with the totals alone."""
    figure, sentence = drawn
    columns = [(one.name, _texts(state, one.rows, positions)) for one in series]
    rounding = _rounding(state, series, positions, totals)
    if any(rounding):
        columns.append(("Rounding", rounding))
    last = "Total" if series else state.measure.label
    columns.append((last, _texts(state, totals, positions)))
    labels = tuple(one.label for one in positions)
    return Chart(
        figure=figure,
        sentence=sentence,
        columns=(heading, *(name for name, _ in columns)),
        rows=tuple(zip(labels, *(texts for _, texts in columns), strict=True)),
        legend=tuple(Key(one.name, one.slot, "busy", one.url) for one in series),
    )


def _rounding(
    state: ExploreState,
    series: Sequence[ChartSeries],
    positions: Sequence[ChartPlace],
    totals: Sequence[UsageRow | None],
) -> tuple[str, ...]:
    """What each total is more than its series; "" where nothing is left."""
    measure = state.measure
    if not measure.is_money or not series:
        return ()
    parts = [_values(measure, one.rows, positions) for one in series]
    found = []
    for total, *shown in zip(_values(measure, totals, positions), *parts, strict=True):
        known = sum((one for one in shown if one is not None), Decimal(0))
        left = Decimal(0) if total is None else total - known
        found.append(units.money(left, state.currency) if left else "")
    return tuple(found)


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
    measure: ExploreMeasure,
    rows: Sequence[UsageRow | None],
    positions: Sequence[ChartPlace],
) -> tuple[Decimal | None, ...]:
    return tuple(
        _value(measure, row, position)
        for row, position in zip(rows, positions, strict=True)
    )


def _value(
    measure: ExploreMeasure, row: UsageRow | None, position: ChartPlace
) -> Decimal | None:
    if row is not None:
        return measure.of(row)
    return None if position.is_gap or measure.is_share else Decimal(0)


def _texts(
    state: ExploreState,
    rows: Sequence[UsageRow | None],
    positions: Sequence[ChartPlace],
) -> tuple[str, ...]:
    return tuple(
        text_of(state, row, position)
        for row, position in zip(rows, positions, strict=True)
    )


def text_of(state: ExploreState, row: UsageRow | None, position: ChartPlace) -> str:
    """A figure as the table of the page has it: time without a price is not time without data."""
    measure = state.measure
    if row is None and position.is_gap:
        return units.NO_DATA
    shown = total_of([]) if row is None else row
    value = getattr(shown, measure.field)
    if measure.is_money:
        return units.of_row(shown, units.money(value, state.currency))
    return units.percent(value) if measure.is_share else units.gpu_hours(value)


def _extremes(
    state: ExploreState,
    named: Sequence[tuple[str, ChartPlace, UsageRow | None]],
    nothing: str,
) -> str:
    """The highest and the lowest of named places with their rows."""
    found = plots.extremes([_value(state.measure, row, at) for _, at, row in named])
    if found is None:
        return nothing
    unit = f" {state.measure.unit}" if state.measure.unit else ""
    high, low = (
        f"{name} ({text_of(state, row, at)}{unit})"
        for name, at, row in (named[i] for i in found)
    )
    return f"Highest: {high}" + (f"; lowest: {low}." if len(named) > 1 else ".")
