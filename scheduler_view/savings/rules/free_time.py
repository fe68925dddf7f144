"""The free time of nodes, each millisecond in one finding: S24, then S25, then S32.

S26 overlaps them. Windows are five minutes; what observations show at the border of a window
counts for all of it. Time that is not free in the ledger, or not known, is in none.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from accounting.core.interval import WINDOW_MS
from scheduler_view.savings.rules.amounts import FindingSum
from scheduler_view.savings.rules.finding import Finding, SliceKey, WasteRule
from scheduler_view.savings.rules.fragmentation import (
    Beside,
    FreeWindows,
    PodClass,
    fragmented,
    unusable_ms,
)

KEPT_MS = 1_800_000  # without GPU work; shorter times do not count
Classes = Sequence[tuple[PodClass, int]]


@dataclass(frozen=True, slots=True)
class FreeWindow:
    """One window of a node.

    Attributes:
        free_ms: of each GPU that has free time, largest first.
        rate, cost: per GPU-hour: what teams are charged, and what the GPU costs; None without.
    """

    start_ms: int
    free_ms: tuple[int, ...]
    rate: Decimal | None = None
    currency: str = ""
    cost: Decimal | None = None
    cost_currency: str = ""


@dataclass(frozen=True, slots=True)
class PoolUnits:
    """Free units on one node that observations of a pool showed in [start_ms, end_ms).

    Attributes:
        pool: its number.
        share: of a GPU, of one unit.
    """

    pool: int
    start_ms: int
    end_ms: int
    units: int
    share: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class KeptRange:
    """When a node without GPU work was kept, and by which pods, as text."""

    start_ms: int
    end_ms: int
    pods: str


@dataclass(frozen=True, slots=True)
class BesideRange:
    """What a node had beside its free GPUs in [start_ms, end_ms)."""

    start_ms: int
    end_ms: int
    beside: Beside


@dataclass(frozen=True, slots=True)
class NodeFree:
    """One node on one billing day.

    Attributes:
        node: its number.
        policy: what work that policy holds back could use (S24).
        unused: what nothing that waits could use (S26).
        kept: in order of time; ranges may begin before the day.
        beside: in order of time; of no time twice.
    """

    node: int
    windows: tuple[FreeWindow, ...]
    policy: tuple[PoolUnits, ...] = ()
    unused: tuple[PoolUnits, ...] = ()
    kept: tuple[KeptRange, ...] = ()
    beside: tuple[BesideRange, ...] = ()


@dataclass(slots=True)
class _OfPool:
    amounts: FindingSum = field(default_factory=FindingSum)
    units: Counter[int] = field(default_factory=Counter)  # by window


def free_findings(
    nodes: Iterable[NodeFree], day: int, bounds_ms: tuple[int, int], classes: Classes
) -> list[Finding]:
    """The findings of a day's free time; subjects are numbers of pools or of nodes.

    Args:
        day: billing day, as an ordinal.
        bounds_ms: of the day.
        classes: usual pods (S25).
    """
    pools: dict[tuple[WasteRule, int], _OfPool] = defaultdict(_OfPool)
    found: list[Finding | None] = []
    for node in nodes:
        left = _without_policy(node, day, pools)
        beside = _beside(node, classes)
        windows = _grouped(node, left, beside)
        found.append(fragmented(node.node, day, bounds_ms, windows, classes))
        found.append(_kept(node, left, beside, day, classes))
    for (rule, pool), one in sorted(pools.items()):
        evidence = {"units": max(one.units.values(), default=0)}
        found.append(one.amounts.finding(rule, pool, evidence))
    return [one for one in found if one is not None]


def _without_policy(
    node: NodeFree, day: int, pools: dict[tuple[WasteRule, int], _OfPool]
) -> list[tuple[int, ...]]:
    """What is left of each window after S24; adds S24 and S26 to their pools."""
    policy, unused = _by_border(node.policy), _by_border(node.unused)
    found = []
    for window in node.windows:
        left = window.free_ms
        span = window.start_ms, window.start_ms + WINDOW_MS
        key = SliceKey(day, 0, window.currency)
        for one in policy.get(window.start_ms, ()):
            amount, left = take(left, one.units, one.share)
            pool = pools[WasteRule.POLICY, one.pool]
            pool.amounts.add(key, amount, window.rate, span)
            pool.amounts.of_ledger(key, amount, window.rate)
            pool.units[window.start_ms] += one.units
        for one in unused.get(window.start_ms, ()):
            amount, _ = take(window.free_ms, one.units, one.share)
            pool = pools[WasteRule.NOT_ALLOCATABLE, one.pool]
            pool.amounts.add(key, amount, window.rate, span)
            pool.units[window.start_ms] += one.units
        found.append(left)
    return found


def _by_border(found: Iterable[PoolUnits]) -> Mapping[int, list[PoolUnits]]:
    """Units by the start of each window at whose border they were observed."""
    at: dict[int, list[PoolUnits]] = defaultdict(list)
    for one in found:
        first = -(-one.start_ms // WINDOW_MS) * WINDOW_MS
        for start in range(first, one.end_ms, WINDOW_MS):
            at[start].append(one)
    return at


def take(
    free_ms: Sequence[int], units: int, share: Fraction
) -> tuple[int, tuple[int, ...]]:
    """The free ms of one window that units take, and what is left, largest first.

    Each unit takes the smallest free part that is enough, else the largest one.
    """
    left, taken = list(free_ms), 0
    need = int(share * WINDOW_MS)
    for _ in range(units):
        enough = [part for part in left if part >= need]
        part = min(enough, default=max(left, default=0))
        amount = min(part, need)
        if not amount:
            break
        left[left.index(part)] -= amount
        taken += amount
    return taken, tuple(sorted((part for part in left if part), reverse=True))


def _beside(node: NodeFree, classes: Classes) -> list[Beside | None]:
    """What was observed at the border of each window; None where nothing was.

    CPU is cut to the most that a class needs of it, so that few windows differ.
    """
    needs = sorted({one.cpu_milli for one, _ in classes if one.cpu_milli is not None})
    starts = [one.start_ms for one in node.beside]
    found: list[Beside | None] = []
    for window in node.windows:
        at = bisect_right(starts, window.start_ms) - 1
        if at < 0 or node.beside[at].end_ms <= window.start_ms:
            found.append(None)
            continue
        seen = node.beside[at].beside
        enough = bisect_right(needs, seen.cpu_milli)
        found.append(Beside(needs[enough - 1] if enough else -1, seen.model))
    return found


def _grouped(
    node: NodeFree,
    left: Sequence[tuple[int, ...]],
    beside: Sequence[Beside | None],
) -> list[FreeWindows]:
    """Windows with the same parts left, as S25 reads them."""
    counts = Counter(
        (parts, one.rate, one.currency, seen)
        for one, parts, seen in zip(node.windows, left, beside, strict=True)
        if parts
    )
    return [
        FreeWindows(parts, count, rate, currency, seen)
        for (parts, rate, currency, seen), count in counts.items()
    ]


def _kept(
    node: NodeFree,
    left: Sequence[tuple[int, ...]],
    beside: Sequence[Beside | None],
    day: int,
    classes: Classes,
) -> Finding | None:
    """S32: what S24 and S25 left of a node that other pods kept, at what its GPUs cost."""
    ranges = list(long_ranges(node.kept))
    if not ranges:
        return None
    amounts = FindingSum()
    lost: dict[tuple[tuple[int, ...], Beside | None], int] = {}
    for window, parts, seen in zip(node.windows, left, beside, strict=True):
        end = window.start_ms + WINDOW_MS
        overlap = sum(
            max(0, min(end, one.end_ms) - max(window.start_ms, one.start_ms))
            for one in ranges
        )
        if not overlap:
            continue
        shape = parts, seen
        if shape not in lost:
            exact = unusable_ms(parts, classes, seen)
            lost[shape] = -(-exact.numerator // exact.denominator)
        amount = (sum(parts) - lost[shape]) * overlap // WINDOW_MS
        currency = window.cost_currency if window.cost is not None else ""
        key = SliceKey(day, 0, currency)
        amounts.add(key, amount, window.cost, (window.start_ms, end))
        amounts.of_ledger(key, amount, window.rate)
    return amounts.finding(WasteRule.KEPT_NODE, node.node, {"kept_by": ranges[-1].pods})


def long_ranges(kept: Iterable[KeptRange]) -> Iterator[KeptRange]:
    """Ranges that touch, as one with the pods of the last, if they last for 30 minutes."""
    open_one: KeptRange | None = None
    for one in kept:
        if open_one is not None and one.start_ms <= open_one.end_ms:
            end = max(open_one.end_ms, one.end_ms)
            open_one = KeptRange(open_one.start_ms, end, one.pods)
            continue
        if open_one is not None and open_one.end_ms - open_one.start_ms >= KEPT_MS:
            yield open_one
        open_one = one
    if open_one is not None and open_one.end_ms - open_one.start_ms >= KEPT_MS:
        yield open_one
