"""Charts of states through time: a team's GPUs, and the hours of one GPU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from accounting.charts import bars, plots
from accounting.domain.calendar import DayRange
from accounting.domain.line import STATES
from accounting.domain.period import Period
from accounting.queries.gpu_steps import GpuStep
from accounting.queries.series import Point, step_of
from accounting.templatetags import units
from accounting.views.figures import Chart, Key
from accounting.views.state import PageState

ONE_DAY = timedelta(days=1)
HELD = {"Busy": "busy", "Idle": "idle", "No data": "unknown"}


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
        figure=plots.gpus_over_time(
            [step.label for step in steps], values, slot, is_hourly=_is_hourly(state)
        ),
        sentence=_held_sentence(values),
        columns=("From", *HELD),
        rows=tuple(
            (step.label.replace("T", " "), *(units.average(values[w][i]) for w in HELD))
            for i, step in enumerate(steps)
        ),
        legend=tuple(Key(word, slot, bars.WORD_CLASS[word]) for word in HELD),
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


def minutes_by_hour(found: Sequence[GpuStep], state: PageState) -> Chart:
    """Minutes of each word in each hour of one GPU."""
    hours: dict[datetime, dict[str, int]] = {}
    for one in found:
        local = one.at.astimezone(state.visitor.zone).replace(minute=0, second=0)
        sums = hours.setdefault(local, dict.fromkeys(STATES, 0))
        for name, ms in one.milliseconds.items():
            sums[name] += ms
    words = {hour: bars.state_words(sums) for hour, sums in hours.items()}
    labels = [f"{hour:%Y-%m-%dT%H:%M}" for hour in words]
    columns = {
        word: [round(each[word] / 60_000, 1) for each in words.values()]
        for word in bars.WORDS
    }
    busy = sum(columns["Busy"])
    all_minutes = sum(sum(values) for values in columns.values())
    share = units.percent(busy / all_minutes) if all_minutes else units.NO_DATA
    return Chart(
        figure=plots.states_by_hour(labels, columns),
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
