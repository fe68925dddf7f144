"""What is there on a node at a moment, and who holds which share of it (N6, N17, N18, N20).

A *seat* is a GPU or one of its instances while it is there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from tests.oracle.evidence import Evidence
from tests.oracle.holds import Hold, holds
from tests.oracle.presences import Presence, presences
from tests.oracle.samples import WHOLE, WINDOW, Part
from tests.oracle.units import part_share, slices_of

ESTIMATED, INFERRED = 1, 2


class Seat(NamedTuple):
    """A GPU, or an instance of it, on a node."""

    presence: Presence
    part: Part


@dataclass(frozen=True)
class Share:
    """A hold's share of a GPU at a moment."""

    hold: Hold
    share: Fraction
    flags: int
    is_mapped: bool


class Seats:
    """The seats of a fleet, and their holders."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.holds = holds(evidence)
        self.presences = presences(evidence)
        self.edges = {t for hold in self.holds for t in (hold.start, hold.end)}
        self.edges |= {
            h.inferred_from for h in self.holds if h.inferred_from is not None
        }
        self.edges |= {t for p in self.presences for t in (p.start, p.end)}
        for shown in evidence.parts.values():
            self.edges |= self._geometry_changes(shown)
        self.parts = cache(self._parts)
        self.here = cache(self._here)
        self.pools = cache(self._pools)
        self.mapped = cache(self._mapped)
        self.changes = cache(self._changes)

    # --- geometry (rules.md "MIG") ---------------------------------------------------

    @staticmethod
    def _geometry_changes(shown: Mapping[int, set[Part]]) -> set[int]:
        times = sorted(shown)
        pairs = zip(times, times[1:], strict=False)
        return {at for before, at in pairs if shown[before] != shown[at]}

    def _parts(self, uuid: str, at: int) -> list[tuple[Part, Fraction]]:
        """The instances of a GPU at a moment with their shares; else the whole of it."""
        shown = self.evidence.parts.get(uuid, {})
        before = [t for t in shown if t <= at]
        if not before or not shown[max(before)]:
            return [(WHOLE, Fraction(1))]
        slices = slices_of(self.evidence.models[uuid])
        return [
            (part, part_share(part.profile, slices))
            for part in sorted(shown[max(before)])
        ]

    def geometries(self, uuid: str, window: int) -> tuple[object, ...]:
        """All that is said of a GPU's instances in a window."""
        shown = self.evidence.parts.get(uuid, {})
        inside = {at: shown[at] for at in shown if window <= at < window + WINDOW}
        return self.evidence.models.get(uuid), self.parts(uuid, window), inside

    # --- who holds what (N17, N18, N20) ----------------------------------------------

    def _here(self, node: str, at: int) -> dict[Seat, Fraction]:
        """What is there on a node, with its share of a GPU."""
        return {
            Seat(p, part): share
            for p in self.presences
            if p.node == node and p.start <= at < p.end
            for part, share in self.parts(p.uuid, at)
        }

    def _mapped(self, node: str, at: int) -> dict[Seat, dict[int, Fraction]]:
        """By seat: the holds (by position) that labels give it, with their shares."""
        here = {(s.presence.uuid, s.part): s for s in self.here(node, at)}
        found: dict[Seat, dict[int, Fraction]] = defaultdict(
            lambda: defaultdict(Fraction)
        )
        for i, hold in enumerate(self.holds):
            if hold.node == node and hold.start <= at < hold.end:
                for place in hold.places:
                    seat = here.get((place.uuid, place.part))
                    if seat is not None:
                        found[seat][i] += hold.share
        return found

    def _pools(self, node: str, at: int) -> dict[str, dict[int, Fraction]]:
        """By kind: the holds whose units have no seat, with the shares that they want."""
        here = {(s.presence.uuid, s.part) for s in self.here(node, at)}
        found: dict[str, dict[int, Fraction]] = defaultdict(dict)
        for i, hold in enumerate(self.holds):
            if hold.node == node and hold.start <= at < hold.end:
                seated = sum((p.uuid, p.part) in here for p in hold.places)
                if hold.units > seated:
                    found[hold.kind][i] = (hold.units - seated) * hold.share
        return {kind: found[kind] for kind in sorted(found)}

    def _rooms(self, node: str, at: int) -> dict[Seat, Fraction]:
        """What is not mapped of each seat."""
        mapped = self.mapped(node, at)
        return {
            seat: share - sum(mapped.get(seat, {}).values(), Fraction(0))
            for seat, share in self.here(node, at).items()
        }

    @staticmethod
    def _suits(seat: Seat, kind: str) -> bool:
        """True when a pool may fill a seat: an instance of its profile, or no instance."""
        return seat.part == WHOLE or seat.part.profile == kind

    def _holders(self, seat: Seat, at: int) -> frozenset[int]:
        """Those for whom a sample of a GPU speaks (N6)."""
        node = seat.presence.node
        found = set(self.mapped(node, at).get(seat, {}))
        if self._rooms(node, at)[seat] > 0:
            for kind, pool in self.pools(node, at).items():
                if self._suits(seat, kind):
                    found |= set(pool)
        return frozenset(found)

    def _changes(self, seat: Seat) -> list[int]:
        """Where the holders of a seat change while it is there."""
        start, end = seat.presence.start, seat.presence.end
        found, before = [], None
        for at in sorted({start, *(t for t in self.edges if start < t < end)}):
            is_there = seat in self.here(seat.presence.node, at)
            now = self._holders(seat, at) if is_there else None
            if now != before and now is not None and before is not None:
                found.append(at)
            before = now
        return found

    def shares(
        self, node: str, at: int, order: Sequence[Seat]
    ) -> dict[Seat, list[Share]]:
        """Who has which share of every seat of a node; pools fill by `order` (N18)."""
        found: dict[Seat, list[Share]] = defaultdict(list)
        room = self._rooms(node, at)
        for seat, shares in self.mapped(node, at).items():
            whole, total = self.here(node, at)[seat], sum(shares.values(), Fraction(0))
            scale = max(Fraction(1), total / whole)
            flag = ESTIMATED if scale > 1 else 0
            for i, share in shares.items():
                kept = flag | _kept(self.holds[i], at)
                found[seat].append(Share(self.holds[i], share / scale, kept, True))
        for kind, pool in self.pools(node, at).items():
            seats = [s for s in order if room.get(s, 0) > 0 and self._suits(s, kind)]
            wanted = sum(pool.values(), Fraction(0))
            is_over = bool(seats) and wanted > sum(room[s] for s in seats)
            flag = INFERRED | (ESTIMATED if len(pool) > 1 or is_over else 0)
            left = wanted
            for seat in seats:
                take = min(room[seat], left)
                room[seat] -= take
                left -= take
                if take:
                    found[seat] += [
                        Share(self.holds[i], take * units / wanted, flag, False)
                        for i, units in pool.items()
                    ]
        return {seat: _together(shares) for seat, shares in found.items()}


def _together(shares: Iterable[Share]) -> list[Share]:
    """One share for each hold: some of its units may be mapped and others not."""
    found: dict[int, Share] = {}
    for each in shares:
        one = found.get(id(each.hold), Share(each.hold, Fraction(0), 0, False))
        found[id(each.hold)] = Share(
            each.hold,
            one.share + each.share,
            one.flags | each.flags,
            one.is_mapped or each.is_mapped,
        )
    return list(found.values())


def _kept(hold: Hold, at: int) -> int:
    """Flag of time that only a label speaks for (N13)."""
    return (
        INFERRED if hold.inferred_from is not None and hold.inferred_from <= at else 0
    )
