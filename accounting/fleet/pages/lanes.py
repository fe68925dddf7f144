"""One GPU as rows of bars: its holders or those of its instances, and its errors."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from accounting.access.reads.teams import team_named
from accounting.core.interval import Interval
from accounting.fleet.pages.holders import (
    LaneRow,
    Teams,
    between,
    by_team,
    ground_of,
    grounds,
    named_teams,
)
from accounting.fleet.reads.gpu_events import GpuEvent
from accounting.fleet.reads.timeline import HeldStretch, PresenceInterval
from accounting.kit.charts import lanes
from accounting.kit.charts.lanes import LaneSpan, Tick
from accounting.kit.tags import units
from accounting.usage.pages.figures import Key
from accounting.usage.pages.page_state import PageState


@dataclass(frozen=True, slots=True)
class Lanes:
    """The rows of one GPU under one axis."""

    rows: tuple[LaneRow, ...]
    ticks: tuple[Tick, ...]
    legend: tuple[Key, ...]
    is_divided: bool


@dataclass(frozen=True, slots=True)
class GpuTime:
    """The data of one GPU through time.

    Attributes:
        there: presence by instance.
        events: all its events; errors are in the last row.
        profiles: by number of the instance.
    """

    held: Sequence[HeldStretch]
    there: Sequence[PresenceInterval]
    events: Sequence[GpuEvent]
    profiles: Mapping[int, str]


def lanes_of_gpu(
    time: GpuTime, teams: Teams, period: Interval, state: PageState
) -> Lanes:
    """One GPU: a row for it, or for each of its instances, and one for its errors."""
    edges = period.start, period.end
    found, there = time.held, time.there
    divided = {one.instance for one in found} | {one.instance for one in there}
    divided -= {-1}
    numbers = sorted(divided) or [-1]
    if -1 in {one.instance for one in found}:
        numbers = [-1, *sorted(divided)]
    rows = []
    for number in numbers:
        mine = [one for one in found if one.instance == number]
        spans = [ground_of(one, state) for one in there if one.instance == number]
        spans += [_of_pod(one, teams, state, is_part=number >= 0) for one in mine]
        text = ", ".join(
            f"{team_named(teams, slug).name} {units.duration(ms)}"
            for slug, ms in _held_by(mine).most_common()
        )
        name = _part_name(number, time.profiles)
        bars = lanes.bars(spans, *edges)
        rows.append(LaneRow(name, bars, text or "unallocated"))
    rows.append(_error_row(time.events, period, state))
    legend = _legend(found, there, teams)
    return Lanes(
        tuple(rows), lanes.ticks(*edges, state.visitor.zone), legend, bool(divided)
    )


def _held_by(found: Iterable[HeldStretch]) -> Counter[str]:
    held: Counter[str] = Counter()
    for one in found:
        held[one.team] += int((one.end - one.start) / timedelta(milliseconds=1))
    return held


def _part_name(number: int, profiles: Mapping[int, str]) -> str:
    if number < 0:
        return "Whole GPU"
    profile = profiles.get(number, "")
    return f"Instance {number}, {profile}" if profile else f"Instance {number}"


def _of_pod(
    one: HeldStretch, teams: Teams, state: PageState, *, is_part: bool
) -> LaneSpan:
    team = team_named(teams, one.team)
    whole = (one.end - one.start) / timedelta(milliseconds=1)
    share = 1.0 if is_part else min(one.allocated_ms / whole, 1.0)
    text = (
        f"{one.pod} ({team.name}), {between(one.start, one.end, state)}: "
        f"{units.percent(one.efficiency)} busy"
    )
    return LaneSpan(one.start, one.end, "held", text, team.slot, share)


def _error_row(
    events: Sequence[GpuEvent], period: Interval, state: PageState
) -> LaneRow:
    errors = [
        event
        for event in events
        if event.is_error
        and event.at < period.end
        and (event.until or event.at) >= period.start
    ]
    spans = [
        LaneSpan(
            max(event.at, period.start),
            min(max(event.until or event.at, event.at), period.end),
            "error",
            f"{event.detail} {between(event.at, event.until or event.at, state)}",
        )
        for event in errors
    ]
    text = "; ".join(span.text for span in spans) or "none seen"
    return LaneRow("Errors", lanes.bars(spans, period.start, period.end), text)


def _legend(
    found: Sequence[HeldStretch], there: Sequence[PresenceInterval], teams: Teams
) -> tuple[Key, ...]:
    _, legend = named_teams(by_team(found, teams))
    return (*legend, *grounds(there))
