"""Free GPUs that usual pods cannot use where they are (scheduling.md S25)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from accounting.core.interval import WINDOW_MS
from accounting.prices.rules.charge import raw_of
from scheduler_view.savings.rules.finding import Finding, Slice, SliceKey, WasteRule

POPULAR = Fraction(95, 100)  # of pods that the classes cover
WHOLE = Fraction(1)


@dataclass(frozen=True, slots=True)
class PodClass:
    """Pods that request the same: `gpus` units of a `share` of one GPU each; 0 for none.

    Attributes:
        cpu_milli: thousandths of CPUs; None if it is not known.
        models: of GPUs that they accept; empty for any, and if it is not known.
    """

    gpus: int
    share: Fraction = WHOLE
    cpu_milli: int | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What a node has beside its free GPUs, as observed.

    Attributes:
        cpu_milli: thousandths of CPUs that are free.
        model: of its product label; empty without one.
    """

    cpu_milli: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class FreeWindows:
    """Windows of a node with the same free time.

    Attributes:
        free_ms: free milliseconds in one window, of each GPU that has any.
        windows: how many.
        rate: of the whole GPU, per GPU-hour.
        beside: None if it was not observed.
    """

    free_ms: tuple[int, ...]
    windows: int
    rate: Decimal | None = None
    currency: str = ""
    beside: Beside | None = None


def popular(counts: Iterable[tuple[PodClass, int]]) -> list[tuple[PodClass, int]]:
    """The most frequent classes, until they cover 95% of all pods."""
    found = sorted(
        (one for one in counts if one[1] > 0),
        key=lambda one: (-one[1], *_order(one[0])),
    )
    wanted = POPULAR * sum(count for _, count in found)
    kept: list[tuple[PodClass, int]] = []
    for one in found:
        if sum(count for _, count in kept) >= wanted:
            break
        kept.append(one)
    return kept


def _order(one: PodClass) -> tuple[int, Fraction, int, tuple[str, ...]]:
    cpu = -1 if one.cpu_milli is None else one.cpu_milli
    return one.gpus, one.share, cpu, one.models


def unusable_ms(
    free_ms: Sequence[int],
    classes: Sequence[tuple[PodClass, int]],
    beside: Beside | None = None,
) -> Fraction:
    """The free milliseconds of a node in one window that its usual pods cannot use.

    For each class, weighted by its frequency: all of it where a pod of the class does not fit;
    else the parts of GPUs that are smaller than what it requests.

    Args:
        free_ms: of one window, by GPU.
        classes: with how many pods each has; empty: 0.
        beside: what the node has beside them; None if it is not known: only GPUs count.
    """
    total = sum(count for _, count in classes)
    found = Fraction(0)
    for one, count in classes:
        least = min(WHOLE, one.share) * WINDOW_MS
        enough = sum(_units(part, one.share) for part in free_ms)
        fits = 0 < one.gpus <= enough and _may_run(one, beside)
        lost = sum(part for part in free_ms if not fits or part < least)
        found += Fraction(count, total) * lost
    return found


def _may_run(one: PodClass, beside: Beside | None) -> bool:
    """Whether CPUs and the model are right; what is not known is."""
    if beside is None:
        return True
    if one.models and beside.model not in one.models:
        return False
    return one.cpu_milli is None or one.cpu_milli <= beside.cpu_milli


def _units(free_ms: int, share: Fraction) -> int:
    """How many units of a share a GPU's free part has."""
    return int(Fraction(free_ms, WINDOW_MS) / share) if share else 0


def fragmented(
    node: int,
    day: int,
    bounds_ms: tuple[int, int],
    found: Iterable[FreeWindows],
    classes: Sequence[tuple[PodClass, int]],
) -> Finding | None:
    """The free time of one node and day that usual pods cannot use, rounded down.

    Args:
        node: its number.
        day: billing day, as an ordinal.
        bounds_ms: of the day.
    """
    slices: dict[SliceKey, Slice] = {}
    free = known = 0
    for one in found:
        amount = sum(one.free_ms) * one.windows
        free += amount
        known += amount if one.beside else 0
        lost = int(unusable_ms(one.free_ms, classes, one.beside) * one.windows)
        if not lost:
            continue
        part = slices.setdefault(SliceKey(day, 0, one.currency), Slice())
        part.gpu_ms += lost
        part.of_ledger(lost, one.rate)
        if one.rate is None:
            part.unpriced_ms += lost
        else:
            part.raw += raw_of(lost, one.rate)
    if not slices:
        return None
    pods = sum(count for _, count in classes)
    seen = sum(count for of, count in classes if of.cpu_milli is not None)
    evidence = {"free_ms": free, "classes": len(classes)}
    evidence |= {"cpu_known_ms": known, "pods": pods, "cpu_known_pods": seen}
    return Finding(WasteRule.FRAGMENTED, node, *bounds_ms, slices, evidence)
