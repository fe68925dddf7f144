"""What the ledger must say: facts by (window, GPU, instance, pod), by rules.md N6, N7, N18-N23.

Goes through each GPU and window in elementary intervals: between two cuts nothing changes,
so one look at the left edge gives the state of the whole interval.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tests.oracle.division import divided
from tests.oracle.evidence import Evidence
from tests.oracle.holds import Hold
from tests.oracle.lifecycles import held_by_lifecycle
from tests.oracle.measures import Measures
from tests.oracle.samples import UTIL, WHOLE, WINDOW, Sample, window_of
from tests.oracle.seats import ESTIMATED, Seat, Share
from tests.oracle.setup import PLAIN, Setup

STATES = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")
HELD = STATES[:3]
Key = tuple[int, str, int, str]  # window start, GPU, instance, pod uid ("" = nobody)
Known = dict[int, tuple[tuple[object, ...], dict[Key, "Fact"]]]  # what was read, facts


@dataclass(frozen=True)
class Fact:
    """Milliseconds of the seven states, in order, and flags of its GPU, window and pod."""

    states: tuple[int, ...]
    flags: int


@dataclass
class Ledger:
    """Every fact that is not all zero, every hold, and held time by lifecycle."""

    facts: dict[Key, Fact] = field(default_factory=dict)
    holds: list[Hold] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)


def ledger(
    samples: Iterable[Sample], setup: Setup = PLAIN, known: Known | None = None
) -> Ledger:
    """The ledger of a fleet.

    Args:
        samples: all of them.
        setup: what a person set up of it.
        known: the windows of an earlier call. One of which all that is read is still the
            same, value by value, is not computed again; those that are get remembered.
    """
    return _Book(Evidence(samples, setup)).write({} if known is None else known)


class _Book(Measures):
    def write(self, known: Known) -> Ledger:
        book = Ledger(holds=self.holds)
        uuids = sorted({p.uuid for p in self.presences})
        first = min((p.start for p in self.presences), default=0)
        last = max((p.end for p in self.presences), default=0)
        for window in range(window_of(first), last, WINDOW):
            read = self._read_in(window)
            if window not in known or known[window][0] != read:
                known[window] = read, self._window(uuids, window)
            book.facts.update(known[window][1])
        held: dict[tuple[int, str], int] = defaultdict(int)
        for (window, uuid, _, _), fact in book.facts.items():
            held[window, uuid] += sum(fact.states[: len(HELD)])
        book.held = held_by_lifecycle(self.evidence, self.presences, held)
        return book

    def _read_in(self, window: int) -> tuple[object, ...]:
        """All that a window's facts are made of, as values.

        Of samples: those that count in it, with what they cover, and what they say of each
        pod. What covers, who holds and what is there is found anew each time, from all
        samples; of what lasts beyond the window only that it does is read.
        """
        end, evidence = window + WINDOW, self.evidence
        there = [p for p in self.presences if p.start < end and p.end > window]
        covers = {
            (n, track): self.covers(Seat(p, part), track).get(window)
            for n, p in enumerate(there)
            for part, track in self.of_gpu[p.uuid]
        }
        scrapes = {
            (track._replace(metric=UTIL), cover.at)
            for (_, track), found in covers.items()
            for cover in found or ()
        }
        return (
            [replace(p, end=min(p.end, end)) for p in there],
            [
                replace(h, end=min(h.end, end), ended=None, ended_by="", last=0)
                for h in self.holds
                if h.start < end and h.end > window
            ],
            [(a, min(b, end)) for a, b in evidence.seen if a < end and b > window],
            [self.geometries(p.uuid, window) for p in there],
            covers,
            {s: evidence.processes.get(s[0], {}).get(s[1]) for s in scrapes},
            {s: s[1] in evidence.devices.get(s[0], ()) for s in scrapes},
        )

    def _window(self, uuids: Sequence[str], window: int) -> dict[Key, Fact]:
        """The facts of a window."""
        found: dict[Key, Fact] = {}
        nodes = {p.node for p in self.presences}
        order = {node: self.fill_order(node, window) for node in nodes}
        for uuid in uuids:
            found.update(self._facts(uuid, window, order))
        return found

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
        for start, end in self.intervals(here, window):
            presence = next(p for p in here if p.start <= start < p.end)
            node = presence.node
            shares = self.shares(node, start, order[node])
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
        measured = self.measured(seat, window, at)
        is_believed = measured is not None and not self.is_suspect(seat, window)
        found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        free = whole - sum((s.share for s in shares), Fraction(0))
        activity = measured.utilization * whole if measured else Fraction(0)
        values = self.of_processes(measured, shares) if measured else None
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
