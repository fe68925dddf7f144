"""Which GPUs were there, and when, by rules.md N14-N16 and N40."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.oracle.evidence import Evidence
from tests.oracle.samples import SECOND
from tests.oracle.steps import is_near, union, validity

HOUR = 3600 * SECOND


@dataclass(frozen=True)
class Presence:
    """A GPU, or a placeholder, on a node in [start, end)."""

    uuid: str
    node: str
    start: int
    end: int
    is_placeholder: bool = False


@dataclass(frozen=True)
class Life:
    """One node object; `end` None while it is there (N11)."""

    first: int
    last: int
    step: int
    end: int | None


def lives_of(evidence: Evidence, node: str) -> list[Life]:
    """The objects that a node name stood for."""
    seen = evidence.objects.get(node, {})
    lives: list[Life] = []
    first = None
    times = sorted(seen)
    scrapes = evidence.lacking(seen) if seen else ()
    for at, following in zip(times, [*times[1:], None], strict=False):
        first = at if first is None else first
        step = evidence.step_of_scrapers(seen[at], at)
        is_lacking = any(at < t and (not following or t < following) for t in scrapes)
        if following is not None and (is_near(following - at, step) or not is_lacking):
            continue
        lives.append(Life(first, at, step, at + step if is_lacking else None))
        first = None
    return lives


# --- presence ----------------------------------------------------------------------


class _Presences:
    """Plays one node's samples in time (N14, N15)."""

    def __init__(self, evidence: Evidence, node: str) -> None:
        self.node, self.evidence = node, evidence
        self.lives = lives_of(evidence, node)
        self.here: dict[str, tuple[int, int, int]] = {}  # start, last, step
        self.done: list[Presence] = []
        self.counts = evidence.gpu_counts(node)
        self.own: dict[int, dict[str, int]] = defaultdict(dict)  # steps by time, UUID
        self.elsewhere: dict[int, set[str]] = defaultdict(set)
        for proof in evidence.proofs:
            if proof.node == node:
                self.own[proof.at][proof.uuid] = proof.step
            else:
                self.elsewhere[proof.at].add(proof.uuid)

    def replay(self) -> list[Presence]:
        moments = set(self.own) | set(self.elsewhere)
        moments |= {life.first for life in self.lives}
        moments |= set(self.counts)
        for at, steps in self.own.items():  # the first moment of silence
            moments |= {at + 3 * step // 2 + 1 for step in steps.values()}
        for at in sorted(moments | {self.evidence.end}):
            if at > self.evidence.end:
                break
            self._silences(at)
            own = self.own.get(at, {})
            for uuid, step in own.items():
                start = self.here[uuid][0] if uuid in self.here else at
                self.here[uuid] = (start, at, step)
            for uuid in sorted(self.elsewhere.get(at, set()) - set(own)):
                if uuid in self.here:
                    _, last, step = self.here[uuid]
                    self._leave(uuid, min(last + step, at))
            self._too_many(at)
        for uuid, (start, _, _) in self.here.items():
            self.done.append(Presence(uuid, self.node, start, self.evidence.end))
        return self.done

    def _leave(self, uuid: str, end: int) -> None:
        start = self.here.pop(uuid)[0]
        self.done.append(Presence(uuid, self.node, start, end))

    def _silences(self, at: int) -> None:
        """End what its node object took along, or an hour of silence."""
        before = [life for life in self.lives if life.first < at]
        for uuid, (_, last, step) in list(self.here.items()):
            mine = [life for life in before if life.first <= last] or before[:1]
            object_ = mine[-1] if mine else None
            if object_ is None:
                if at - last > HOUR:
                    self._leave(uuid, last + step)
            elif object_.end is not None and at > object_.last:
                proofs = ((last, step), (object_.last, object_.step))
                if not any(is_near(at - proof, after) for proof, after in proofs):
                    self._leave(uuid, sum(max(proofs)))

    def _too_many(self, at: int) -> None:
        """End the longest silent UUIDs beyond what the capacity ever stood for."""
        known = [count for when, count in self.counts.items() if when <= at]
        silent = sorted(
            (last, uuid, step)
            for uuid, (_, last, step) in self.here.items()
            if not is_near(at - last, step)
        )
        while known and silent and len(self.here) > max(known):
            last, uuid, step = silent.pop(0)
            self._leave(uuid, last + step)


def presences(evidence: Evidence) -> list[Presence]:
    """Every GPU and placeholder, clipped to where the data end."""
    nodes = {p.node for p in evidence.proofs} | set(evidence.objects)
    found: list[Presence] = []
    for node in sorted(nodes):
        if _is_nobodys(evidence, node):
            continue
        real = _with_room(evidence, node, _Presences(evidence, node).replay())
        found += [p for p in real if p.start < p.end]
        found += _placeholders(evidence, node, found)
    until = evidence.retired
    if until is None:
        return found
    return [replace(p, end=min(p.end, until)) for p in found if p.start < until]


def _is_nobodys(evidence: Evidence, node: str) -> bool:
    """True for a node that kube-state does not show within an hour, and it shows others."""
    if node in evidence.objects or not evidence.objects:
        return False
    proofs = [proof for proof in evidence.proofs if proof.node == node]
    for uuid in {proof.uuid for proof in proofs}:
        steps = {proof.at: proof.step for proof in proofs if proof.uuid == uuid}
        times = sorted(steps)
        there = union(
            (at, at + validity(at, following, steps[at]))
            for at, following in zip(times, [*times[1:], None], strict=True)
        )
        together = sum(
            max(0, min(end, seen_end) - max(start, seen_start))
            for start, end in there
            for seen_start, seen_end in evidence.seen
        )
        if together >= HOUR:
            return True
    return False


def _with_room(evidence: Evidence, node: str, real: list[Presence]) -> list[Presence]:
    """At no time more UUIDs than the capacity ever stood for (N40).

    The first ones; of a node that was replaced under its name, first those that came with it.
    """
    most = max(evidence.gpu_counts(node).values(), default=0)
    if not most:
        return real
    first: dict[str, int] = {}
    for proof in evidence.proofs:
        if proof.node == node:
            first[proof.uuid] = min(proof.at, first.get(proof.uuid, proof.at))
    replaced = [life.first for life in lives_of(evidence, node)][1:]
    cuts = sorted({p.start for p in real} | {p.end for p in real} | {*replaced})
    parts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for start, end in zip(cuts, cuts[1:], strict=False):
        there = {p.uuid for p in real if p.start <= start < p.end}
        newest = max((at for at in replaced if at <= start), default=0)
        ranks = {uuid: (first[uuid] < newest, first[uuid], uuid) for uuid in there}
        for uuid in sorted(there, key=ranks.__getitem__)[:most]:
            parts[uuid].append((start, end))
    return [
        Presence(uuid, node, start, end)
        for uuid, found in parts.items()
        for start, end in union(found)
    ]


def _placeholders(
    evidence: Evidence, node: str, real: Iterable[Presence]
) -> list[Presence]:
    """Stand-ins for GPUs that no UUID has been seen of (N16)."""
    capacity = evidence.gpu_counts(node)
    real = [p for p in real if p.node == node]
    found = []
    for life in lives_of(evidence, node):
        inside = sorted(t for t in capacity if life.first <= t <= life.last)
        if not inside:
            continue
        end = evidence.end if life.end is None else min(life.end, evidence.end)
        edges = {
            inside[0],
            end,
            *inside,
            *(p.start for p in real),
            *(p.end for p in real),
        }
        cuts = sorted(t for t in edges if inside[0] <= t <= end)
        for n in range(max(capacity[t] for t in inside)):
            start = None
            for at in cuts:
                latest = capacity[max(t for t in inside if t <= at)]
                here = sum(p.start <= at < p.end for p in real)
                is_there = at < end and here <= n < latest
                if is_there and start is None:
                    start = at
                elif not is_there and start is not None:
                    found.append(Presence(f"{node}/{n}", node, start, at, True))
                    start = None
    return found
