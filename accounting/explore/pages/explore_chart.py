"""The chart of Explore: a measure through time, by the other grouping."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

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
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart, Key
from accounting.usage.pages.steps import ChartStep, axis_of
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import rounded, total_of

Cells = dict[str, UsageRow]
"""Rows by step."""


def explore_chart(
    state: ExploreState, table: ExploreTable, steps: Sequence[ChartStep], places: int
) -> Chart:
    """The largest values of the other grouping as series, and the others as one.

    Args:
        state: with a grouping through time.
        table: by it.
        steps: of it; gaps are not zeros.
        places: of the currency: cells come to their rounded total by largest remainder.
    """
    measure = state.measure
    other = next((one for one in state.groupings if one.name != state.time), None)
    cells: dict[tuple[str, ...], Cells] = {}
    names: dict[tuple[str, ...], str] = {}
    for row in rounded(table.cells, places):
        key = tuple(v for name, v in row.key.items() if name != state.time)
        names[key] = label_of(other, row.key[other.name], state.teams) if other else ""
        cells.setdefault(key, {})[row.key[state.time]] = row
    order = sorted(cells, key=lambda key: (-_size(measure, cells[key]), key))
    many = len(order) > NAMED_SERIES + 1
    shown = order[:NAMED_SERIES] if many else order
    series = []
    for slot, key in enumerate(shown, start=1):
        value = key[-1] if key else ""
        color, url = slot if slot <= plots.NAMED_SERIES else OTHER_SLOT, ""
        if other is not None:
            url = state.adding({other.name: written(value)})
            if other.name == "team":
                color = team_named(state.teams, value).slot
        name = names[key] or measure.label
        series.append(PlotSeries(name, color, _values(cells[key], steps, measure), url))
    if many:
        rest = _summed([cells[key] for key in order[NAMED_SERIES:]])
        name = f"Other ({len(order) - NAMED_SERIES})"
        series.append(PlotSeries(name, OTHER_SLOT, _values(rest, steps, measure)))
    totals = _values(_summed(cells.values()), steps, measure)
    axis = axis_of(steps)
    if measure.is_share:
        figure = plots.shares_by_step(axis, series)
    else:
        sign = currency_sign(state.currency) if measure.is_money else ""
        figure = plots.money_by_step(axis, series, sign, f" {measure.unit}")
    has_names = other is not None
    heads = [one.name for one in series] if has_names else []
    return Chart(
        figure=figure,
        sentence=_sentence(state, steps, totals),
        columns=(
            state.time.capitalize(),
            *heads,
            "Total" if has_names else measure.label,
        ),
        rows=tuple(
            (
                step.label,
                *(
                    text_of(measure, one.values[i], state.currency)
                    for one in (series if has_names else ())
                ),
                text_of(measure, totals[i], state.currency),
            )
            for i, step in enumerate(steps)
        ),
        legend=tuple(Key(s.name, s.slot, "busy", s.url) for s in series)
        if has_names
        else (),
    )


def _size(measure: ExploreMeasure, cells: Cells) -> Decimal:
    """What a series is sorted by: of shares, the time that they are of."""
    total = total_of([*cells.values()])
    if measure.is_share:
        return Decimal(total.allocated_ms)
    return measure.of(total) or Decimal(0)


def _summed(several: Iterable[Cells]) -> Cells:
    grouped: dict[str, list[UsageRow]] = {}
    for cells in several:
        for step, row in cells.items():
            grouped.setdefault(step, []).append(row)
    return {step: total_of(rows) for step, rows in grouped.items()}


def _values(
    cells: Cells, steps: Sequence[ChartStep], measure: ExploreMeasure
) -> tuple[Decimal | None, ...]:
    return tuple(_value(cells.get(step.key), step, measure) for step in steps)


def _value(
    row: UsageRow | None, step: ChartStep, measure: ExploreMeasure
) -> Decimal | None:
    if row is not None and (value := measure.of(row)) is not None:
        return value
    return None if step.is_gap or measure.is_share or row else Decimal(0)


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
    found = plots.extremes([totals[i] for i in over])
    if found is None:
        return f"No complete {state.time} yet."
    unit = f" {state.measure.unit}" if state.measure.unit else ""
    high, low = (
        f"{steps[over[i]].name} "
        f"({text_of(state.measure, totals[over[i]], state.currency)}{unit})"
        for i in found
    )
    return f"Highest: {high}" + (f"; lowest: {low}." if len(over) > 1 else ".")
