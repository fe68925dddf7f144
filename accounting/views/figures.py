"""Charts with their words: the figure, a sentence, the same rows as a table, a legend."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from babel.numbers import get_currency_precision, get_currency_symbol

from accounting.charts import bars, plots
from accounting.charts.bars import Spark
from accounting.charts.plots import Series
from accounting.domain.report import LedgerRow, UsageRow
from accounting.domain.summary import total_of
from accounting.queries.breakdown import Breakdown
from accounting.templatetags import units
from accounting.views.state import PageState


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    slot: int
    kind: str = "busy"
    url: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """What `_partials/chart.html` draws; `sentence` is its accessible name."""

    figure: dict[str, Any]
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[Key, ...] = ()


def places_of(currency: str) -> int:
    """Decimal places that a currency is shown with."""
    return get_currency_precision(currency) if currency else 2


def sign_of(currency: str) -> str:
    """The sign before an amount on an axis."""
    return get_currency_symbol(currency, locale=units.LOCALE) if currency else ""


def spend_chart(
    breakdown: Breakdown,
    days: Sequence[date],
    missing: Sequence[date],
    names: Mapping[str, Key],
    state: PageState,
) -> Chart:
    """Charge per day, stacked by the breakdown's dimension.

    Args:
        breakdown: what is split.
        days: the days to draw, up to the newest data.
        missing: days without any data: gaps, not zeros.
        names: key of a row -> its name and colour; others are grey.
        state: of the page: currency, and which days are over.
    """
    gaps, currency = set(missing), state.currency
    series = [
        Series(
            names[key].name if key in names else key,
            names[key].slot if key in names else plots.OTHER_SLOT,
            tuple(_charge(by_day.get(day.isoformat()), day in gaps) for day in days),
            names[key].url if key in names else "",
        )
        for key, by_day in breakdown.by_day.items()
    ]
    shown = plots.top_series(series)
    if breakdown.unnamed:
        shown.append(_rest(breakdown, shown, days, gaps))
    totals = [_day_total(breakdown, day, day in gaps) for day in days]
    return Chart(
        figure=plots.money_by_day(days, shown, sign_of(currency)),
        sentence=_spend_sentence(breakdown, state, gaps),
        columns=("Day", *(one.name for one in shown), "Total"),
        rows=tuple(
            (
                units.day(day),
                *(_amount(one.values[i], currency) for one in shown),
                _amount(totals[i], currency),
            )
            for i, day in enumerate(days)
        ),
        legend=tuple(Key(s.name, s.slot, "busy", s.url) for s in shown),
    )


def _rest(
    breakdown: Breakdown,
    shown: Sequence[Series],
    days: Sequence[date],
    gaps: Collection[date],
) -> Series:
    """What the named series leave of each day."""
    values: list[Decimal | None] = []
    for i, day in enumerate(days):
        total = _day_total(breakdown, day, day in gaps)
        named = sum((Decimal(one.values[i] or 0) for one in shown), Decimal(0))
        values.append(None if total is None else total - named)
    return Series(f"Other ({breakdown.unnamed})", plots.OTHER_SLOT, tuple(values))


def _amount(value: bars.Number | None, currency: str) -> str:
    return units.NO_DATA if value is None else units.money(Decimal(value), currency)


def _charge(row: UsageRow | None, is_gap: bool) -> Decimal | None:  # noqa: FBT001
    if is_gap:
        return None
    return Decimal(0) if row is None else row.charge


def _day_total(
    breakdown: Breakdown,
    day: date,
    is_gap: bool,  # noqa: FBT001
) -> Decimal | None:
    return _charge(breakdown.days.get(day.isoformat()), is_gap)


def _spend_sentence(
    breakdown: Breakdown, state: PageState, gaps: Collection[date]
) -> str:
    """The highest and the lowest day that is over; what still runs is said to run."""
    days = state.whole_days
    totals = [_day_total(breakdown, day, day in gaps) for day in days]
    found = plots.extremes(days, totals)
    running = [day for day in state.shown_days if day not in days]
    tail = f" {units.short_day(running[0])} still runs." if running else ""
    if found is None:
        return f"No whole day yet.{tail}"
    high, low = found
    text = f"Highest on {_day_amount(days[high], totals[high], state)}"
    if len(days) > 1:
        text += f", lowest on {_day_amount(days[low], totals[low], state)}"
    return f"{text}.{tail}"


def _day_amount(day: date, amount: Decimal | None, state: PageState) -> str:
    return f"{units.short_day(day)} ({units.money_round(amount, state.currency)})"


def sparks(
    breakdown: Breakdown, days: Sequence[date], missing: Sequence[date]
) -> dict[str, Spark]:
    """The spark lines of the cards, one value a day.

    Days without data are gaps; a day with data on which nothing was held is zero.
    """
    gaps, nothing = set(missing), total_of([])
    rows = [
        None if day in gaps else breakdown.days.get(day.isoformat(), nothing)
        for day in days
    ]
    fields = {
        "charge": "charge",
        "allocated": "allocated_ms",
        "efficiency": "efficiency",
        "idle": "idle_charge",
    }
    return {
        name: bars.spark([getattr(row, field) if row else None for row in rows])
        for name, field in fields.items()
    }


def ledger_spark(
    rows: Sequence[LedgerRow], days: Sequence[date], missing: Sequence[date]
) -> Spark:
    """Unallocated time by day."""
    gaps = set(missing)
    by_day = {row.key["day"]: bars.state_words(row.milliseconds) for row in rows}
    found = [None if day in gaps else by_day.get(day.isoformat()) for day in days]
    return bars.spark([words["Unallocated"] if words else None for words in found])
