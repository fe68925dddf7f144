"""Held intervals of many GPUs as arrays, cut at the windows.

The shares of a GPU are brought to one denominator, so that all amounts are integers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np

from accounting.core.arrays import Integers, cut_at_windows, ranges, sums_before
from accounting.core.interval import Interval
from accounting.core.ledger_line import ESTIMATED, PLATFORM
from accounting.metering.rules.attribution.held_intervals import HeldInterval
from accounting.metering.rules.attribution.pool_filling import Holders
from accounting.metering.rules.units.geometry import GpuPart

LARGEST = 20_000  # denominator: 300,000 ms x 10**9 x it is below 2**63

# One part of a GPU in one window, while its holders stay the same. Shares (`own` of the part,
# `held` of its holders together) are over the denominator `common`.
CELL = np.dtype(
    [(name, "i8") for name in ("window", "part", "gpu", "instance", "start", "end")]
    + [(name, "i8") for name in ("common", "own", "held")]
    + [("is_seen", "?")]
)
# One holder of a cell; `divided` are its additional flags if samples are divided.
HOLDER = np.dtype([(n, "i8") for n in ("cell", "uid", "share", "flags", "divided")])
# The stranded share of a GPU in a window, over `common`.
STRANDED = np.dtype([(n, "i8") for n in ("window", "gpu", "length", "share", "common")])


class _Shares(NamedTuple):
    """The shares of a part and of its holders over one denominator.

    Attributes:
        common: the denominator of `own` (of the part), `held` (of all holders) and `each`.
        unit: a denominator over which the activity of each holder is an integer.
    """

    common: int
    own: int
    held: int
    each: tuple[int, ...]
    unit: int

    @classmethod
    def of(cls, own: Fraction, holders: Holders) -> "_Shares":
        shares = [own, *(holder.share for holder in holders)]
        common = lcm(*(share.denominator for share in shares))
        whole, *each = (s.numerator * (common // s.denominator) for s in shares)
        held = sum(each)
        return cls(common, whole, held, tuple(each), common * max(held, 1))


@dataclass(frozen=True, slots=True)
class CellTable:
    """All held time in the windows.

    Attributes:
        gpus: (node, uuid) by number.
        uids: of pods, by number, ascending; "" is the platform.
        cells: of `CELL`; `holders`: of `HOLDER`; `stranded`: of `STRANDED`.
        unit: of each GPU, a denominator over which all its amounts are integers.
    """

    gpus: tuple[tuple[str, str], ...]
    uids: tuple[str, ...]
    cells: "np.ndarray"
    holders: "np.ndarray"
    stranded: "np.ndarray"
    unit: Integers


@dataclass(slots=True)
class CellBuilder:
    """Collects the intervals of nodes; each GPU is on one node only.

    Attributes:
        part_number: of every part.
    """

    windows: Sequence[Interval]
    part_number: Mapping[GpuPart, int]
    _gpus: dict[tuple[str, str], int] = field(default_factory=dict)
    _units: list[int] = field(default_factory=list)
    _cells: list[tuple[int, ...]] = field(default_factory=list)
    _counts: list[int] = field(default_factory=list)  # of the holders of each cell
    _holders: list[tuple[str, int, int, int]] = field(default_factory=list)
    _stranded: list[tuple[int, ...]] = field(default_factory=list)
    _known: dict[tuple[tuple[int, int], ...], _Shares] = field(default_factory=dict)

    def add(self, node: str, intervals: Sequence[HeldInterval]) -> bool:
        """Add all intervals of a node; returns False, and adds none, if its shares are too fine."""
        units: dict[str, int] = {}
        shares: list[_Shares] = []
        for uuid, _, _, (_, left, parts) in intervals:
            of_gpu = [self._shares(own, holders) for _, own, holders in parts]
            each = [one.unit for one in of_gpu]
            units[uuid] = lcm(units.get(uuid, 1), left.denominator, *each)
            shares.extend(of_gpu)
        if max(units.values(), default=1) > LARGEST:
            return False
        self._append(node, intervals, shares)
        self._units.extend(units.values())
        return True

    def _append(
        self, node: str, intervals: Sequence[HeldInterval], shares: Sequence[_Shares]
    ) -> None:
        """Add intervals; `shares` of all their parts."""
        of_part = iter(shares)
        for uuid, start, end, (is_seen, left, parts) in intervals:
            gpu = self._gpus.setdefault((node, uuid), len(self._gpus))
            for part, _, holders in parts:
                common, own, held, each, _ = next(of_part)
                at = (self.part_number[part], gpu, part.instance, start, end)
                self._cells.append((*at, common, own, held, is_seen))
                self._counts.append(len(each))
                divided = ESTIMATED if len(each) > 1 else 0
                for (uid, _, flags), share in zip(holders, each, strict=True):
                    self._holders.append((uid, share, flags, divided))
            if left:
                self._stranded.append((gpu, start, end, *left.as_integer_ratio()))

    def _shares(self, own: Fraction, holders: Holders) -> _Shares:
        # Pairs of integers: the hash of a fraction is a modular power.
        key = (own.as_integer_ratio(), *[h.share.as_integer_ratio() for h in holders])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _Shares.of(own, holders)
        return found

    def table(self) -> CellTable:
        """All intervals that were added, cut at the windows."""
        flat = np.array(self._cells, np.int64).reshape(-1, 9)
        parts = cut_at_windows(self.windows, flat[:, 3], flat[:, 4])
        flat = flat[parts.source]
        cells = np.zeros(len(flat), CELL)
        cells["window"], cells["start"], cells["end"] = parts[1:]
        cells["part"], cells["gpu"], cells["instance"] = flat[:, :3].T
        cells["common"], cells["own"], cells["held"], cells["is_seen"] = flat[:, 5:].T
        uids, holders = self._expanded(parts.source)
        units = np.array(self._units, np.int64)
        left = self._cut_stranded()
        return CellTable(tuple(self._gpus), uids, cells, holders, left, units)

    def _expanded(self, source: Integers) -> tuple[tuple[str, ...], "np.ndarray"]:
        """The pods, and a row for each holder of each cell after the cut."""
        uids = sorted({PLATFORM, *(uid for uid, *_ in self._holders)})
        number = {uid: n for n, uid in enumerate(uids)}
        flat = [(number[uid], *rest) for uid, *rest in self._holders]
        table = np.array(flat, np.int64).reshape(-1, 4)
        counts = np.array(self._counts, np.int64)
        owner, row = ranges(sums_before(counts)[source], counts[source])
        found = np.zeros(len(row), HOLDER)
        found["cell"] = owner
        found["uid"], found["share"], found["flags"], found["divided"] = table[row].T
        return tuple(uids), found

    def _cut_stranded(self) -> "np.ndarray":
        flat = np.array(self._stranded, np.int64).reshape(-1, 5)
        parts = cut_at_windows(self.windows, flat[:, 1], flat[:, 2])
        flat = flat[parts.source]
        found = np.zeros(len(flat), STRANDED)
        found["window"], found["length"] = parts.window, parts.end - parts.start
        found["gpu"], found["share"], found["common"] = flat[:, [0, 3, 4]].T
        return found
