"""Charts with their words: the figure, a sentence, the same rows as a table, a legend."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from babel.numbers import get_currency_precision, get_currency_symbol

from accounting import charts
from accounting.charts import Part, Series, Spark
from accounting.domain.calendar import DayRange
from accounting.domain.line import STATES
from accounting.domain.period import Period
from accounting.domain.report import LedgerRow, UsageRow
from accounting.domain.summary import ledger_words
from accounting.domain.week import WeekHour
from accounting.queries.breakdown import Breakdown
from accounting.queries.gpus import Slice
from accounting.queries.series import Point, step_of
from accounting.templatetags import units
from accounting.views.state import PageState

ONE_DAY = timedelta(days=1)
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
        legend=tuple(Key(s.name, s.slot, "busy", urls.get(s.name, "")) for s in shown),
    )


def _amount(value: charts.Number | None, currency: str) -> str:
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
    found = charts.extremes(days, totals)
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
    """The spark lines of the cards, one value a day; days without data are gaps."""
    gaps = set(missing)
    rows = [
        None if day in gaps else breakdown.days.get(day.isoformat()) for day in days
    ]
    fields = {
        "charge": "charge",
        "allocated": "allocated_ms",
        "efficiency": "efficiency",
        "idle": "idle_charge",
    }
    return {
        name: charts.spark([getattr(row, field) if row else None for row in rows])
        for name, field in fields.items()
    }


def ledger_spark(
    rows: Sequence[LedgerRow], days: Sequence[date], missing: Sequence[date]
) -> Spark:
    """Unallocated time by day."""
    gaps = set(missing)
    by_day = {row.key["day"]: charts.state_words(row.milliseconds) for row in rows}
    found = [None if day in gaps else by_day.get(day.isoformat()) for day in days]
    return charts.spark([words["Unallocated"] if words else None for words in found])


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

    @property
    def unallocated(self) -> WordLine:
        """What nobody held."""
        return next(word for word in self.words if word.name == "Unallocated")


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
    return Capacity(
        wall, wall / length_ms if length_ms else None, words, parts, sentence
    )


def held_chart(
    found: Sequence[Point], missing: Sequence[date], slot: int, state: PageState
) -> Chart:
    """GPUs held through a period, by hour or day; steps without data are gaps."""
    steps = _steps(state)
    rows = {point.at: point.row for point in found}
    gaps = {day.isoformat() for day in missing}
    values: dict[str, list[float | None]] = {word: [] for word in HELD}
    for step in steps:
        row = rows.get(step.at)
        for word, name in HELD.items():
            if step.day.isoformat() in gaps:
                values[word].append(None)
            else:
                held = 0 if row is None else getattr(row, f"{name}_ms")
                values[word].append(round(held / step.length_ms, 3))
    return Chart(
        figure=charts.gpus_over_time(
            [step.label for step in steps], values, slot, is_hourly=_is_hourly(state)
        ),
        sentence=_held_sentence(values),
        columns=("From", *HELD),
        rows=tuple(
            (step.label.replace("T", " "), *(units.average(values[w][i]) for w in HELD))
            for i, step in enumerate(steps)
        ),
        legend=tuple(Key(word, slot, charts.WORD_CLASS[word]) for word in HELD),
    )


def _held_sentence(values: Mapping[str, Sequence[float | None]]) -> str:
    columns = [
        [value for value in column if value is not None]
        for column in zip(*values.values(), strict=True)
    ]
    held = [sum(column) for column in columns if column]
    if not held:
        return "Nothing was held."
    busy = [value for value in values["Busy"] if value is not None]
    return (
        f"Held between {units.average(min(held))} and {units.average(max(held))} GPUs, "
        f"busy between {units.average(min(busy))} and {units.average(max(busy))}."
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One hour or billing day of a chart.

    Attributes:
        at: as report rows name it.
        day: the billing day that it belongs to.
        label: where its bar stands, local time of the reader.
        length_ms: up to the newest data; days may have 23 or 25 hours.
    """

    at: str
    day: date
    label: str
    length_ms: int


def _is_hourly(state: PageState) -> bool:
    return step_of(state.period) == "hour"


def _steps(state: PageState) -> list[Step]:
    """Every step of the range that has begun, up to the newest data."""
    until = state.elapsed.end_ms
    if not _is_hourly(state):
        return [
            _step(
                day.isoformat(),
                day,
                DayRange(day, day + ONE_DAY).period(state.zone),
                until,
            )
            for day in state.shown_days
        ]
    found = []
    for hour in state.elapsed.hours():
        local = hour.start.astimezone(state.visitor.zone)
        day = hour.start.astimezone(state.zone).date()
        step = _step(f"{hour.start:%Y-%m-%dT%H:%M:%SZ}", day, hour, until)
        found.append(replace(step, label=f"{local:%Y-%m-%dT%H:%M}"))
    return found


def _step(at: str, day: date, whole: Period, until_ms: int) -> Step:
    length = max(min(whole.end_ms, until_ms) - whole.start_ms, 1)
    return Step(at, day, at, length)


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
            (
                label.replace("T", " "),
                *(f"{values[i]:.1f}" for values in columns.values()),
            )
            for i, label in enumerate(labels)
        ),
        legend=(
            Key("Busy", 1, "busy"),
            Key("Idle", 1, "idle"),
            Key("No data", 1, "unknown"),
            Key("Unallocated", 1, "rest"),
        ),
    )


WEEKDAYS = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)


@dataclass(frozen=True, slots=True)
class WeekGrid:
    """Busy share by hour of the week, as squares and as a table."""

    cells: tuple[charts.Cell, ...]
    sentence: str
    rows: tuple[tuple[str, ...], ...]  # weekday, then 24 shares


def week_grid(hours: Sequence[WeekHour]) -> WeekGrid:
    """Squares of 24 hours by seven days; dashed where nothing was observed."""
    cells = tuple(
        charts.week_cell(
            one.hour,
            one.weekday,
            one.efficiency,
            f"{WEEKDAYS[one.weekday]} {one.hour:02}:00: {_busy_words(one)}",
        )
        for one in hours
    )
    rows = tuple(
        (name, *(units.percent(h.efficiency) for h in hours if h.weekday == weekday))
        for weekday, name in enumerate(WEEKDAYS)
    )
    return WeekGrid(cells, _week_sentence(hours), rows)


def _busy_words(one: WeekHour) -> str:
    if one.efficiency is None:
        return units.NO_DATA.lower()
    return f"{units.percent(one.efficiency)} busy"


def _week_sentence(hours: Sequence[WeekHour]) -> str:
    known = [one for one in hours if one.efficiency is not None]
    if not known:
        return "Nothing was observed."
    most = max(known, key=lambda one: one.efficiency or 0)
    least = min(known, key=lambda one: one.efficiency or 0)
    return (
        f"Busiest on {WEEKDAYS[most.weekday]} at {most.hour:02}:00 "
        f"({units.percent(most.efficiency)}), least busy on {WEEKDAYS[least.weekday]} at "
        f"{least.hour:02}:00 ({units.percent(least.efficiency)})."
    )
