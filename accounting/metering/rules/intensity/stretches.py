"""Intervals of GPU time cut at windows, and their holders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accounting.core.arrays import Integers, cut_at_windows, ranges, sums_before
from accounting.core.interval import Interval
from accounting.core.ledger_line import PLATFORM
from accounting.metering.rules.intensity.measures import WHOLE


class HeldPart(NamedTuple):
    """A held part of a GPU; `instance` is -1 for the whole GPU, `share` is num / den."""

    uid: str
    instance: int
    num: int
    den: int


class GpuInterval(NamedTuple):
    """An interval of one GPU's time on a node, and the holders of its parts."""

    node: str
    uuid: str
    start_ms: int
    end_ms: int
    parts: tuple[HeldPart, ...]


_CUT = np.dtype([(name, "i8") for name in ("window", "gpu", "start", "end", "source")])
_HELD = np.dtype([(n, "i8") for n in ("cut", "uid", "instance", "part", "num", "den")])


@dataclass(frozen=True, slots=True)
class CutIntervals:
    """Intervals cut at the windows, and their held parts.

    Attributes:
        gpus: (node, uuid) by number; `parts`: (GPU, instance as labelled) by number.
        cut: of `_CUT`, in order of window and GPU; `held`: of `_HELD`.
    """

    gpus: tuple[tuple[str, str], ...]
    uids: tuple[str, ...]
    parts: tuple[tuple[int, str], ...]
    cut: "np.ndarray"
    held: "np.ndarray"

    @classmethod
    def of(
        cls, windows: Sequence[Interval], stretches: Sequence[GpuInterval]
    ) -> "CutIntervals":
        """Cut intervals that are disjoint for each GPU and node at adjoining windows."""
        names = [stretch[:2] for stretch in stretches]
        gpus = sorted(set(names))
        number = {gpu: n for n, gpu in enumerate(gpus)}
        numbers = [number[name] for name in names]
        flat = [
            (i, part) for i, stretch in enumerate(stretches) for part in stretch.parts
        ]
        uids = sorted({part.uid for _, part in flat} | {PLATFORM})
        uid_of = {uid: n for n, uid in enumerate(uids)}
        parts: dict[tuple[int, str], int] = {}
        owned = np.array(
            [
                (
                    i,
                    uid_of[uid],
                    instance,
                    parts.setdefault((numbers[i], _label(instance)), len(parts)),
                    num,
                    den,
                )
                for i, (uid, instance, num, den) in flat
            ],
            np.int64,
        ).reshape(-1, 6)
        cut = _cut(windows, stretches, numbers)
        return cls(
            tuple(gpus),
            tuple(uids),
            tuple(parts),
            cut,
            _expanded(cut, owned, stretches),
        )


def _label(instance: int) -> str:
    return "" if instance == WHOLE else str(instance)


def _cut(
    windows: Sequence[Interval],
    stretches: Sequence[GpuInterval],
    numbers: Sequence[int],
) -> "np.ndarray":
    low = np.array([s.start_ms for s in stretches], np.int64)
    high = np.array([s.end_ms for s in stretches], np.int64)
    gpu = np.array(numbers, np.int64)
    parts = cut_at_windows(windows, low, high)
    cut = np.zeros(len(parts.source), _CUT)
    cut["source"], cut["window"], cut["start"], cut["end"] = parts
    cut["gpu"] = gpu[parts.source]
    return cut[np.lexsort((cut["start"], cut["gpu"], cut["window"]))]


def _expanded(
    cut: "np.ndarray", owned: Integers, stretches: Sequence[GpuInterval]
) -> "np.ndarray":
    """A row for each held part of each cut interval."""
    counts = np.array([len(s.parts) for s in stretches], np.int64)
    source = cut["source"]
    index, row = ranges(sums_before(counts)[source], counts[source])
    held = np.zeros(len(index), _HELD)
    held["cut"] = index
    for n, name in enumerate(("uid", "instance", "part", "num", "den"), start=1):
        held[name] = owned[row, n]
    return held
