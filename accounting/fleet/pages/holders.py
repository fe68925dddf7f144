"""Holders of GPUs over time, as rows of bars and as a table."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounting.access.reads.teams import UNMAPPED_TEAM, TeamRef, team_named
from accounting.core.efficiency import StateTimes, sum_times
from accounting.core.interval import Interval
from accounting.fleet.reads.timeline import HeldStretch, PresenceInterval
from accounting.kit.charts import lanes
from accounting.kit.charts.lanes import Bar, LaneSpan, Tick
from accounting.kit.charts.plots import NAMED_SERIES, OTHER_SLOT
from accounting.kit.tags import units
from accounting.usage.pages.figures import Key
from accounting.usage.pages.page_state import PageState

SHOWN_PODS = 3  # in the text of a bar
TABLE_ROWS = 500
Teams = Mapping[str, TeamRef]


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One row: its label, its bars, and their text."""

    key: str
    bars: tuple[Bar, ...]
    text: str


@dataclass(frozen=True, slots=True)
class TeamStretch:
    """A GPU that one team held without a gap; pods in order of their start."""

    gpu: str
    node: str
    team: TeamRef
    start: datetime
    end: datetime
    times: StateTimes
    pods: tuple[str, ...]

    @property
    def pods_text(self) -> str:
        """A few of the pods by name."""
        return few(self.pods)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows of bars on one axis; `stretches` are the same as a table, newest first."""

    rows: Mapping[str, LaneRow]
    ticks: tuple[Tick, ...]
    legend: tuple[Key, ...]
    sentence: str
    stretches: tuple[TeamStretch, ...]
    count: int


def few(names: Sequence[str]) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(names[:SHOWN_PODS])
    rest = len(names) - SHOWN_PODS
    return f"{shown} and {rest} more" if rest > 0 else shown


def by_team(found: Iterable[HeldStretch], teams: Teams) -> list[TeamStretch]:
    """Holds of pods, joined by team if they adjoin or overlap."""
    open_: dict[tuple[str, str], TeamStretch] = {}
    done: list[TeamStretch] = []
    for one in sorted(found, key=lambda one: (one.start, one.pod)):
        key = (one.gpu, one.team)
        known = open_.get(key)
        if known is not None and known.end < one.start:
            done.append(known)
            known = None
        open_[key] = _with(known, one, teams)
    done += open_.values()
    return sorted(done, key=lambda one: (one.start, one.gpu, one.team.name))


def _with(known: TeamStretch | None, one: HeldStretch, teams: Teams) -> TeamStretch:
    if known is None:
        return TeamStretch(
            *(one.gpu, one.node, team_named(teams, one.team), one.start, one.end),
            *(sum_times([one]), (one.pod,)),
        )
    pods = known.pods if one.pod in known.pods else (*known.pods, one.pod)
    return TeamStretch(
        *(known.gpu, known.node, known.team, known.start, max(known.end, one.end)),
        *(sum_times([known.times, one]), pods),
    )


def timeline(
    uuids: Sequence[str],
    found: Sequence[HeldStretch],
    there: Sequence[PresenceInterval],
    teams: Teams,
    period: Interval,
    state: PageState,
) -> Timeline:
    """One row for each GPU, colored by the team that held it.

    At most NAMED_SERIES teams have their color; the others are gray.

    Args:
        found: their holders, by pod.
        there: when they were present; empty for people who see only their teams.
    """
    stretches = by_team(found, teams)
    named, legend = named_teams(stretches)
    spans: dict[str, list[LaneSpan]] = {uuid: [] for uuid in uuids}
    for presence in there:
        spans[presence.gpu].append(ground_of(presence, state))
    for one in stretches:
        slot = one.team.slot if one.team.slug in named else OTHER_SLOT
        spans[one.gpu].append(_held(one, slot, state))
    edges = period.start, period.end
    rows = {
        uuid: LaneRow(uuid, lanes.bars(spans[uuid], *edges), text)
        for uuid, text in _row_texts(uuids, stretches).items()
    }
    return Timeline(
        rows,
        lanes.ticks(*edges, state.visitor.zone),
        (*legend, *grounds(there)),
        _sentence(stretches, len(uuids)),
        tuple(reversed(stretches))[:TABLE_ROWS],
        len(stretches),
    )


def named_teams(
    stretches: Sequence[TeamStretch],
) -> tuple[set[str], list[Key]]:
    """The teams with their own color, and the legend of all."""
    held: Counter[TeamRef] = Counter()
    for one in stretches:
        held[one.team] += one.times.allocated_ms
    ranked = sorted(held, key=lambda team: (-held[team], team.name))
    if len(ranked) > NAMED_SERIES + 1:
        kept = [team for team in ranked if team != UNMAPPED_TEAM][:NAMED_SERIES]
    else:
        kept = ranked
    legend = [Key(team.name, team.slot) for team in kept]
    rest = len(ranked) - len(kept)
    if rest:
        legend.append(Key(f"Other ({rest})", OTHER_SLOT))
    return {team.slug for team in kept}, legend


def _held(one: TeamStretch, slot: int, state: PageState) -> LaneSpan:
    whole = (one.end - one.start) / timedelta(milliseconds=1)
    text = f"{one.team.name}, {between(one.start, one.end, state)}: {one.pods_text}"
    return LaneSpan(
        one.start,
        one.end,
        "held",
        text,
        slot,
        min(one.times.allocated_ms / whole, 1.0),
    )


def ground_of(one: PresenceInterval, state: PageState) -> LaneSpan:
    """The background of a row while the GPU is present."""
    what, look = ("No data", "dark") if one.is_dark else ("Unallocated", "free")
    return LaneSpan(
        one.start, one.end, look, f"{what}, {between(one.start, one.end, state)}"
    )


def between(start: datetime, end: datetime, state: PageState) -> str:
    """`21 Nov 10:00 to 14:35` in the reader's zone."""
    low, high = (at.astimezone(state.visitor.zone) for at in (start, end))
    day = "" if high.date() == low.date() else f"{high.day} {high:%b} "
    return f"{low.day} {low:%b} {low:%H:%M} to {day}{high:%H:%M}"


def grounds(there: Sequence[PresenceInterval]) -> list[Key]:
    """The legend of the backgrounds of these rows."""
    kinds = {one.is_dark for one in there}
    keys = {False: Key("Unallocated", 0, "rest"), True: Key("No data", 0, "unknown")}
    return [keys[is_dark] for is_dark in sorted(kinds)]


def _row_texts(
    uuids: Sequence[str], stretches: Sequence[TeamStretch]
) -> dict[str, str]:
    held: dict[str, Counter[str]] = {uuid: Counter() for uuid in uuids}
    for one in stretches:
        held[one.gpu][one.team.name] += one.times.allocated_ms
    return {
        uuid: ", ".join(
            f"{name} {units.duration(ms)}" for name, ms in got.most_common()
        )
        or "unallocated"
        for uuid, got in held.items()
    }


def _sentence(stretches: Sequence[TeamStretch], gpus: int) -> str:
    if not stretches:
        return "None of these GPUs was held."
    held: Counter[str] = Counter()
    for one in stretches:
        held[one.team.name] += one.times.allocated_ms
    name, most = held.most_common(1)[0]
    teams = f"{len(held)} team{'' if len(held) == 1 else 's'}"
    return (
        f"{teams} held these {gpus} GPUs for {units.gpu_hours(sum(held.values()))} "
        f"GPU-hours; {name} most, {units.gpu_hours(most)}."
    )
