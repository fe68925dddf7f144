"""Small multiples of a GPU or a run: busy share, memory, power, temperature, throttled clocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Protocol

from accounting.core.efficiency import StateTimes
from accounting.core.interval import Interval
from accounting.kit.charts.lanes import ticks
from accounting.kit.charts.measures import MeasureLine, measure_over_time
from accounting.kit.tags.units import NO_DATA
from accounting.metering.rules.intensity.summary import Intensity
from accounting.usage.pages.figures import Chart
from accounting.usage.pages.page_state import PageState


class MeasuredStep(Protocol):
    """A step of time with what was measured in it: of a GPU, or of the GPUs of a run."""

    @property
    def at(self) -> datetime: ...

    @property
    def length_ms(self) -> int: ...

    @property
    def held(self) -> StateTimes: ...

    @property
    def hard(self) -> Intensity: ...

    @property
    def is_unheld(self) -> bool: ...


Pick = Callable[[MeasuredStep], float | None]
GIB = 1 << 30
_TABLE_TIME = "%a %-d %b %H:%M"
FEW_MARKS = 4  # of a narrow time axis: more would overlap on a phone


@dataclass(frozen=True, slots=True)
class Measure:
    """One small chart, and the width of its card."""

    name: str
    title: str
    chart: Chart
    css: str


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    title: str
    unit: str
    lines: tuple[tuple[str, str, Pick], ...]  # name, dash, value
    top: float | None = None
    is_of_holders: bool = False  # measured only while a pod holds the GPU


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


_KINDS = (
    _Kind(
        "busy",
        "Busy share while held",
        "%",
        (("Busy", "solid", lambda one: _times(one.held.efficiency, 100)),),
        100,
        is_of_holders=True,
    ),
    _Kind(
        "memory",
        "Memory used",
        " GiB",
        (
            ("Mean", "solid", lambda one: _times(one.hard.memory_bytes, 1 / GIB)),
            ("Peak", "dot", lambda one: _times(one.hard.peak_memory_bytes, 1 / GIB)),
        ),
        is_of_holders=True,
    ),
    _Kind(
        "power",
        "Power",
        " W",
        (("Mean", "solid", lambda one: one.hard.power_watts),),
    ),
    _Kind(
        "temperature",
        "Temperature, hottest",
        " °C",
        (("Hottest", "solid", lambda one: one.hard.peak_celsius),),
    ),
    _Kind(
        "throttled",
        "Time with throttled clocks",
        "%",
        (("Throttled", "solid", lambda one: _times(one.hard.throttled, 100)),),
        100,
        is_of_holders=True,
    ),
)


def measures(
    steps: Sequence[MeasuredStep], period: Interval, state: PageState
) -> list[Measure]:
    """The measures with data, each over the whole period."""
    known = []
    for kind in _KINDS:
        values = [
            MeasureLine(name, tuple(_rounded(pick(one)) for one in steps), dash)
            for name, dash, pick in kind.lines
        ]
        if any(value is not None for line in values for value in line.values):
            known.append((kind, values))
    return [
        Measure(kind.name, kind.title, _chart(kind, values, steps, period, state), css)
        for (kind, values), css in zip(known, _WIDTHS[len(known)], strict=True)
    ]


_WIDTHS = {  # of twelve columns, so that rows are filled
    0: (),
    1: ("s12",),
    2: ("s6",) * 2,
    3: ("s4",) * 3,
    4: ("s6",) * 4,
    5: ("s4",) * 3 + ("s6",) * 2,
}


def _rounded(value: float | None) -> float | None:
    """As the chart and its table show it: rounded twice, 68.0499 would become 68.1."""
    return None if value is None else round(value, 1)


def _chart(
    kind: _Kind,
    lines: Sequence[MeasureLine],
    steps: Sequence[MeasuredStep],
    period: Interval,
    state: PageState,
) -> Chart:
    zone = state.visitor.zone
    ends = [one.at + timedelta(milliseconds=one.length_ms) for one in steps]
    starts = [one.at.astimezone(zone) for one in steps]
    edges = [
        (_local(start), _local(end.astimezone(zone)))
        for start, end in zip(starts, ends, strict=True)
    ]
    whole = _local(period.start.astimezone(zone)), _local(period.end.astimezone(zone))
    marks = [
        (_local(tick.at), tick.label) for tick in ticks(period.start, period.end, zone)
    ]
    marks = marks[::2] if len(marks) > FEW_MARKS else marks
    return Chart(
        figure=measure_over_time(
            edges,
            lines,
            kind.unit,
            whole=whole,
            ticks=marks,
            top=kind.top,
        ),
        sentence=f"{_sentence(kind, lines)}{_since(kind, lines, steps, zone)}",
        columns=("From", *(f"{line.name},{_spaced(kind.unit)}" for line in lines)),
        rows=tuple(
            (
                f"{starts[i]:{_TABLE_TIME}}",
                *(
                    _text(
                        line.values[i],
                        is_unheld=kind.is_of_holders and one.is_unheld,
                    )
                    for line in lines
                ),
            )
            for i, one in enumerate(steps)
        ),
    )


def _local(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M}"


def _spaced(unit: str) -> str:
    return unit if unit.startswith(" ") else f" {unit}"


def _text(value: float | None, *, is_unheld: bool) -> str:
    if value is None:
        return "Not held" if is_unheld else NO_DATA
    return f"{value:,.1f}"


def _sentence(kind: _Kind, lines: Sequence[MeasureLine]) -> str:
    known = [value for value in lines[0].values if value is not None]
    if not known:
        return "No data."
    low, high = (f"{value:,.1f}{kind.unit}" for value in (min(known), max(known)))
    said = f"Always {low}." if low == high else f"Between {low} and {high}."
    others = [line.name.lower() for line in lines if line.dash != "solid"]
    return f"{said} Dotted: {others[0]}." if others else said


def _since(
    kind: _Kind,
    lines: Sequence[MeasureLine],
    steps: Sequence[MeasuredStep],
    zone: tzinfo,
) -> str:
    """Why a line begins more than a day late: values are kept as long as the steps are."""
    asked = [one.at for one in steps if not kind.is_of_holders or not one.is_unheld]
    known = [i for i, value in enumerate(lines[0].values) if value is not None]
    if not known or not asked or steps[known[0]].at - asked[0] < timedelta(days=1):
        return ""
    since = steps[known[0]].at.astimezone(zone)
    return f" Measured from {since:{_TABLE_TIME}} on: nothing was collected before."
