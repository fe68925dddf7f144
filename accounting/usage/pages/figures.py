"""Charts with text: the figure, a sentence, the same rows as a table, a legend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from accounting.core.money import amount_of
from accounting.core.money_text import currency_sign
from accounting.kit.charts import bars, plots
from accounting.kit.charts.bars import Spark
from accounting.kit.charts.plots import PlotSeries
from accounting.kit.tags import units
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.steps import ChartStep, axis_of
from accounting.usage.reads.breakdown import Breakdown
from accounting.usage.reads.series import step_key
from accounting.usage.rules.rows import LedgerRow, UsageRow
from accounting.usage.rules.totals import total_of


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    slot: int
    kind: str = "busy"
    url: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """The input of `components/chart.html`; `sentence` is its accessible name."""

    figure: dict[str, Any]
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[Key, ...] = ()


def spend_chart(
    breakdown: Breakdown,
    steps: Sequence[ChartStep],
    names: Mapping[str, Key],
    state: PageState,
) -> Chart:
    """Charge by hour, day or month, stacked by the breakdown's dimension.

    Args:
        breakdown: the split usage.
        steps: the drawn steps, up to the newest data; gaps are not zeros.
        names: name and color by key of a row; others are gray.
        state: of the page, for its currency.
    """
    currency = state.currency
    series = [
        PlotSeries(
            names[key].name if key in names else key,
            names[key].slot if key in names else plots.OTHER_SLOT,
            tuple(_charge(by_step.get(step.key), step) for step in steps),
            names[key].url if key in names else "",
        )
        for key, by_step in breakdown.by_step.items()
    ]
    shown = plots.top_series(series)
    totals = [_charge(breakdown.steps.get(step.key), step) for step in steps]
    if breakdown.unnamed:
        shown.append(_rest(breakdown.unnamed, shown, totals))
    return Chart(
        figure=plots.money_by_step(axis_of(steps), shown, currency_sign(currency)),
        sentence=_spend_sentence(steps, totals, state),
        columns=(state.step.capitalize(), *(one.name for one in shown), "Total"),
        rows=tuple(
            (
                step.label,
                *(_amount(one.values[i], currency) for one in shown),
                _amount(totals[i], currency),
            )
            for i, step in enumerate(steps)
        ),
        legend=tuple(Key(s.name, s.slot, "busy", s.url) for s in shown),
    )


def cost_chart(
    found: Mapping[str, UsageRow],
    steps: Sequence[ChartStep],
    slot: int,
    state: PageState,
) -> Chart:
    """Charge by hour, day or month in the color of a team: its idle cost hatched, on the rest.

    The rest is of busy time and of time that was not observed: unknown is not idle.

    Args:
        found: rounded rows by the key of the step.
        steps, slot, state: as for `timelines.held_chart`.
    """
    totals = [_charge(found.get(step.key), step) for step in steps]
    idle = [_idle_charge(found.get(step.key), step) for step in steps]
    used = [
        None if total is None or wasted is None else total - wasted
        for total, wasted in zip(totals, idle, strict=True)
    ]
    name = "Busy, or no data" if any(r.unknown_ms for r in found.values()) else "Busy"
    series = [
        PlotSeries(name, slot, tuple(used)),
        PlotSeries("Idle", slot, tuple(idle), kind="idle"),
    ]
    currency = state.currency
    return Chart(
        figure=plots.money_by_step(axis_of(steps), series, currency_sign(currency)),
        sentence=_spend_sentence(steps, totals, state),
        columns=(state.step.capitalize(), *(one.name for one in series), "Total"),
        rows=tuple(
            (step.label, *(_amount(value, currency) for value in values))
            for step, *values in zip(steps, used, idle, totals, strict=True)
        ),
        legend=tuple(Key(one.name, slot, one.kind) for one in series),
    )


def _idle_charge(row: UsageRow | None, step: ChartStep) -> Decimal | None:
    if step.is_gap:
        return None
    return (amount_of(row.idle_charge) if row else None) or Decimal(0)


def _rest(
    count: int, shown: Sequence[PlotSeries], totals: Sequence[Decimal | None]
) -> PlotSeries:
    """The amounts of each step that are not in the named series."""
    values: list[Decimal | None] = []
    for i, total in enumerate(totals):
        named = sum((Decimal(one.values[i] or 0) for one in shown), Decimal(0))
        values.append(None if total is None else total - named)
    return PlotSeries(f"Other ({count})", plots.OTHER_SLOT, tuple(values))


def _amount(value: bars.Number | None, currency: str) -> str:
    return units.NO_DATA if value is None else units.money(Decimal(value), currency)


def _charge(row: UsageRow | None, step: ChartStep) -> Decimal | None:
    if step.is_gap:
        return None
    return (amount_of(row.charge) if row else None) or Decimal(0)


def _spend_sentence(
    steps: Sequence[ChartStep], totals: Sequence[Decimal | None], state: PageState
) -> str:
    """The highest and the lowest complete step; a running step is named."""
    over = [i for i, step in enumerate(steps) if not step.is_running]
    running = [step.name for step in steps if step.is_running]
    tail = f" {running[0]} is still running." if running else ""
    found = plots.extremes([totals[i] for i in over])
    if found is None:
        return f"No complete {state.step} yet.{tail}"
    high, low = (
        f"{steps[over[i]].name} ({units.money_round(totals[over[i]], state.currency)})"
        for i in found
    )
    text = f"Highest: {high}" + (f"; lowest: {low}" if len(over) > 1 else "")
    return f"{text}.{tail}"


def sparks(breakdown: Breakdown, steps: Sequence[ChartStep]) -> dict[str, Spark]:
    """The spark lines of the cards, one value for each complete step.

    Steps without data are gaps; a step with data but no held time is zero.
    """
    nothing = total_of([])
    rows = [
        None if step.is_gap else breakdown.steps.get(step.key, nothing)
        for step in steps
        if not step.is_running
    ]
    fields: dict[str, Callable[[UsageRow], bars.Number | None]] = {
        "charge": lambda row: amount_of(row.charge),
        "allocated": lambda row: row.allocated_ms,
        "efficiency": lambda row: row.efficiency,
        "idle": lambda row: amount_of(row.idle_charge),
    }
    return {
        name: bars.spark([field(row) if row else None for row in rows])
        for name, field in fields.items()
    }


def ledger_spark(
    rows: Sequence[LedgerRow], steps: Sequence[ChartStep], state: PageState
) -> Spark:
    """Unallocated time by step; `rows` are by the dimension of the page's step."""
    sums: dict[str, int] = {}
    for row in rows:
        key = step_key(row, state.step)
        unallocated = bars.by_state_group(row.milliseconds)["Unallocated"]
        sums[key] = sums.get(key, 0) + unallocated
    return bars.spark(
        [
            None if step.is_gap else sums.get(step.key)
            for step in steps
            if not step.is_running
        ]
    )
