"""Charts with their words: the figure, a sentence, the same rows as a table, a legend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from babel.numbers import get_currency_precision, get_currency_symbol

from accounting import charts
from accounting.charts import Part, Series, Spark
from accounting.domain.calendar import DayRange
from accounting.domain.line import STATES
from accounting.domain.period import HOUR_MS, Period, to_ms
from accounting.domain.report import LedgerRow, UsageRow
from accounting.domain.summary import ledger_words
from accounting.queries.breakdown import Breakdown
from accounting.queries.gpus import Slice
from accounting.queries.series import Point
from accounting.templatetags import units
from accounting.views.state import PageState

HELD = {"Busy": "busy", "Idle": "idle", "No data": "unknown"}


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
    currency: str,
) -> Chart:
    """Charge per day, stacked by the breakdown's dimension.

    Args:
        breakdown: what is split.
        days: the days to draw, up to the newest data.
        missing: days without any data: gaps, not zeros.
        names: key of a row -> its name and colour; others are grey.
        currency: of every amount.
    """
    gaps = set(missing)
    series = [
        Series(
            names[key].name if key in names else key,
            names[key].slot if key in names else charts.OTHER_SLOT,
            tuple(_charge(by_day.get(day.isoformat()), day in gaps) for day in days),
        )
        for key, by_day in breakdown.by_day.items()
    ]
    shown = charts.top_series(series)
    urls = {key.name: key.url for key in names.values()}
    totals = [_day_total(breakdown, day, day in gaps) for day in days]
    return Chart(
        figure=charts.money_by_day(days, shown, sign_of(currency)),
        sentence=_spend_sentence(days, totals, currency),
        columns=("Day", *(one.name for one in shown), "Total"),
        rows=tuple(
            (
                units.day(day),
                *(units.money(_decimal(one.values[i]), currency) for one in shown),
                units.money(totals[i], currency),
            )
            for i, day in enumerate(days)
        ),
        legend=tuple(Key(s.name, s.slot, "busy", urls.get(s.name, "")) for s in shown),
    )


def _decimal(value: charts.Number | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def _charge(row: UsageRow | None, is_gap: bool) -> Decimal | None:  # noqa: FBT001
    if is_gap:
        return None
    return Decimal(0) if row is None else row.charge


def _day_total(
    breakdown: Breakdown, day: date, is_gap: bool  # noqa: FBT001
) -> Decimal | None:
    return _charge(breakdown.days.get(day.isoformat()), is_gap)


def _spend_sentence(
    days: Sequence[date], totals: Sequence[Decimal | None], currency: str
) -> str:
    found = charts.extremes(days, totals)
    if found is None:
        return "Nothing was spent on these days."
    high, low = found
    top = f"Highest on {units.short_day(days[high])} ({units.money_round(totals[high], currency)})"
    if len(days) < 3:
        return f"{top}."
    return (
        f"{top}, lowest on {units.short_day(days[low])} "
        f"({units.money_round(totals[low], currency)})."
    )


def sparks(breakdown: Breakdown, days: Sequence[date], missing: Sequence[date]) -> dict[str, Spark]:
    """The spark lines of the cards, one value a day; days without data are gaps."""
    gaps = set(missing)

    def line(pick: Any) -> Spark:
        values = []
        for day in days:
            row = breakdown.days.get(day.isoformat())
            values.append(None if day in gaps or row is None else pick(row))
        return charts.spark(values)

    return {
        "charge": line(lambda row: row.charge),
        "allocated": line(lambda row: row.allocated_ms),
        "efficiency": line(lambda row: row.efficiency),
        "idle": line(lambda row: row.idle_charge),
    }


def held_parts(row: UsageRow, largest_ms: int) -> tuple[Part, ...]:
    """A team's bar: busy, idle and no data, against the largest of the list."""
    amounts = {"busy": row.busy_ms, "idle": row.idle_ms, "unknown": row.unknown_ms}
    return charts.bar_parts(amounts, largest_ms)


def held_words(row: UsageRow) -> str:
    """A bar of held time in words."""
    amounts = {"busy": row.busy_ms, "idle": row.idle_ms, "no data": row.unknown_ms}
    parts = [f"{units.gpu_hours(ms)} {name}" for name, ms in amounts.items() if ms]
    return ", ".join(parts) + " GPU-hours" if parts else "nothing held"


@dataclass(frozen=True, slots=True)
class WordLine:
    """One of the four words of the capacity bar."""

    name: str
    kind: str
    milliseconds: int
    share: float | None
    charge: Decimal | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """Where all GPU time of a period went."""

    wall_ms: int
    average_gpus: float | None
    words: tuple[WordLine, ...]
    parts: tuple[Part, ...]
    sentence: str

    def word(self, name: str) -> WordLine:
        """One of the four."""
        return next(word for word in self.words if word.name == name)


def capacity(row: LedgerRow, length_ms: int, places: int) -> Capacity:
    """The seven states as four words that add up to the wall time."""
    wall = row.wall_ms
    words = tuple(
        WordLine(
            total.name,
            charts.WORD_CLASS[total.name],
            total.milliseconds,
            total.milliseconds / wall if wall else None,
            total.charge,
        )
        for total in ledger_words(row, charts.WORDS, places)
    )
    parts = charts.bar_parts({w.kind: w.milliseconds for w in words}, wall)
    sentence = ", ".join(f"{w.name} {units.percent(w.share)}" for w in words)
    return Capacity(wall, wall / length_ms if length_ms else None, words, parts, sentence)


def held_chart(found: Sequence[Point], slot: int, state: PageState) -> Chart:
    """GPUs held through a period: solid busy, hatched idle, dashed no data."""
    labels = [_local(point.at, state) for point in found]
    lengths = [_step_ms(point.at, state) for point in found]
    states = {
        name: [
            round(getattr(point.row, f"{name}_ms") / length, 3)
            for point, length in zip(found, lengths, strict=True)
        ]
        for name in ("busy", "idle", "unknown")
    }
    held = [sum(values) for values in zip(*states.values(), strict=True)] if found else []
    sentence = "Nothing was held."
    if held:
        sentence = (
            f"Held between {units.average(min(held))} and {units.average(max(held))} GPUs; "
            f"busy between {units.average(min(states['busy']))} and "
            f"{units.average(max(states['busy']))}."
        )
    return Chart(
        figure=charts.gpus_over_time(labels, states, slot),
        sentence=sentence,
        columns=("Time", "Busy", "Idle", "No data", "Allocated"),
        rows=tuple(
            (label.replace("T", " "), *(units.average(states[s][i]) for s in states), units.average(held[i]))
            for i, label in enumerate(labels)
        ),
        legend=(
            Key("Busy", slot, "busy"),
            Key("Idle", slot, "idle"),
            Key("No data", slot, "unknown"),
        ),
    )


def _local(at: str, state: PageState) -> str:
    """A step's label as plotly reads it: local time without an offset."""
    if "T" not in at:
        return at
    instant = datetime.fromisoformat(at).astimezone(state.visitor.zone)
    return f"{instant:%Y-%m-%dT%H:%M}"


def _step_ms(at: str, state: PageState) -> int:
    """How long a step is, up to the newest data; days may have 23 or 25 hours."""
    if "T" in at:
        start = to_ms(datetime.fromisoformat(at))
        whole = Period(start, start + HOUR_MS)
    else:
        day = date.fromisoformat(at)
        whole = DayRange(day, day + timedelta(days=1)).period(state.zone)
    until = state.chip.until
    end = whole.end_ms if until is None else min(whole.end_ms, to_ms(until))
    return max(end - whole.start_ms, 1)


def minutes_by_hour(slices: Sequence[Slice], state: PageState) -> Chart:
    """Minutes of each word in each hour of one GPU."""
    hours: dict[datetime, dict[str, int]] = {}
    for one in slices:
        local = one.at.astimezone(state.visitor.zone).replace(minute=0, second=0)
        sums = hours.setdefault(local, dict.fromkeys(STATES, 0))
        for name, ms in one.milliseconds.items():
            sums[name] += ms
    words = {hour: charts.state_words(sums) for hour, sums in hours.items()}
    labels = [f"{hour:%Y-%m-%dT%H:%M}" for hour in words]
    columns = {
        word: [round(found[word] / 60_000, 1) for found in words.values()]
        for word in charts.WORDS
    }
    busy = sum(columns["Busy"])
    all_minutes = sum(sum(values) for values in columns.values())
    share = units.percent(busy / all_minutes) if all_minutes else units.NO_DATA
    return Chart(
        figure=charts.states_by_hour(labels, columns),
        sentence=f"Busy {share} of the wall time of {len(labels)} hours.",
        columns=("Hour", *(f"{word}, min" for word in columns)),
        rows=tuple(
            (label.replace("T", " "), *(f"{values[i]:.1f}" for values in columns.values()))
            for i, label in enumerate(labels)
        ),
        legend=(
            Key("Busy", 1, "busy"),
            Key("Idle", 1, "idle"),
            Key("No data", 1, "unknown"),
            Key("Unallocated", 1, "rest"),
        ),
    )
