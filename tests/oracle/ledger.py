"""What the ledger must say: facts by (window, GPU, pod), by rules.md N6, N7, N18-N23.

Goes through each GPU and window in elementary intervals: between two cuts nothing changes,
so one look at the left edge gives the state of the whole interval.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from tests.oracle.evidence import (
    ENGINE,
    LIMIT,
    POWER,
    UTIL,
    WINDOW,
    Evidence,
    Sample,
    Track,
    is_near,
    validity,
    window_of,
)
from tests.oracle.holds import Hold, Presence, holds, presences

STATES = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")
ESTIMATED, INFERRED = 1, 2
Key = tuple[int, str, str]  # window start, GPU, pod uid ("" = nobody)


@dataclass(frozen=True)
class Part:
    """A hold's share of a GPU at a moment."""

    hold: Hold
    share: Fraction
    flags: int


@dataclass(frozen=True)
class Fact:
    """Milliseconds of the seven states, in order, and flags."""

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
        self.changes = {p: self._changes(p) for p in self.presences}
        self.tracks: dict[str, list[Track]] = defaultdict(list)
        for track in evidence.values:
            self.tracks[track.uuid].append(track)
        self.metric = cache(self._metric)
        self.covers = cache(self._covers)
        self.ranked = cache(self._tracks_of)

    def write(self) -> Ledger:
        book = Ledger(holds=self.holds)
        uuids = sorted({p.uuid for p in self.presences})
        first = min((p.start for p in self.presences), default=0)
        last = max((p.end for p in self.presences), default=0)
        for window in range(window_of(first), last, WINDOW):
            ranked = {
                node: self._fill_order(node, window)
                for node in {p.node for p in self.presences}
            }
            for uuid in uuids:
                book.facts.update(self._facts(uuid, window, ranked))
        return book

    # --- who holds what (N17, N18, N20) ----------------------------------------------

    def _active(self, node: str, at: int) -> list[Hold]:
        return [h for h in self.holds if h.node == node and h.start <= at < h.end]

    def _here(self, node: str, at: int) -> list[Presence]:
        return [p for p in self.presences if p.node == node and p.start <= at < p.end]

    def _pool(self, node: str, at: int) -> dict[str, int]:
        """Units without a GPU, by pod uid."""
        here = {p.uuid for p in self._here(node, at)}
        units = {
            h.uid: h.units - len(here & set(h.gpus)) for h in self._active(node, at)
        }
        return {uid: count for uid, count in units.items() if count}

    def _mapped(self, node: str, uuid: str, at: int) -> list[Hold]:
        return [hold for hold in self._active(node, at) if uuid in hold.gpus]

    def _holders(self, presence: Presence, at: int) -> frozenset[str]:
        """Those for whom a sample of a GPU speaks (N6)."""
        mapped = self._mapped(presence.node, presence.uuid, at)
        if mapped:
            return frozenset(hold.uid for hold in mapped)
        return frozenset(self._pool(presence.node, at))

    def _changes(self, presence: Presence) -> list[int]:
        """Where the holders of a GPU change while it is there."""
        inside = sorted(t for t in self.edges if presence.start < t < presence.end)
        found, before = [], self._holders(presence, presence.start)
        for at in inside:
            now = self._holders(presence, at)
            if now != before:
                found.append(at)
            before = now
        return found

    def _parts(self, node: str, uuid: str, at: int, order: Sequence[str]) -> list[Part]:
        """The shares of a GPU at a moment; what a pool fills goes by `order` (N18)."""
        mapped = self._mapped(node, uuid, at)
        if mapped:
            scaled = ESTIMATED if len(mapped) > 1 else 0
            share = Fraction(1, len(mapped))
            return [Part(h, share, scaled | _kept(h, at)) for h in mapped]
        here = {p.uuid for p in self._here(node, at)}
        rooms = [u for u in order if u in here and not self._mapped(node, u, at)]
        pool = self._pool(node, at)
        wanted = sum(pool.values())
        if uuid not in rooms[:wanted]:
            return []
        split = ESTIMATED if len(pool) > 1 or wanted > len(rooms) else 0
        return [
            Part(h, Fraction(pool[h.uid], wanted), INFERRED | split)
            for h in self._active(node, at)
            if h.uid in pool
        ]

    def _fill_order(self, node: str, window: int) -> list[str]:
        """GPUs of a node, the busiest of the window first (N18)."""
        busy: dict[str, Fraction] = defaultdict(Fraction)
        for presence in (p for p in self.presences if p.node == node):
            for start, end in self._intervals([presence], window):
                duty = self._duty(presence, window, start)
                busy[presence.uuid] += (duty or 0) * (end - start)
        placeholder = {p.uuid: p.is_placeholder for p in self.presences}
        return sorted(busy, key=lambda u: (placeholder[u], -busy[u], _natural(u)))

    # --- what was measured (N3, N5, N6, N7) ------------------------------------------

    def _tracks_of(self, uuid: str, metric: str, window: int) -> list[Track]:
        """Tracks with data, the one with most samples in the window first (N3)."""
        tracks = [t for t in self.tracks[uuid] if t.metric == metric]
        return sorted(tracks, key=lambda t: (-len(self._in(t, window)), t.scraper))

    def _in(self, track: Track, window: int) -> list[int]:
        times = self.evidence.times(track)
        return [at for at in times if window <= at < window + WINDOW]

    def _metric(self, presence: Presence, window: int) -> str | None:
        """The metric of a GPU and window (N7)."""
        counts = {
            metric: sum(
                len(self._in(t, window))
                for t in self.tracks[presence.uuid]
                if t.metric == metric
            )
            for metric in (ENGINE, UTIL)
        }
        if counts[ENGINE] or counts[UTIL]:
            return ENGINE if 2 * counts[ENGINE] >= counts[UTIL] else UTIL
        for metric in (ENGINE, UTIL):
            if any(
                start < window + WINDOW and end > window
                for track in self.ranked(presence.uuid, metric, window)
                for start, end, _ in self.covers(presence, track)
            ):
                return metric
        return None

    def _covers(
        self, presence: Presence, track: Track
    ) -> list[tuple[int, int, Fraction]]:
        """[start, end) and duty of each sample: forward (N5), cut and back (N6)."""
        times = self.evidence.times(track)
        changes = self.changes[presence]
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
            found.append((start, end, self.evidence.value(track, at)))
        return found

    def _duty(self, presence: Presence, window: int, at: int) -> Fraction | None:
        """The measured duty at a moment; None where nothing valid speaks of it."""
        metric = self.metric(presence, window)
        if metric is None:
            return None
        for track in self.ranked(presence.uuid, metric, window):
            for start, end, duty in self.covers(presence, track):
                if start <= at < end:
                    return duty
        return None

    def _is_suspect(self, presence: Presence, window: int) -> bool:
        """Zeros that nobody should believe (N21)."""
        metric = self.metric(presence, window)
        if metric is None:
            return False
        track = self.ranked(presence.uuid, metric, window)[0]
        values = [self.evidence.value(track, at) for at in self._in(track, window)]
        if len(values) < 5 or any(values):
            return False
        util, power, limit = (
            [
                Fraction(self.evidence.values[t][at][1])
                for t in self.tracks[presence.uuid]
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

    # --- one GPU and window (N21-N23) ------------------------------------------------

    def _intervals(
        self, here: Sequence[Presence], window: int
    ) -> list[tuple[int, int]]:
        """The parts of a window in which nothing changes for a GPU that is there."""
        cuts = {window, window + WINDOW, *self.edges}
        cuts |= {t for span in self.evidence.seen for t in span}
        for presence in here:
            for track in self.tracks[presence.uuid]:
                for start, end, _ in self.covers(presence, track):
                    cuts |= {start, end}
        inside = sorted(t for t in cuts if window <= t <= window + WINDOW)
        return [
            (start, end)
            for start, end in zip(inside, inside[1:], strict=False)
            if any(p.start <= start < p.end for p in here)
        ]

    def _facts(
        self, uuid: str, window: int, ranked: dict[str, list[str]]
    ) -> dict[Key, Fact]:
        """The lines of one GPU and window, rounded once to its presence."""
        here = [
            p
            for p in self.presences
            if p.uuid == uuid and p.start < window + WINDOW and p.end > window
        ]
        exact: dict[tuple[str, int], Fraction] = defaultdict(Fraction)
        flags: dict[str, int] = defaultdict(int)
        for start, end in self._intervals(here, window):
            presence = next(p for p in here if p.start <= start < p.end)
            parts = self._parts(presence.node, uuid, start, ranked[presence.node])
            for (uid, state), share in self._states(
                presence, window, start, parts
            ).items():
                exact[uid, STATES.index(state)] += share * (end - start)
            for part in parts:
                flags[part.hold.uid] |= part.flags
        whole = rounded(exact)
        return {
            (window, uuid, uid): Fact(
                tuple(whole.get((uid, i), 0) for i in range(len(STATES))), flags[uid]
            )
            for uid in {uid for (uid, _), ms in whole.items() if ms}
        }

    def _states(
        self, presence: Presence, window: int, at: int, parts: Sequence[Part]
    ) -> dict[tuple[str, str], Fraction]:
        """Shares of a GPU at a moment by (pod, state); they add up to 1 (N21)."""
        duty = self._duty(presence, window, at)
        is_suspect = self._is_suspect(presence, window)
        found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        free = 1 - sum((part.share for part in parts), Fraction(0))
        for part in parts:
            uid = part.hold.uid
            if duty is None or is_suspect:
                found[uid, "unknown"] += part.share
            else:
                found[uid, "busy"] += part.share * duty
                found[uid, "idle"] += part.share * (1 - duty)
        if not self.evidence.is_seen(at):
            found["", "dark"] += free
        else:
            found["", "stray"] += free * (duty or 0)
            found["", "free"] += free * (1 - (duty or 0))
        return found


def _kept(hold: Hold, at: int) -> int:
    """Flag of time that only a label speaks for (N13)."""
    return (
        INFERRED if hold.inferred_from is not None and hold.inferred_from <= at else 0
    )


def _natural(uuid: str) -> tuple[str, int]:
    """Placeholders in the order of their number."""
    node, _, number = uuid.rpartition("/")
    return (node, int(number)) if node else (uuid, 0)


def rounded(exact: dict[tuple[str, int], Fraction]) -> dict[tuple[str, int], int]:
    """Whole milliseconds with the same sum: largest remainder, ties by key (N23)."""
    whole = {key: int(value) for key, value in exact.items()}
    missing = sum(exact.values(), Fraction(0)) - sum(whole.values())
    assert missing.denominator == 1
    by_remainder = sorted(exact, key=lambda key: (whole[key] - exact[key], key))
    for key in by_remainder[: int(missing)]:
        whole[key] += 1
    return whole
