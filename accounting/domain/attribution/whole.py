"""Attribution of GPUs that nobody shares, all at once (rules.md N18-N23).

Where a GPU has one track for a metric and at every moment one holder of all of it, or none,
the sums of `attribution` are integers: a handful of array operations serve a whole cluster.
The lines are the same (a test compares them); everything else goes the long way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accounting.domain.attribution.window_utilization import (
    PlacedGpu,
    UtilizationTable,
    measured,
)
from accounting.domain.core.interval import Interval
from accounting.domain.core.ledger_line import LINE, STATES, LineTable
from accounting.domain.samples.scraper_series import BILLION
from accounting.domain.samples.validity import Integers
from accounting.domain.units.geometry import NO_INSTANCE

_BUSY, _IDLE, _UNKNOWN, _FREE, _, _STRAY, _DARK = range(len(STATES))


class SoleHolding(NamedTuple):
    """A stretch of one GPU's time in which `uid` has all of it, or nobody ("")."""

    gpu: int
    start_ms: int
    end_ms: int
    uid: str
    flags: int
    is_seen: bool


@dataclass(frozen=True, slots=True)
class WholeGpuResult:
    """What the short way gives.

    Attributes:
        tables: the lines of each window.
        doubtful: GPUs, by number, whose lines are void: somewhere their zeros are not
            believed (N21).
    """

    tables: tuple[LineTable, ...]
    doubtful: frozenset[int]


def attribute_whole(
    windows: Sequence[Interval],
    gpus: Sequence[PlacedGpu],
    cells: Sequence[SoleHolding],
) -> WholeGpuResult:
    """The lines of GPUs that nobody shares.

    Args:
        windows: in order.
        gpus: with plain utilizations.
        cells: disjoint for each GPU; `SoleHolding.gpu` is its number in `gpus`.
    """
    utilization = UtilizationTable.of(windows, gpus)
    uids = sorted({cell.uid for cell in cells} | {""})
    lines = _lines(_parts(windows, cells, uids), utilization)
    names = tuple((gpu.node, gpu.uuid) for gpu in gpus)
    cuts = np.searchsorted(lines["window"], np.arange(len(windows) + 1))
    tables = tuple(
        LineTable(names, tuple(uids), lines[cuts[n] : cuts[n + 1]])
        for n in range(len(windows))
    )
    return WholeGpuResult(tables, utilization.doubtful(windows, gpus))


_PART = np.dtype(
    {
        "names": ["window", "gpu", "uid", "start", "end", "flags", "is_seen"],
        "formats": [*["i8"] * 6, "?"],
    }
)


def _parts(
    windows: Sequence[Interval], cells: Sequence[SoleHolding], uids: Sequence[str]
) -> "np.ndarray":
    """Cells cut at the windows, by window, GPU and holder."""
    number = {uid: n for n, uid in enumerate(uids)}
    table = np.array(
        [
            (c.gpu, number[c.uid], c.start_ms, c.end_ms, c.flags, c.is_seen)
            for c in cells
        ],
        np.int64,
    ).reshape(-1, 6)
    start = np.array([w.start_ms for w in windows], np.int64)
    end = np.array([w.end_ms for w in windows], np.int64)
    which, window = np.nonzero(
        (table[:, 2, None] < end[None]) & (table[:, 3, None] > start[None])
    )
    parts = np.zeros(len(which), _PART)
    parts["window"] = window
    parts["gpu"], parts["uid"] = table[which, 0], table[which, 1]
    parts["start"] = np.maximum(table[which, 2], start[window])
    parts["end"] = np.minimum(table[which, 3], end[window])
    parts["flags"], parts["is_seen"] = table[which, 4], table[which, 5]
    return parts[np.lexsort((parts["uid"], parts["gpu"], parts["window"]))]


def _lines(parts: "np.ndarray", utilization: UtilizationTable) -> "np.ndarray":
    """One line for each (window, GPU, holder)."""
    if not len(parts):
        return np.zeros(0, LINE)
    starts = begins(parts, ("window", "gpu", "uid"))
    covered, active, samples = measured(parts, utilization)
    amounts = np.add.reduceat(_amounts(parts, covered, active), starts, axis=0)
    head = parts[starts]
    present = np.add.reduceat(parts["end"] - parts["start"], starts)
    states = _rounded(amounts, present, head)
    over = np.where((parts["uid"] == 0) & ~parts["is_seen"], active, 0)
    lines = np.zeros(len(head), LINE)
    for name in ("window", "gpu", "uid"):
        lines[name] = head[name]
    lines["instance"] = NO_INSTANCE
    for n, state in enumerate(STATES):
        lines[f"{state}_ms"] = states[:, n]
    lines["over_share_ms"] = np.add.reduceat(over, starts) // BILLION
    lines["flags"] = np.bitwise_or.reduceat(parts["flags"], starts)
    where = (head["gpu"], head["window"])
    lines["metric"] = utilization.metric[where]
    lines["samples_expected"] = states.sum(axis=1) // utilization.step_ms[where]
    lines["samples_used"] = np.add.reduceat(samples, starts)
    return lines


def begins(rows: "np.ndarray", names: Sequence[str]) -> Integers:
    """Where a new group of equal columns begins, in sorted rows."""
    new = np.zeros(len(rows), bool)
    new[0] = True
    for name in names:
        new[1:] |= rows[name][1:] != rows[name][:-1]
    return np.flatnonzero(new)


def _amounts(parts: "np.ndarray", covered: Integers, active: Integers) -> Integers:
    """Billionths of a millisecond of each part in each state (N18, N20, N22)."""
    amounts = np.zeros((len(parts), len(STATES)), np.int64)
    length = parts["end"] - parts["start"]
    held = parts["uid"] > 0
    amounts[:, _BUSY] = np.where(held, active, 0)
    amounts[:, _IDLE] = np.where(held, covered * BILLION - active, 0)
    amounts[:, _UNKNOWN] = np.where(held, (length - covered) * BILLION, 0)
    free = ~held & parts["is_seen"]
    amounts[:, _FREE] = np.where(free, length * BILLION - active, 0)
    amounts[:, _STRAY] = np.where(free, active, 0)
    amounts[:, _DARK] = np.where(~held & ~parts["is_seen"], length * BILLION, 0)
    return amounts


def _rounded(amounts: Integers, present: Integers, head: "np.ndarray") -> Integers:
    """Whole milliseconds by largest remainder over the lines of each GPU (N23).

    Ties go to the first uid, then to the first state, as in `rounding`.
    """
    states = amounts // BILLION
    starts = begins(head, ("window", "gpu"))
    group = np.zeros(len(head), np.int64)
    group[starts[1:]] = 1
    group = np.cumsum(group)
    missing = np.add.reduceat(present - states.sum(axis=1), starts)
    rest = amounts - states * BILLION
    line, state = np.nonzero(rest)
    order = np.lexsort((-rest[line, state], group[line]))  # stable: ties stay in order
    line, state = line[order], state[order]
    owner = group[line]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    more = rank < missing[owner]
    states[line[more], state[more]] += 1
    return states
