"""Idle holders, holds that were never busy, and idle ends of holds (scheduling.md S28, S29)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from accounting.core.efficiency import sum_times
from accounting.core.interval import WINDOW_MS
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.held_time import HeldTime
from scheduler_view.savings.rules.pieces import Claim
from scheduler_view.waits.rules.activity import (
    EPISODE_MS,
    LONGEST_UNKNOWN,
    Activity,
    Stretch,
    resolved,
)

MINUTE_MS = 60_000
NEVER_BUSY_MS = 30 * MINUTE_MS  # held
TAIL_MS = 15 * MINUTE_MS  # of idle windows
SERVICES = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})


@dataclass(frozen=True, slots=True)
class Episode:
    """A range in which a hold was idle; `idle_ms` is its time in idle windows."""

    start_ms: int
    end_ms: int
    idle_ms: int


def is_service(kind: str) -> bool:
    """Whether work of this kind runs until a person ends it."""
    return kind in SERVICES or kind.startswith("Ray")


def episodes(stretches: Iterable[Stretch]) -> list[Episode]:
    """The idle episodes of a hold, or of one of its GPUs, that are long enough to count."""
    return [one for one in _episodes(resolved(stretches)) if one.idle_ms >= EPISODE_MS]


def open_episode(stretches: Iterable[Stretch], until_ms: int) -> Episode | None:
    """The idle episode that has not ended at an instant, however short; None if there is none."""
    known = resolved(stretches)
    found = [*_episodes(known)]
    if not found:
        return None
    last = found[-1]
    worked = any(
        one.activity is Activity.BUSY and one.end_ms > last.end_ms for one in known
    )
    if worked or until_ms - last.end_ms > LONGEST_UNKNOWN * WINDOW_MS:
        return None
    return last


def _episodes(stretches: Sequence[Stretch]) -> Iterator[Episode]:
    open_one: Episode | None = None
    for one in stretches:
        length_ms = one.end_ms - one.start_ms
        if one.activity is Activity.IDLE:
            start_ms = open_one.start_ms if open_one else one.start_ms
            before = open_one.idle_ms if open_one else 0
            open_one = Episode(start_ms, one.end_ms, before + length_ms)
        elif open_one and (
            one.activity is Activity.BUSY or length_ms > LONGEST_UNKNOWN * WINDOW_MS
        ):
            yield open_one
            open_one = None
    if open_one:
        yield open_one


def never_busy(hold: HeldTime, until_ms: int) -> Claim | None:
    """The whole hold, if it was observed for half of its time and never busy (S29)."""
    stretches = resolved(hold.of_hold())
    end_ms = until_ms if hold.ended_ms is None else hold.ended_ms
    times = sum_times(run.times for run in hold.runs)
    seen = {one.activity for one in stretches} - {Activity.UNKNOWN}
    if (
        end_ms - hold.bound_ms < NEVER_BUSY_MS
        or seen != {Activity.IDLE}
        or times.observed_ms * 2 < times.allocated_ms
    ):
        return None
    evidence = {"idle_ms": _idle_ms(stretches, hold.bound_ms)}
    return Claim(WasteRule.NEVER_BUSY, hold.bound_ms, end_ms, evidence=evidence)


def tail(hold: HeldTime) -> Claim | None:
    """From the last busy window to the end of a hold that is not a service's (S29)."""
    if hold.ended_ms is None or is_service(hold.kind):
        return None
    stretches = resolved(hold.of_hold())
    busy = [one.end_ms for one in stretches if one.activity is Activity.BUSY]
    if not busy:
        return None
    idle_ms = _idle_ms(stretches, busy[-1])
    if idle_ms < TAIL_MS:
        return None
    return Claim(WasteRule.TAIL, busy[-1], hold.ended_ms, evidence={"idle_ms": idle_ms})


def idle_holder(hold: HeldTime) -> list[Claim]:
    """The idle episodes of all GPUs of a hold together (S28)."""
    return [
        Claim(
            WasteRule.IDLE,
            one.start_ms,
            one.end_ms,
            evidence={"idle_ms": one.idle_ms},
        )
        for one in episodes(hold.of_hold())
    ]


def idle_gpus(hold: HeldTime) -> list[Claim]:
    """The idle episodes of single GPUs of a hold with several (S28: "2 of 8").

    GPUs that were idle in the same range are one claim.
    """
    parts = hold.parts
    if len(parts) < 2:
        return []
    found: dict[Episode, set[str]] = {}
    for part in sorted(parts):
        for one in episodes(hold.of_part(part)):
            found.setdefault(one, set()).add(part)
    return [
        Claim(
            WasteRule.IDLE_GPUS,
            one.start_ms,
            one.end_ms,
            parts=frozenset(idle),
            evidence={
                "idle_ms": one.idle_ms,
                "idle_gpus": len(idle),
                "held_gpus": len(parts),
            },
        )
        for one, idle in sorted(found.items(), key=lambda item: item[0].start_ms)
    ]


def in_use(hold: HeldTime) -> Claim:
    """The idle time of windows in which the hold did work: what no finding is to take (S28)."""
    return Claim(
        WasteRule.IN_USE,
        hold.bound_ms,
        max((run.end_ms for run in hold.runs), default=hold.bound_ms),
        activities=(Activity.BUSY, Activity.BETWEEN),
    )


def _idle_ms(stretches: Iterable[Stretch], from_ms: int) -> int:
    """The time of idle windows after an instant."""
    return sum(
        one.end_ms - max(one.start_ms, from_ms)
        for one in stretches
        if one.activity is Activity.IDLE and one.end_ms > from_ms
    )
