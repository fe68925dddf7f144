"""Sums of GPU activity: one row for each line, and the platform's.

Sums are exact integers; a share is applied to them once.
"""

import numpy as np

from accounting.core.arrays import Integers
from accounting.metering.rules.intensity.measures import (
    FINER,
    MEASURES,
    OF_WHOLE,
    PEAKS,
    WHOLE,
    table,
    zeros,
)
from accounting.metering.rules.intensity.stretches import CutIntervals


def rows_of(
    work: CutIntervals, held: "np.ndarray", total: "np.ndarray"
) -> "np.ndarray":
    """One row for each (window, GPU, pod, instance), and the platform's."""
    cut, owned = work.cut, work.held
    for name in ("flags", *OF_WHOLE):
        held[name] = total[name][owned["cut"]]
    window, gpu = cut["window"][owned["cut"]], cut["gpu"][owned["cut"]]
    keys = (window, gpu, owned["uid"], owned["instance"])
    exact, at = _grouped(held, (*keys, owned["num"], owned["den"]))
    num, den = owned["num"][at], owned["den"][at]
    for name in MEASURES:
        if name not in PEAKS:
            exact[name] = exact[name] * num // den
    summed, once = _grouped(exact, tuple(key[at] for key in keys))
    everything, where = _grouped(total, (cut["window"], cut["gpu"]))
    for values in (summed, everything):
        for name in FINER:
            values[name] //= 1000
    lines = table(summed, *(key[at][once] for key in keys))
    left = _platform(everything, cut["window"][where], cut["gpu"][where], lines)
    rows = np.concatenate([lines, left])
    some = np.zeros(len(rows), bool)
    for name in MEASURES:
        some |= rows[name] != 0
    rows = rows[some]
    return rows[
        np.lexsort((rows["instance"], rows["uid"], rows["gpu"], rows["window"]))
    ]


def _grouped(
    values: "np.ndarray", keys: tuple[Integers, ...]
) -> tuple["np.ndarray", Integers]:
    """Sums (peaks: the maximum, flags: all) of equal keys, and an index of each key."""
    order = np.lexsort(keys[::-1])
    if not len(order):
        return values[:0].copy(), order
    new = np.zeros(len(order), bool)
    new[0] = True
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    summed = np.zeros(len(starts), values.dtype)
    for name in values.dtype.names or ():
        ordered = values[name][order]
        if name == "flags":
            summed[name] = np.bitwise_or.reduceat(ordered, starts)
        elif name in PEAKS:
            summed[name] = np.maximum.reduceat(ordered, starts)
        else:
            summed[name] = np.add.reduceat(ordered, starts)
    return summed, order[starts]


def _platform(
    total: "np.ndarray", window: Integers, gpu: Integers, lines: "np.ndarray"
) -> "np.ndarray":
    """The energy and power of a GPU's unallocated time: so all lines add up to the GPU's."""
    left = zeros(len(total))
    wide = np.int64(1) << 32
    place = np.searchsorted(
        window * wide + gpu, lines["window"] * wide + lines["gpu"].astype(np.int64)
    )
    for name in ("power_seen_us", "power_mj", "energy_seen_us", "energy_mj"):
        taken = np.zeros(len(total), np.int64)
        np.add.at(taken, place, lines[name])
        left[name] = total[name] - taken
    left["flags"] = np.where(left["energy_mj"] > 0, total["flags"], 0)
    return table(left, window, gpu, 0, WHOLE)
