"""What the ledger must say: facts by (window, GPU, instance, pod), by rules.md N6, N7, N18-N23.

Goes through each GPU and window in elementary intervals: between two cuts nothing changes,
so one look at the left edge gives the state of the whole interval. A *seat* is a GPU or
one of its instances while it is there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from tests.oracle.division import divided
from tests.oracle.evidence import Evidence
from tests.oracle.holds import Hold, holds, names
from tests.oracle.presences import Presence, presences
from tests.oracle.samples import (
    ENGINE,
    LIMIT,
    POWER,
    UTIL,
    WHOLE,
    WINDOW,
    Part,
    Sample,
    Track,
    window_of,
)
from tests.oracle.steps import is_near, validity
from tests.oracle.units import part_share, slices_of

STATES = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")
ESTIMATED, INFERRED = 1, 2
Key = tuple[int, str, int, str]  # window start, GPU, instance, pod uid ("" = nobody)


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


class Measured(NamedTuple):
    """A duty in force, and the sample that says so."""

    duty: Fraction
    track: Track
    at: int


@dataclass(frozen=True)
class Fact:
    """Milliseconds of the seven states, in order, and flags of its GPU, window and pod."""

    states: tuple[int, ...]
    flags: int


@dataclass
class Ledger:
    """Every fact that is not all zero, and every hold."""

    facts: dict[Key, Fact] = field(default_factory=dict)
    holds: list[Hold] = field(default_factory=list)


def ledger(samples: Iterable[Sample], interval: int | None = None) -> Ledger:
    """The ledger of a fleet; `interval` in seconds where its source declares one."""
    return _Book(Evidence(samples, interval)).write()


class _Book:
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
        self.tracks: dict[tuple[str, Part], list[Track]] = defaultdict(list)
        for track in evidence.values:
            self.tracks[track.uuid, track.part].append(track)
        self.changes = cache(self._changes)
        self.metric = cache(self._metric)
        self.covers = cache(self._covers)
        self.ranked = cache(self._tracks_of)

    def write(self) -> Ledger:
        book = Ledger(holds=self.holds)
        uuids = sorted({p.uuid for p in self.presences})
        first = min((p.start for p in self.presences), default=0)
        last = max((p.end for p in self.presences), default=0)
        for window in range(window_of(first), last, WINDOW):
            order = {
                node: self._fill_order(node, window)
                for node in {p.node for p in self.presences}
            }
            for uuid in uuids:
                book.facts.update(self._facts(uuid, window, order))
        return book

    # --- geometry (fine print MIG) ---------------------------------------------------

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

    # --- who holds what (N17, N18, N20) ----------------------------------------------

    def _here(self, node: str, at: int) -> dict[Seat, Fraction]:
        """What is there on a node, with its share of a GPU."""
        return {
            Seat(p, part): share
            for p in self.presences
            if p.node == node and p.start <= at < p.end
            for part, share in self.parts(p.uuid, at)
        }

    def _active(self, node: str, at: int) -> list[Hold]:
        return [h for h in self.holds if h.node == node and h.start <= at < h.end]

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

    def _shares(
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

    def _fill_order(self, node: str, window: int) -> list[Seat]:
        """Seats of a node, the busiest of the window first (N18)."""
        busy: dict[Seat, Fraction] = defaultdict(Fraction)
        for presence in (p for p in self.presences if p.node == node):
            for start, end in self._intervals([presence], window):
                for part, share in self.parts(presence.uuid, start):
                    seat = Seat(presence, part)
                    said = self._measured(seat, window, start)
                    duty = said.duty if said else Fraction(0)
                    busy[seat] += duty * share * (end - start)
        total: dict[tuple[str, Part], Fraction] = defaultdict(Fraction)
        for seat, amount in busy.items():
            total[seat.presence.uuid, seat.part] += amount
        return sorted(
            busy,
            key=lambda s: (
                s.presence.is_placeholder,
                -total[s.presence.uuid, s.part],
                _natural(s.presence.uuid),
                s.part,
            ),
        )

    # --- what was measured (N3, N5, N6, N7) ------------------------------------------

    def _tracks_of(
        self, uuid: str, part: Part, metric: str, window: int
    ) -> list[Track]:
        """Tracks with data, the one with most samples in the window first (N3)."""
        tracks = [t for t in self.tracks[uuid, part] if t.metric == metric]
        return sorted(tracks, key=lambda t: (-len(self._in(t, window)), t.scraper))

    def _in(self, track: Track, window: int) -> list[int]:
        times = self.evidence.times(track)
        return [at for at in times if window <= at < window + WINDOW]

    def _metric(self, seat: Seat, window: int) -> str | None:
        """The metric of a GPU and window; never utilisation on MIG (N7)."""
        uuid, part = seat.presence.uuid, seat.part
        metrics = (ENGINE, UTIL) if part == WHOLE else (ENGINE,)
        counts = {
            metric: sum(
                len(self._in(t, window))
                for t in self.tracks[uuid, part]
                if t.metric == metric
            )
            for metric in metrics
        }
        if any(counts.values()):
            return ENGINE if 2 * counts[ENGINE] >= counts.get(UTIL, 0) else UTIL
        for metric in metrics:
            if any(
                start < window + WINDOW and end > window
                for track in self.ranked(uuid, part, metric, window)
                for start, end, _, _ in self.covers(seat, track)
            ):
                return metric
        return None

    def _covers(self, seat: Seat, track: Track) -> list[tuple[int, int, Fraction, int]]:
        """[start, end), duty and time of each sample: forward (N5), cut and back (N6)."""
        times = self.evidence.times(track)
        changes = self.changes(seat)
        found = []
        for i, at in enumerate(times):
            step = self.evidence.step(track, at)
            following = times[i + 1] if i + 1 < len(times) else None
            end = at + validity(at, following, step)
            end = min([end, *(c for c in changes if c > at)])
            start = at
            before = times[i - 1] if i else -1
            first = [c for c in changes if before < c <= at]
            if first and is_near(at - first[-1], step):
                start = first[-1]
            found.append((start, end, self.evidence.value(track, at), at))
        return found

    def _measured(self, seat: Seat, window: int, at: int) -> Measured | None:
        """The measured duty at a moment; None where nothing valid speaks of it."""
        metric = self.metric(seat, window)
        if metric is None:
            return None
        for track in self.ranked(seat.presence.uuid, seat.part, metric, window):
            for start, end, duty, when in self.covers(seat, track):
                if start <= at < end:
                    return Measured(duty, track, when)
        return None

    def _is_suspect(self, seat: Seat, window: int) -> bool:
        """Zeros that nobody should believe (N21)."""
        metric = self.metric(seat, window)
        if metric is None:
            return False
        uuid, part = seat.presence.uuid, seat.part
        track = self.ranked(uuid, part, metric, window)[0]
        values = [self.evidence.value(track, at) for at in self._in(track, window)]
        if len(values) < 5 or any(values):
            return False
        util, power, limit = (
            [
                Fraction(self.evidence.values[t][at][1])
                for t in self.tracks[uuid, part]
                if t.metric == name
                for at in self._in(t, window)
            ]
            for name in (UTIL, POWER, LIMIT)
        )
        if util and sum(util) / len(util) >= 2 * 10**8:
            return True
        return bool(power and limit) and (
            2 * sum(power) / len(power) > sum(limit) / len(limit)
        )

    def _of_processes(
        self, measured: Measured, shares: Sequence[Share]
    ) -> list[Fraction] | None:
        """Values of each holder from the scrape in force, where there are any (N22)."""
        track = measured.track._replace(metric=UTIL)
        if measured.at not in self.evidence.devices.get(track, ()):
            return None
        values = self.evidence.processes.get(track, {}).get(measured.at, {})
        found = [
            max(
                (Fraction(v) for name, v in values.items() if names(name, s.hold)),
                default=Fraction(0),
            )
            for s in shares
        ]
        return found if any(found) else None

    # --- one GPU and window (N21-N23) ------------------------------------------------

    def _intervals(
        self, here: Sequence[Presence], window: int
    ) -> list[tuple[int, int]]:
        """The parts of a window in which nothing changes for a GPU that is there."""
        cuts = {window, window + WINDOW, *self.edges}
        cuts |= {t for span in self.evidence.seen for t in span}
        for presence in here:
            for (uuid, part), tracks in list(self.tracks.items()):
                for track in tracks if uuid == presence.uuid else ():
                    for start, end, _, _ in self.covers(Seat(presence, part), track):
                        cuts |= {start, end}
        inside = sorted(t for t in cuts if window <= t <= window + WINDOW)
        return [
            (start, end)
            for start, end in zip(inside, inside[1:], strict=False)
            if any(p.start <= start < p.end for p in here)
        ]

    def _facts(
        self, uuid: str, window: int, order: Mapping[str, Sequence[Seat]]
    ) -> dict[Key, Fact]:
        """The lines of one GPU and window, rounded once to its presence."""
        here = [
            p
            for p in self.presences
            if p.uuid == uuid and p.start < window + WINDOW and p.end > window
        ]
        exact: dict[tuple[int, str, int], Fraction] = defaultdict(Fraction)
        flags: dict[str, int] = defaultdict(int)
        for start, end in self._intervals(here, window):
            presence = next(p for p in here if p.start <= start < p.end)
            node = presence.node
            shares = self._shares(node, start, order[node])
            left = Fraction(1)
            for part, whole in self.parts(uuid, start):
                seat = Seat(presence, part)
                left -= whole
                for (uid, state), share in self._states(
                    seat, window, start, whole, shares.get(seat, []), flags
                ).items():
                    key = (part.number, uid, STATES.index(state))
                    exact[key] += share * (end - start)
            if left:
                exact[WHOLE.number, "", STATES.index("stranded")] += left * (
                    end - start
                )
        whole_ms = rounded(exact)
        return {
            (window, uuid, number, uid): Fact(
                tuple(whole_ms.get((number, uid, i), 0) for i in range(len(STATES))),
                flags[uid],
            )
            for number, uid in {key[:2] for key, ms in whole_ms.items() if ms}
        }

    def _states(
        self,
        seat: Seat,
        window: int,
        at: int,
        whole: Fraction,
        shares: Sequence[Share],
        flags: dict[str, int],
    ) -> dict[tuple[str, str], Fraction]:
        """Shares of a GPU at a moment by (pod, state); they add up to the seat's (N21)."""
        measured = self._measured(seat, window, at)
        is_believed = measured is not None and not self._is_suspect(seat, window)
        found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        free = whole - sum((s.share for s in shares), Fraction(0))
        activity = measured.duty * whole if measured else Fraction(0)
        values = self._of_processes(measured, shares) if measured else None
        busy, excess = divided(activity, [s.share for s in shares], values)
        is_divided = is_believed and len(shares) > 1 and values is None
        has_mapped = any(s.is_mapped for s in shares)
        for each, used in zip(shares, busy, strict=True):
            uid = each.hold.uid
            by_rule = ESTIMATED if is_divided and has_mapped else 0
            flags[uid] |= each.flags | by_rule
            if is_believed:
                found[uid, "busy"] += used
                found[uid, "idle"] += each.share - used
            else:
                found[uid, "unknown"] += each.share
        if not self.evidence.is_seen(at):
            found["", "dark"] += free
        else:
            stray = min(free, excess)
            found["", "stray"] += stray
            found["", "free"] += free - stray
        return found


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


def _natural(uuid: str) -> tuple[str, int]:
    """Placeholders in the order of their number."""
    node, _, number = uuid.rpartition("/")
    return (node, int(number)) if node else (uuid, 0)


Cell = tuple[int, str, int]  # instance, pod uid, state


def rounded(exact: dict[Cell, Fraction]) -> dict[Cell, int]:
    """Whole milliseconds with the same sum: largest remainder, ties by key (N23)."""
    whole = {key: int(value) for key, value in exact.items()}
    missing = sum(exact.values(), Fraction(0)) - sum(whole.values())
    assert missing.denominator == 1
    by_remainder = sorted(exact, key=lambda key: (whole[key] - exact[key], key))
    for key in by_remainder[: int(missing)]:
        whole[key] += 1
    return whole
