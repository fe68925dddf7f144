"""What a run did with its GPUs: its life in parts, the looks of its time (scheduling.md S38)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from accounting.core.efficiency import StateTimes, sum_times
from accounting.core.interval import Interval, without
from scheduler_view.waits.rules.activity import Activity, activity_of, resolved
from scheduler_view.waits.rules.activity import Stretch as ActivityStretch

MOSTLY_PERCENT, PARTLY_PERCENT = 80, 40  # busy, of the observed time


class UseStep(NamedTuple):
    """Held time of a window, an hour or a day: of one GPU, or of all that a run held.

    Milliseconds since 1970, [start_ms, end_ms).
    """

    start_ms: int
    end_ms: int
    times: StateTimes

    @property
    def activity(self) -> Activity:
        """As that of a window."""
        times = self.times
        return activity_of(times.busy_ms, times.idle_ms, times.unknown_ms)


def look_of(step: UseStep) -> str:
    """`busy`, `mid`, `low`, `idle` or `unknown`: unknown time never looks idle."""
    match step.activity:
        case Activity.UNKNOWN:
            return "unknown"
        case Activity.IDLE:
            return "idle"
    times = step.times
    if times.busy_ms * 100 > times.observed_ms * MOSTLY_PERCENT:
        return "busy"
    if times.busy_ms * 100 >= times.observed_ms * PARTLY_PERCENT:
        return "mid"
    return "low"


class Cell(NamedTuple):
    """Steps of one GPU in a row that look the same."""

    start_ms: int
    end_ms: int
    look: str
    times: StateTimes


def cells(steps: Iterable[UseStep]) -> list[Cell]:
    """Steps of one GPU in order of time; those without held time are gaps."""
    found: list[Cell] = []
    for step in sorted(steps):
        if not step.times.allocated_ms:
            continue
        look = look_of(step)
        last = found[-1] if found else None
        if last is not None and last.look == look and last.end_ms == step.start_ms:
            times = sum_times((last.times, step.times))
            found[-1] = last._replace(end_ms=step.end_ms, times=times)
        else:
            found.append(Cell(step.start_ms, step.end_ms, look, step.times))
    return found


def together(steps: Iterable[UseStep]) -> list[UseStep]:
    """Steps of several GPUs added up, in order of time."""
    sums: dict[tuple[int, int], list[StateTimes]] = {}
    for step in steps:
        sums.setdefault((step.start_ms, step.end_ms), []).append(step.times)
    return [UseStep(*key, sum_times(times)) for key, times in sorted(sums.items())]


class RunHold(NamedTuple):
    """One hold of one pod; `ended_ms` is None while it lasts. `gpus` is share-weighted."""

    bound_ms: int
    ended_ms: int | None
    gpus: Decimal

    def length_ms(self, until_ms: int) -> int:
        """How long it lasted, or has lasted by an instant."""
        end = until_ms if self.ended_ms is None else self.ended_ms
        return max(0, end - self.bound_ms)


def most_at_once(holds: Iterable[RunHold]) -> Decimal:
    """The most GPUs that holds had at the same time; what ends at an instant is free at it."""
    changes: list[tuple[float, Decimal]] = []
    for hold in holds:
        end = float("inf") if hold.ended_ms is None else hold.ended_ms
        changes += [(hold.bound_ms, hold.gpus), (end, -hold.gpus)]
    most = now = Decimal(0)
    for _, gpus in sorted(changes):
        now += gpus
        most = max(most, now)
    return most


@dataclass(frozen=True, slots=True)
class Instants:
    """When a run reached each step, in milliseconds since 1970; None if that was not observed.

    Attributes:
        bound_ms: of its first pod; `ended_ms`: of its last one, None while it holds GPUs.
    """

    created_ms: int | None
    admitted_ms: int | None
    bound_ms: int
    started_ms: int | None
    ended_ms: int | None


class LifePart(NamedTuple):
    """A part of a run's life.

    Attributes:
        length_ms: None if it was not observed.
    """

    name: str
    look: str
    length_ms: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Life:
    """A run from its creation to its end, or to the newest data.

    Attributes:
        first_busy_ms, last_busy_ms: None if no busy time was observed.
        parts: in order of time.
    """

    first_busy_ms: int | None
    last_busy_ms: int | None
    parts: tuple[LifePart, ...]


def life_of(
    instants: Instants,
    steps: Sequence[UseStep],
    gaps: Iterable[Interval] = (),
    by: str = "window",
) -> Life:
    """The parts of a run's life.

    Args:
        instants: of the run.
        steps: of all its GPUs together, over its whole life, in order of time.
        gaps: times between its holds, in which it held nothing.
        by: `window`, `hour` or `day`: how long a step is. A start-up within the first hour or day
            has no length.
    """
    stretches = resolved(
        ActivityStretch(step.start_ms, step.end_ms, step.activity)
        for step in steps
        if step.times.allocated_ms
    )
    starts = [step.start_ms for step in steps if step.activity is Activity.BUSY]
    first = max(starts[0], instants.bound_ms) if starts else None
    last = max(
        (
            one.end_ms
            for one in stretches
            if starts and one.activity is Activity.BUSY and one.end_ms > starts[0]
        ),
        default=None,
    )
    if last is not None and instants.ended_ms is not None:
        last = min(last, instants.ended_ms)
    after = instants.bound_ms if last is None else last
    return Life(
        first,
        last,
        (
            *_before(instants),
            *_start_up(instants, first, by),
            *_busy(first, last, steps, gaps),
            *_after(stretches, after, gaps),
            *_nothing(gaps),
        ),
    )


def _between(start: int | None, end: int | None) -> int | None:
    """Clocks of different machines may disagree: never below 0."""
    return None if start is None or end is None else max(0, end - start)


def _before(instants: Instants) -> tuple[LifePart, ...]:
    admitted, bound = instants.admitted_ms, instants.bound_ms
    if admitted is None:
        length = _between(instants.created_ms, bound)
        text = "When it was admitted was not observed."
        return (LifePart("Waiting", "scheduling", length, text),)
    return (
        LifePart("Admission", "admission", _between(instants.created_ms, admitted), ""),
        LifePart("Scheduling", "scheduling", _between(admitted, bound), ""),
    )


def _start_up(instants: Instants, first: int | None, by: str) -> tuple[LifePart, ...]:
    length = _between(instants.bound_ms, first)
    started = _between(instants.bound_ms, instants.started_ms)
    if first is None:
        return (LifePart("Start-up", "low", None, "No busy time was observed."),)
    if not length and by != "window":
        return (LifePart("Start-up", "low", None, f"Within the first {by}."),)
    return (LifePart("Start-up", "low", length, _container(started)),)


def _container(started: int | None) -> str:
    if started is None:
        return "When its containers started was not observed."
    return f"Its containers started after {_short(started)}."


def _short(length_ms: int) -> str:
    seconds = length_ms // 1000
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def _busy(
    first: int | None,
    last: int | None,
    steps: Sequence[UseStep],
    gaps: Iterable[Interval],
) -> tuple[LifePart, ...]:
    if first is None or last is None:
        return ()
    within = sum_times(step.times for step in steps if first < step.end_ms <= last)
    share = within.efficiency
    text = "" if share is None else f"Busy {share:.0%} of it."
    length = _left([Interval(first, max(first, last))], gaps)
    return (LifePart("Busy", "busy", length, text),)


def _after(
    stretches: Iterable[ActivityStretch], after: int, gaps: Iterable[Interval]
) -> tuple[LifePart, ...]:
    """What is held after the last busy time: idle, and not observed, which is not idle."""
    times: dict[Activity, list[Interval]] = {Activity.IDLE: [], Activity.UNKNOWN: []}
    for one in stretches:
        if one.activity in times and one.end_ms > after:
            part = Interval(max(one.start_ms, after), one.end_ms)
            times[one.activity].append(part)
    idle, unseen = (_left(parts, gaps) for parts in times.values())
    found = (LifePart("Idle at the end", "idle", idle, ""),)
    if not unseen:
        return found
    text = "Held, and not known to be idle."
    return *found, LifePart("Not observed", "unknown", unseen, text)


def _nothing(gaps: Iterable[Interval]) -> tuple[LifePart, ...]:
    length = sum(gap.length_ms for gap in gaps)
    return (LifePart("Held nothing", "rest", length, ""),) if length else ()


def _left(parts: Iterable[Interval], gaps: Iterable[Interval]) -> int:
    """How long parts are without the gaps in them."""
    return sum(part.length_ms for part in without(parts, gaps))


def gaps_of(holds: Iterable[RunHold], life: Interval) -> list[Interval]:
    """The times of a run's life in which it held nothing."""
    held = [
        Interval(hold.bound_ms, hold.bound_ms + hold.length_ms(life.end_ms))
        for hold in holds
    ]
    return without([life], held)
