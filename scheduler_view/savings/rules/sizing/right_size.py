"""The smallest size that would have been enough for a workload (scheduling.md S33)."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil

from accounting.metering.rules.units.mig_profiles import parse, profiles_of, slices_of
from scheduler_view.savings.rules.amounts import FindingSum
from scheduler_view.savings.rules.finding import Finding, SliceKey, WasteRule

COVERED = Fraction(95, 100)  # of held time
ROOM = Fraction(11, 10)  # memory beyond its peak
GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class UsedSize:
    """What the holds of one workload used over seven days, without idle findings.

    Attributes:
        model: of its GPUs; empty if they are of several.
        gpus: whole GPUs that each of its pods holds.
        known_ms, held_ms: observed time, and all of it.
        busy, busiest: share of a window that was busy: what 95% of windows do not exceed, and
            the most.
        peak_bytes: the most memory of a GPU; None if less than 95% of windows show it.
        busy_gpus, most_gpus: GPUs of a pod that were not idle in a window: what 99% of windows
            do not exceed, and the most.
    """

    workload: int
    model: str
    gpus: int
    known_ms: int
    held_ms: int
    busy: Fraction
    busiest: Fraction
    peak_bytes: int | None
    busy_gpus: int
    most_gpus: int


@dataclass(frozen=True, slots=True)
class SmallerSize:
    """A smaller size: what it is, and the share of the held GPUs that it is.

    Attributes:
        safe_name, safe_share: the size for the busiest window.
    """

    name: str
    share: Fraction
    safe_name: str
    safe_share: Fraction


@dataclass(frozen=True, slots=True)
class SizedTime:
    """Observed time of a workload outside of idle findings, of one day, team and price."""

    day: int
    team: int
    gpu_ms: int
    rate: Decimal | None
    currency: str


def smaller_size(used: UsedSize) -> SmallerSize | None:
    """The smaller size; None if there is none, or less than 95% was observed."""
    if not used.held_ms or used.known_ms < COVERED * used.held_ms:
        return None
    return _fewer_gpus(used) if used.gpus > 1 else _profile(used)


def _fewer_gpus(used: UsedSize) -> SmallerSize | None:
    """Of several GPUs those that were in use; at least one."""
    needed, safe = max(1, used.busy_gpus), max(1, used.most_gpus)
    if needed >= used.gpus:
        return None
    return SmallerSize(
        _gpus(needed),
        Fraction(needed, used.gpus),
        _gpus(safe),
        Fraction(safe, used.gpus),
    )


def _gpus(count: int) -> str:
    return f"{count} GPU" if count == 1 else f"{count} GPUs"


def _profile(used: UsedSize) -> SmallerSize | None:
    """The smallest MIG profile with enough slices and memory."""
    if used.peak_bytes is None:
        return None
    name, share = _smallest(used.model, used.busy, used.peak_bytes)
    safe_name, safe_share = _smallest(used.model, used.busiest, used.peak_bytes)
    if share >= 1:
        return None
    return SmallerSize(name, share, safe_name, safe_share)


def _smallest(model: str, busy: Fraction, peak_bytes: int) -> tuple[str, Fraction]:
    """Name and compute share; the whole GPU if no profile has both."""
    slices = Fraction(max(1, ceil(slices_of(model) * busy)), slices_of(model))
    enough = [
        (shape.compute, shape.memory, name)
        for name, shape in profiles_of(model)
        if shape.compute >= slices and _bytes(name) >= ROOM * peak_bytes
    ]
    if not enough or min(enough)[0] >= 1:
        return _gpus(1), Fraction(1)
    share, _, name = min(enough)
    return name, share


def _bytes(name: str) -> int:
    """The memory of a profile, by its name: a little less than it really has."""
    profile = parse(name)
    return profile.gigabytes * GB if profile else 0


def size_finding(
    used: UsedSize,
    size: SmallerSize,
    times: Iterable[SizedTime],
    span_ms: tuple[int, int],
) -> Finding | None:
    """The part of a day's time that the smaller size does not need.

    The least is the same with the size for the busiest window.

    Args:
        span_ms: of the day.
    """
    amounts = FindingSum()
    spare = 1 - size.share
    for one in times:
        gpu_ms = one.gpu_ms * spare.numerator // spare.denominator
        key = SliceKey(one.day, one.team, one.currency)
        amounts.add(key, gpu_ms, one.rate, span_ms)
        if gpu_ms and one.rate is not None:
            safe = (1 - size.safe_share) * one.gpu_ms
            amounts.lower(key, min(safe, Fraction(gpu_ms)) * Fraction(one.rate))
    evidence = {
        "held_size": _gpus(used.gpus),
        "size": size.name,
        "safe_size": size.safe_name,
    }
    return amounts.finding(WasteRule.RIGHT_SIZE, used.workload, evidence)
