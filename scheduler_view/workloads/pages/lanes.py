"""A run's GPUs through time, a row of bars each, and its life as one bar."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from accounting.core.efficiency import StateTimes, sum_times
from accounting.core.interval import Interval, to_instant
from accounting.fleet.pages.gpu_line import short_uuid
from accounting.kit.charts import bars, lanes
from accounting.kit.charts.lanes import Bar, LaneSpan
from accounting.kit.tags import units
from accounting.usage.pages.figures import Key
from scheduler_view.workloads.reads import GpuUse, RunGpu
from scheduler_view.workloads.rules import Cell, LifePart, cells

LEGEND = (
    ("busy", "Busy over 80%"),
    ("mid", "40 to 80%"),
    ("low", "Under 40%"),
    ("idle", "Held and idle"),
    ("unknown", "No data"),
)


@dataclass(frozen=True, slots=True)
class GpuLane:
    """One GPU that the run held: its time in the range, and its cells."""

    gpu: RunGpu
    times: StateTimes
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class DrawnLane:
    """A lane of the shown page with its bars."""

    lane: GpuLane
    bars: tuple[Bar, ...]
    text: str

    @property
    def short(self) -> str:
        """The readable start of its UUID; the tooltip shows the full one."""
        return short_uuid(self.lane.gpu.uuid)


def lanes_of(gpus: Iterable[RunGpu], uses: Iterable[GpuUse]) -> list[GpuLane]:
    """The GPUs with held time, by node and UUID."""
    steps = defaultdict(list)
    for gpu, step in uses:
        steps[gpu].append(step)
    return [
        GpuLane(
            gpu,
            sum_times(step.times for step in steps[gpu.id]),
            tuple(cells(steps[gpu.id])),
        )
        for gpu in gpus
        if gpu.id in steps
    ]


def drawn(
    lane: GpuLane, period: Interval, slot: int, zone: ZoneInfo, step: str
) -> DrawnLane:
    """A lane on the axis of a period, in steps of a `window`, an `hour` or a `day`."""
    spans = [
        LaneSpan(
            to_instant(cell.start_ms),
            to_instant(cell.end_ms),
            cell.look,
            f"{_time(cell, zone, step)}: {_said(cell)}",
            slot,
        )
        for one in lane.cells
        for cell in (
            one._replace(
                start_ms=max(one.start_ms, period.start_ms),
                end_ms=min(one.end_ms, period.end_ms),
            ),
        )
        if cell.start_ms < cell.end_ms
    ]
    share = units.percent(lane.times.efficiency)
    held = units.gpu_hours(lane.times.allocated_ms)
    text = f"{lane.gpu.uuid}: held {held} GPU-hours, busy {share}"
    return DrawnLane(lane, lanes.bars(spans, period.start, period.end), text)


def _said(cell: Cell) -> str:
    if cell.look == "unknown":
        return "no data"
    return f"busy {units.percent(cell.times.efficiency)}"


def _time(cell: Cell, zone: ZoneInfo, step: str) -> str:
    """Sums of days do not tell hours."""
    if step != "day":
        return f"{_at(cell.start_ms, zone)} to {_at(cell.end_ms, zone)}"
    first, last = (
        units.short_day(to_instant(ms).astimezone(zone).date())
        for ms in (cell.start_ms, cell.end_ms - 1)
    )
    return first if first == last else f"{first} to {last}"


def _at(ms: int, zone: ZoneInfo) -> str:
    local = to_instant(ms).astimezone(zone)
    return f"{units.short_day(local.date())} {local:%H:%M}"


def legend(every: Iterable[GpuLane], slot: int) -> list[Key]:
    """The looks that occur."""
    looks = {cell.look for lane in every for cell in lane.cells}
    return [Key(name, slot, look) for look, name in LEGEND if look in looks]


def life_bar(parts: Sequence[LifePart]) -> tuple[bars.BarPart, ...]:
    """The parts with a known length, side by side."""
    lengths = {part.look: part.length_ms or 0 for part in parts}
    return bars.bar_parts(lengths, sum(lengths.values()))
