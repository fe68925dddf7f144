"""The time of a hold: runs of equal windows of its GPUs, and what they cost."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from accounting.core.efficiency import StateTimes
from accounting.core.interval import WINDOW_MS
from scheduler_view.waits.rules.activity import Activity, Stretch, activity_of


class WindowTime(NamedTuple):
    """One five-minute window of one part of a hold: share-weighted milliseconds.

    Attributes:
        pod: number of the pod.
        part: GPU and instance.
        team: number of the team that holds it then; 0 without one.
        rate: per GPU-hour, None without a price; `currency` is empty then.
    """

    pod: int
    start_ms: int
    part: str
    busy_ms: int
    idle_ms: int
    unknown_ms: int
    team: int
    rate: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True)
class HeldRun:
    """Consecutive windows of one part, with the same activity, team and price.

    Attributes:
        start_ms, end_ms: on the five-minute grid.
        day: the billing day, as an ordinal.
        of_hold: the activity of all parts of the hold together.
        own: the activity of this part.
    """

    start_ms: int
    end_ms: int
    day: int
    part: str
    of_hold: Activity
    own: Activity
    busy_ms: int
    idle_ms: int
    unknown_ms: int
    team: int = 0
    rate: Decimal | None = None
    currency: str = ""

    @property
    def times(self) -> StateTimes:
        """Its time by state."""
        return StateTimes(self.busy_ms, self.idle_ms, self.unknown_ms)


@dataclass(frozen=True, slots=True)
class HoldLimit:
    """The longest time of a hold.

    Attributes:
        source: what sets it, for readers.
    """

    limit_ms: int
    source: str


@dataclass(frozen=True, slots=True)
class HeldTime:
    """One pod's units of one resource, and the time that is known of them.

    Attributes:
        pod: number of the pod.
        ended_ms: None while it holds them.
        kind: of its workload: Job, Deployment, ...
        limit: the longest time that it may hold them; None without a limit.
        runs: in any order.
        preempted_ms: when the scheduler preempted it; None if it did not.
        checkpoint_ms: how often it writes checkpoints; None if it does not say so.
        lifecycle: of its node when it was bound: spot, on-demand, ...
    """

    pod: int
    bound_ms: int
    ended_ms: int | None
    kind: str
    runs: tuple[HeldRun, ...]
    limit: HoldLimit | None = None
    preempted_ms: int | None = None
    checkpoint_ms: int | None = None
    lifecycle: str = ""

    @property
    def parts(self) -> frozenset[str]:
        """All GPUs and instances that it held."""
        return frozenset(run.part for run in self.runs)

    def of_hold(self) -> list[Stretch]:
        """The activity of the hold through time; parts agree on it at each instant."""
        return self._held((run, run.of_hold) for run in self.runs)

    def of_part(self, part: str) -> list[Stretch]:
        """The activity of one part through time."""
        return self._held((run, run.own) for run in self.runs if run.part == part)

    def _held(self, runs: Iterable[tuple[HeldRun, Activity]]) -> list[Stretch]:
        """Stretches within the hold: it has its first and last window in part only."""
        found = []
        for run, activity in runs:
            end_ms = run.end_ms if self.ended_ms is None else self.ended_ms
            held = Stretch(
                max(run.start_ms, self.bound_ms), min(run.end_ms, end_ms), activity
            )
            if held.start_ms < held.end_ms:
                found.append(held)
        return found


def runs_by_pod(
    windows: Iterable[WindowTime], day: int
) -> Iterator[tuple[int, list[HeldRun]]]:
    """The runs of one billing day by pod.

    Args:
        windows: of that day, by pod, then by start.
        day: the billing day, as an ordinal.
    """
    for pod, of_pod in groupby(windows, key=lambda one: one.pod):
        open_runs: dict[str, HeldRun] = {}
        done: list[HeldRun] = []
        for _, of_window in groupby(of_pod, key=lambda one: one.start_ms):
            parts = list(of_window)
            whole = activity_of(
                sum(one.busy_ms for one in parts),
                sum(one.idle_ms for one in parts),
                sum(one.unknown_ms for one in parts),
            )
            for one in parts:
                _add(open_runs, done, one, whole, day)
        yield pod, [*done, *open_runs.values()]


def _add(
    open_runs: dict[str, HeldRun],
    done: list[HeldRun],
    one: WindowTime,
    whole: Activity,
    day: int,
) -> None:
    """Continue the open run of a part, or begin another one."""
    own = activity_of(one.busy_ms, one.idle_ms, one.unknown_ms)
    last = open_runs.get(one.part)
    kind = (whole, own, one.team, one.rate, one.currency)
    end_ms = one.start_ms + WINDOW_MS
    if last is not None and last.end_ms == one.start_ms and _kind(last) == kind:
        open_runs[one.part] = HeldRun(
            last.start_ms,
            end_ms,
            day,
            one.part,
            whole,
            own,
            last.busy_ms + one.busy_ms,
            last.idle_ms + one.idle_ms,
            last.unknown_ms + one.unknown_ms,
            one.team,
            one.rate,
            one.currency,
        )
        return
    if last is not None:
        done.append(last)
    open_runs[one.part] = HeldRun(
        one.start_ms,
        end_ms,
        day,
        one.part,
        whole,
        own,
        one.busy_ms,
        one.idle_ms,
        one.unknown_ms,
        one.team,
        one.rate,
        one.currency,
    )


def _kind(run: HeldRun) -> tuple[Activity, Activity, int, Decimal | None, str]:
    return run.of_hold, run.own, run.team, run.rate, run.currency
