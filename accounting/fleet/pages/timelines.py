"""Charts of states through time: a team's GPUs, and the hours of one GPU."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from accounting.core.ledger_line import STATES
from accounting.fleet.reads.steps import GpuStep
from accounting.kit.charts import bars, plots
from accounting.kit.tags import units
from accounting.usage.pages.figures import Chart, Key
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.steps import ChartStep, axis_of, hour_axis
from accounting.usage.rules.rows import UsageRow

HELD = {"Busy": "busy", "Idle": "idle", "No data": "unknown"}


def held_chart(
    found: Mapping[str, UsageRow],
    steps: Sequence[ChartStep],
    slot: int,
    state: PageState,
) -> Chart:
    """GPUs held through a period, by hour, day or month; steps without data are gaps.

    Args:
        found: held time, by the key of the step.
        steps: of the page.
        slot: the team's color.
        state: of the page.
    """
    values: dict[str, list[float | None]] = {word: [] for word in HELD}
    for step in steps:
        row = found.get(step.key)
        for word, name in HELD.items():
            held = 0 if row is None else getattr(row, f"{name}_ms")
            average = round(held / step.length_ms, 3)
            values[word].append(None if step.is_gap else average)
    return Chart(
        figure=plots.gpus_over_time(axis_of(steps), values, slot),
        sentence=_held_sentence(values),
        columns=(state.step.capitalize(), *HELD),
        rows=tuple(
            (step.label, *(units.average(values[word][i]) for word in HELD))
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


def minutes_by_hour(found: Sequence[GpuStep], state: PageState) -> Chart:
    """Minutes of each word in each hour of one GPU."""
    hours: dict[datetime, dict[str, int]] = {}
    for one in found:
        hour = one.at.replace(minute=0, second=0, microsecond=0)
        sums = hours.setdefault(hour, dict.fromkeys(STATES, 0))
        for name, ms in one.milliseconds.items():
            sums[name] += ms
    groups = [bars.by_state_group(sums) for sums in hours.values()]
    columns = {
        name: [round(each[name] / 60_000, 1) for each in groups]
        for name in bars.STATE_GROUPS
    }
    busy = sum(each["Busy"] for each in groups)
    wall = sum(sum(each.values()) for each in groups)
    share = units.percent(busy / wall) if wall else units.NO_DATA
    axis = hour_axis(tuple(hours), state.visitor.zone)
    return Chart(
        figure=plots.states_by_hour(axis, columns),
        sentence=f"Busy {share} of {units.gpu_hours(wall)} GPU-hours.",
        columns=("Hour", *(f"{word}, min" for word in columns)),
        rows=tuple(
            (label, *(f"{values[i]:.1f}" for values in columns.values()))
            for i, label in enumerate(axis.labels)
        ),
        legend=(
            Key("Busy", 1, "busy"),
            Key("Idle", 1, "idle"),
            Key("No data", 1, "unknown"),
            Key("Unallocated", 1, "rest"),
        ),
    )
