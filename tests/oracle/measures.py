"""What was measured of a seat: its metric, and what its samples say (N3, N5-N7, N21, N22)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from tests.oracle.evidence import Evidence
from tests.oracle.holds import names
from tests.oracle.presences import Presence
from tests.oracle.samples import (
    ENGINE,
    LIMIT,
    POWER,
    UTIL,
    WHOLE,
    WINDOW,
    Part,
    Track,
    window_of,
)
from tests.oracle.seats import Seat, Seats, Share
from tests.oracle.steps import is_near, validity

READ = (ENGINE, UTIL, POWER, LIMIT)  # other metrics are proofs of presence only


class Measured(NamedTuple):
    """A utilization in force, and the sample that says so."""

    utilization: Fraction
    track: Track
    at: int


class Cover(NamedTuple):
    """Where a sample counts: [start, end), its utilization and its own time."""

    start: int
    end: int
    utilization: Fraction
    at: int


class Measures(Seats):
    """The samples of every seat."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self.tracks: dict[tuple[str, Part], list[Track]] = defaultdict(list)
        self.of_gpu: dict[str, list[tuple[Part, Track]]] = defaultdict(list)
        for track in (t for t in evidence.values if t.metric in READ):
            self.tracks[track.uuid, track.part].append(track)
            self.of_gpu[track.uuid].append((track.part, track))
        self.metric = cache(self._metric)
        self.covers = cache(self._covers)
        self.ranked = cache(self._tracks_of)
        self.inside = cache(self._inside)
        self.is_suspect = cache(self._is_suspect)
        self.cuts = sorted(self.edges | {t for span in evidence.seen for t in span})

    def _tracks_of(
        self, uuid: str, part: Part, metric: str, window: int
    ) -> list[Track]:
        """Tracks with data, the one with most samples in the window first (N3)."""
        tracks = [t for t in self.tracks[uuid, part] if t.metric == metric]
        return sorted(tracks, key=lambda t: (-len(self.inside(t, window)), t.scraper))

    def _inside(self, track: Track, window: int) -> list[int]:
        """When a track has data in a window."""
        times = self.evidence.times(track)
        return times[bisect_left(times, window) : bisect_left(times, window + WINDOW)]

    def _metric(self, seat: Seat, window: int) -> str | None:
        """The metric of a GPU and window; never utilisation on MIG (N7)."""
        uuid, part = seat.presence.uuid, seat.part
        metrics = (ENGINE, UTIL) if part == WHOLE else (ENGINE,)
        counts = {
            metric: sum(
                len(self.inside(t, window))
                for t in self.tracks[uuid, part]
                if t.metric == metric
            )
            for metric in metrics
        }
        if any(counts.values()):
            return ENGINE if 2 * counts[ENGINE] >= counts.get(UTIL, 0) else UTIL
        for metric in metrics:
            tracks = self.ranked(uuid, part, metric, window)
            if any(self.covers(seat, track).get(window) for track in tracks):
                return metric
        return None

    def _covers(self, seat: Seat, track: Track) -> dict[int, list[Cover]]:
        """What each sample covers: forward (N5), cut and back (N6); by window touched."""
        times = self.evidence.times(track)
        changes = self.changes(seat)
        found: dict[int, list[Cover]] = defaultdict(list)
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
            cover = Cover(start, end, self.evidence.value(track, at), at)
            for window in range(window_of(start), end, WINDOW):
                found[window].append(cover)
        return found

    def measured(self, seat: Seat, window: int, at: int) -> Measured | None:
        """The measured utilization at a moment; None where nothing valid speaks of it."""
        metric = self.metric(seat, window)
        if metric is None:
            return None
        for track in self.ranked(seat.presence.uuid, seat.part, metric, window):
            for cover in self.covers(seat, track).get(window, ()):
                if cover.start <= at < cover.end:
                    return Measured(cover.utilization, track, cover.at)
        return None

    def _is_suspect(self, seat: Seat, window: int) -> bool:
        """Zeros that nobody should believe (N21)."""
        metric = self.metric(seat, window)
        if metric is None:
            return False
        uuid, part = seat.presence.uuid, seat.part
        track = self.ranked(uuid, part, metric, window)[0]
        values = [self.evidence.value(track, at) for at in self.inside(track, window)]
        if len(values) < 5 or any(values):
            return False
        util, power, limit = (
            [
                Fraction(self.evidence.values[t][at][1])
                for t in self.tracks[uuid, part]
                if t.metric == name
                for at in self.inside(t, window)
            ]
            for name in (UTIL, POWER, LIMIT)
        )
        if util and sum(util) / len(util) >= 2 * 10**8:
            return True
        return bool(part == WHOLE and power and limit) and (
            2 * sum(power) / len(power) > sum(limit) / len(limit)
        )

    def of_processes(
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

    def intervals(self, here: Sequence[Presence], window: int) -> list[tuple[int, int]]:
        """The parts of a window in which nothing changes for a GPU that is there."""
        low = bisect_left(self.cuts, window)
        cuts = {window, window + WINDOW}
        cuts |= set(self.cuts[low : bisect_left(self.cuts, window + WINDOW)])
        for presence in here:
            for part, track in self.of_gpu[presence.uuid]:
                for cover in self.covers(Seat(presence, part), track).get(window, ()):
                    cuts |= {cover.start, cover.end}
        inside = sorted(t for t in cuts if window <= t <= window + WINDOW)
        return [
            (start, end)
            for start, end in zip(inside, inside[1:], strict=False)
            if any(p.start <= start < p.end for p in here)
        ]

    def fill_order(self, node: str, window: int) -> list[Seat]:
        """Seats of a node, the busiest of the window first (N18)."""
        busy: dict[Seat, Fraction] = defaultdict(Fraction)
        for presence in (p for p in self.presences if p.node == node):
            for start, end in self.intervals([presence], window):
                for part, share in self.parts(presence.uuid, start):
                    seat = Seat(presence, part)
                    said = self.measured(seat, window, start)
                    utilization = said.utilization if said else Fraction(0)
                    busy[seat] += utilization * share * (end - start)
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


def _natural(uuid: str) -> tuple[str, int]:
    """Placeholders in the order of their number."""
    node, _, number = uuid.rpartition("/")
    return (node, int(number)) if node else (uuid, 0)
