"""Since when a hold is idle, what that has cost, and the words about it (scheduling.md S37)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from accounting.core.efficiency import StateTimes
from accounting.core.interval import WINDOW_MS
from accounting.core.rounding import half_even
from scheduler_view.savings.rules.held_time import HeldTime, WindowTime
from scheduler_view.savings.rules.idle import open_episode
from scheduler_view.waits.rules.activity import Activity

LEAST_MS = 900_000  # S37: of idle windows
CHOICES_MINUTES = (15, 30, 60, 120, 240, 480)
USUAL_MINUTES = 30  # S28
PLACES = 6


@dataclass(frozen=True, slots=True)
class IdleTime:
    """The idle time of a hold that has not ended.

    Attributes:
        since_ms: begin of its first idle window.
        until_ms: end of its last one.
        idle_ms: of idle windows, by the clock.
        gpu_ms: idle time of the ledger in them.
        raw: of that time, milliseconds x rate, exact; `unpriced_ms` of it have no price.
        currency: of `raw`; empty without a price, or with several currencies: then all is unpriced.
    """

    since_ms: int
    until_ms: int
    idle_ms: int
    gpu_ms: int
    raw: Decimal
    unpriced_ms: int
    currency: str


def idle_time(hold: HeldTime, until_ms: int) -> IdleTime | None:
    """The idle time of a hold at an instant; None if it is busy, unknown or idle for less.

    Unknown time is not idle: it neither counts nor costs anything here, and half an hour of it
    ends the stretch (S28).
    """
    found = open_episode(hold.of_hold(), until_ms)
    if found is None or found.idle_ms < LEAST_MS:
        return None
    runs = [
        run
        for run in hold.runs
        if run.of_hold in (Activity.IDLE, Activity.BETWEEN)
        and run.end_ms > found.start_ms
        and run.start_ms < found.end_ms
    ]
    priced = [(run, run.rate) for run in runs if run.rate is not None]
    currencies = {run.currency for run, _ in priced}
    if len(currencies) > 1:
        priced, currencies = [], set()
    gpu_ms = sum(run.idle_ms for run in runs)
    raw = sum((rate * run.idle_ms for run, rate in priced), Decimal(0))
    return IdleTime(
        found.start_ms,
        found.end_ms,
        found.idle_ms,
        gpu_ms,
        raw,
        gpu_ms - sum(run.idle_ms for run, _ in priced),
        next(iter(currencies), ""),
    )


@dataclass(frozen=True, slots=True)
class HeldNow:
    """What a pod holds in one window.

    Attributes:
        gpus: share-weighted.
        per_hour: at the rates of the window; None if some of it has no price.
    """

    gpus: Decimal
    per_hour: Decimal | None


def held_at(parts: Sequence[WindowTime]) -> HeldNow:
    """What the parts of a pod hold in the same window."""
    shares = [(Fraction(_held_ms(one), WINDOW_MS), one.rate) for one in parts]
    gpus = half_even(sum((share for share, _ in shares), Fraction(0)), PLACES)
    if any(rate is None for _, rate in shares):
        return HeldNow(gpus, None)
    cost = sum((share * Fraction(rate or 0) for share, rate in shares), Fraction(0))
    return HeldNow(gpus, half_even(cost, PLACES))


def _held_ms(window: WindowTime) -> int:
    return StateTimes(window.busy_ms, window.idle_ms, window.unknown_ms).allocated_ms


def owner_of(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """The first value of the configured labels of owners; empty without one."""
    return next((labels[name] for name in names if labels.get(name)), "")[:253]


def stop_command(kind: str, namespace: str, name: str) -> str:
    """The command that would free the GPUs; GPU Ledger never runs it.

    Work whose controller would start it again is scaled to nothing instead of deleted.
    """
    kinds = {"Deployment": "deployment", "StatefulSet": "statefulset"}
    if kind in kinds:
        return f"kubectl -n {namespace} scale {kinds[kind]}/{name} --replicas=0"
    return f"kubectl -n {namespace} delete {(kind or 'Pod').lower()}/{name}"
