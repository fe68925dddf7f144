"""Stretches, parts and holders of divided and shared GPUs as arrays.

Shares are brought to one denominator for each GPU, so that all amounts are integers.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np

from accounting.domain.attribution.node_timeline import NodeTimeline
from accounting.domain.attribution.plain import SegmentHolding
from accounting.domain.attribution.segment import Segment
from accounting.domain.core.interval import Interval
from accounting.domain.core.ledger_line import ESTIMATED
from accounting.domain.samples.validity import Integers
from accounting.domain.units.geometry import GpuPart

LARGEST = 20_000  # of the denominators: 300,000 ms x 10**9 x it is below 2**63
Held = Mapping[GpuPart, Sequence[SegmentHolding]]


class PartInterval(NamedTuple):
    """Who has which part of each GPU of a node in a stretch of a window."""

    timeline: NodeTimeline
    segment: Segment
    window: int
    period: Interval
    holders: Held


STAY = np.dtype(
    [(name, "i8") for name in ("window", "gpu", "start", "end")]  # gpu: number of part
    + [(name, "i8") for name in ("card", "told", "common", "own", "held")]
    + [("is_seen", "?")]
)
_ROW = np.dtype([(name, "i8") for name in ("stay", "uid", "share", "flags")])


@dataclass(slots=True)
class CollectedNodes:
    """What is collected of all nodes before anything is computed."""

    parts: list[tuple[NodeTimeline, GpuPart]] = field(default_factory=list)
    number: dict[tuple[str, GpuPart], int] = field(default_factory=dict)
    cards: dict[tuple[str, str], int] = field(default_factory=dict)

    def card(self, node: str, uuid: str) -> int:
        """The number of a GPU."""
        return self.cards.setdefault((node, uuid), len(self.cards))


_Scaled = tuple[int, int, int, tuple[int, ...]]  # what `_integers` gives


def rows_of(
    stays: "np.ndarray", told: Sequence[PartInterval]
) -> tuple["np.ndarray", list[str]]:
    """Holders of each stay, with shares over its part's denominator; fills in `stays`."""
    uid_of: dict[str, int] = {"": 0}
    flat: list[tuple[int, int, int, int]] = []
    known: dict[tuple[tuple[int, int], ...], _Scaled] = {}
    scaled: list[tuple[int, int, int]] = []
    n = 0
    for item in told:
        for part, own in item.segment.parts.items():
            those = item.holders[part]
            shares = [own, *(holder.share for holder in those)]
            # Pairs of integers: the hash of a fraction is a modular power.
            key = tuple([share.as_integer_ratio() for share in shares])
            if key not in known:
                known[key] = _integers(shares)
            common, over, held, parts = known[key]
            scaled.append((common, over, held))
            for holder, share in zip(those, parts, strict=True):
                uid = uid_of.setdefault(holder.uid, len(uid_of))
                flags = holder.flags | (ESTIMATED << 8 if len(those) > 1 else 0)
                flat.append((n, uid, share, flags))
            n += 1
    numbers = np.array(scaled, np.int64).reshape(-1, 3)
    stays["common"], stays["own"], stays["held"] = numbers.T
    order = sorted(uid_of)
    renamed = np.zeros(len(uid_of), np.int64)
    for place, name in enumerate(order):
        renamed[uid_of[name]] = place
    rows = np.array(flat, _ROW)
    rows["uid"] = renamed[rows["uid"]]
    return rows, order


def _integers(shares: Sequence[Fraction]) -> _Scaled:
    """A denominator for a part; its own share, what is held and each share over it."""
    common = lcm(*(share.denominator for share in shares))
    own, *parts = (share.numerator * (common // share.denominator) for share in shares)
    return common, own, sum(parts), tuple(parts)


def denominators(
    stays: "np.ndarray", told: Sequence[PartInterval], work: CollectedNodes
) -> Integers:
    """A denominator for each GPU over which all its amounts are whole."""
    of_card: dict[int, set[int]] = defaultdict(set)
    each = stays["common"] * np.maximum(stays["held"], 1)
    pairs = np.unique(np.stack((stays["card"], each), axis=1), axis=0)
    for card, number in pairs.tolist():
        of_card[card].add(number)
    for item in told:
        for uuid, left in item.segment.stranded.items():
            of_card[work.card(item.timeline.node, uuid)].add(left.denominator)
    return np.array(
        [min(lcm(*of_card.get(n, {1})), LARGEST + 1) for n in range(len(work.cards))],
        np.int64,
    )
