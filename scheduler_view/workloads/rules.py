"""What a run did with its GPUs: its life in parts, the looks of its time (scheduling.md S38)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from accounting.core.efficiency import StateTimes, sum_times
from accounting.core.interval import HOUR_MS, Interval, without
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
        bound_ms: of its first pod; `ended_ms`: of its last one, or the newest data.
    """

    created_ms: int | None
    admitted_ms: int | None
    bound_ms: int
    started_ms: int | None
    ended_ms: int


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
        first_busy_ms, last_busy_ms: None if that is not known.
        parts: in order of time; those from the bind on come to the time from it to the end.
    """

    first_busy_ms: int | None
    last_busy_ms: int | None
    parts: tuple[LifePart, ...]


def life_of(
    instants: Instants,
    steps: Sequence[UseStep],
    gaps: Sequence[Interval] = (),
    by: str = "window",
) -> Life:
    """The parts of a run's life.

    Args:
        instants: of the run.
        steps: of all its GPUs together, over its whole life, in order of time.
        gaps: times between its holds, in which it held nothing.
        by: `window` or `hour`: how long a step is. What ends within the first hour has no length.
    """
    stretches = resolved(
        ActivityStretch(
            max(step.start_ms, instants.bound_ms),
            min(step.end_ms, instants.ended_ms),
            step.activity,
        )
        for step in steps
        if step.times.allocated_ms
    )
    busy = [step.start_ms for step in steps if step.activity in _NOT_IDLE]
    last = max(
        (
            one.end_ms
            for one in stretches
            if busy and one.activity is Activity.BUSY and one.end_ms > busy[0]
        ),
        default=None,
    )
    is_cut = bool(stretches) and stretches[0].start_ms >= instants.bound_ms + HOUR_MS
    first = None if is_cut or last is None else max(busy[0], instants.bound_ms)
    before, begin = _before_work(instants, first, gaps, by, is_cut=is_cut)
    return Life(
        first,
        last,
        (
            *_before(instants),
            *before,
            *_busy(begin, last, steps, gaps, is_cut=is_cut),
            *_after(
                stretches,
                Interval(max(begin, last or begin), instants.ended_ms),
                gaps,
            ),
            *_nothing(gaps),
        ),
    )


# An hour of little busy time is not idle: at the begin, nothing before it proves otherwise.
_NOT_IDLE = (Activity.BUSY, Activity.BETWEEN)


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


def _before_work(
    instants: Instants,
    first: int | None,
    gaps: Sequence[Interval],
    by: str,
    *,
    is_cut: bool,
) -> tuple[tuple[LifePart, ...], int]:
    """Start-up and warm-up (S3) as far as they are known, and where the last of them ends."""
    parts: list[LifePart] = []
    bound, started = instants.bound_ms, instants.started_ms
    name, begin, text = "Start-up and warm-up", bound, ""
    if started is None:
        text = "When its containers started was not observed."
    else:
        name, begin = "Warm-up", min(max(started, bound), instants.ended_ms)
        length = _left(bound, begin, gaps)
        parts = [LifePart("Start-up", "low", length, "Until its containers started.")]
    if first is None:
        text = _NOT_KEPT if is_cut else "No busy time was observed."
        return (*parts, LifePart(name, "mid", None, text)), begin
    if first <= begin and by != "window":
        return (*parts, LifePart(name, "mid", None, f"Within the first {by}.")), begin
    end = max(begin, first)
    return (*parts, LifePart(name, "mid", _left(begin, end, gaps), text)), end


_NOT_KEPT = "The hours of its start are no longer kept."


def _busy(
    begin: int,
    last: int | None,
    steps: Sequence[UseStep],
    gaps: Sequence[Interval],
    *,
    is_cut: bool,
) -> tuple[LifePart, ...]:
    if last is None:
        return ()
    if is_cut:
        return (LifePart("Busy", "busy", None, _NOT_KEPT),)
    within = sum_times(step.times for step in steps if begin < step.end_ms <= last)
    share = within.efficiency
    text = "" if share is None else f"Busy {share:.0%} of it."
    return (LifePart("Busy", "busy", _left(begin, last, gaps), text),)


def _after(
    stretches: Iterable[ActivityStretch], rest: Interval, gaps: Sequence[Interval]
) -> tuple[LifePart, ...]:
    """What is held after the last busy time: idle, and not observed, which is not idle."""
    idle = sum(
        _left(max(one.start_ms, rest.start_ms), one.end_ms, gaps)
        for one in stretches
        if one.activity is Activity.IDLE and one.end_ms > rest.start_ms
    )
    unseen = _left(rest.start_ms, rest.end_ms, gaps) - idle
    found = (LifePart("Idle at the end", "idle", idle, ""),)
    if not unseen:
        return found
    text = "Held, and not known to be idle."
    return *found, LifePart("Not observed", "unknown", unseen, text)


def _nothing(gaps: Iterable[Interval]) -> tuple[LifePart, ...]:
    length = sum(gap.length_ms for gap in gaps)
    return (LifePart("Held nothing", "rest", length, ""),) if length else ()


def _left(start_ms: int, end_ms: int, gaps: Iterable[Interval]) -> int:
    """How long a time is without the gaps in it."""
    if end_ms <= start_ms:
        return 0
    return sum(part.length_ms for part in without([Interval(start_ms, end_ms)], gaps))


def edge_hours(life: Life) -> list[Interval]:
    """The hours in which a run was first and last busy, to be read in finer steps."""
    edges = [life.first_busy_ms, life.last_busy_ms and life.last_busy_ms - 1]
    starts = sorted({at - at % HOUR_MS for at in edges if at is not None})
    return [Interval(start, start + HOUR_MS) for start in starts]


def finer(
    steps: Sequence[UseStep], windows: Iterable[UseStep], hours: Sequence[Interval]
) -> list[UseStep] | None:
    """Hours with windows in place of some of them; None if not all time of these is known."""
    fine = together(windows)
    starts = {hour.start_ms for hour in hours}

    def is_replaced(step: UseStep) -> bool:
        return step.start_ms - step.start_ms % HOUR_MS in starts

    gone = sum_times(step.times for step in steps if is_replaced(step))
    if gone != sum_times(step.times for step in fine):
        return None
    return sorted([*(step for step in steps if not is_replaced(step)), *fine])


def gaps_of(holds: Iterable[RunHold], life: Interval) -> list[Interval]:
    """The times of a run's life in which it held nothing."""
    held = [
        Interval(hold.bound_ms, hold.bound_ms + hold.length_ms(life.end_ms))
        for hold in holds
    ]
    return without([life], held)
