"""Which pod held which GPU of a node, at every moment of a period.

A node's time is cut into segments in which nothing changes: which GPUs are present and how
they are divided, which holds are active, whether kube-state is seen. GPUs (or instances)
whose samples name a pod are mapped to its hold (rules.md N17). Units without a GPU and GPUs
with unmapped shares form the node's pools, one for each kind of unit (N18), which
`pool_filling` fills window by window.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from operator import itemgetter

from accounting.core.interval import Interval
from accounting.metering.rules.attribution.segment import Segment, UnassignedUnits
from accounting.metering.rules.holds.derive import DerivedHolds
from accounting.metering.rules.holds.gpu_assignment import (
    NOT_CLAIMED,
    Place,
    claimed_parts,
    mapped_places,
)
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.presence_record import PresenceRecord
from accounting.metering.rules.inventory.labels import Ownership
from accounting.metering.rules.inventory.nodes import model_in
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.scraper_series import MAX_STEP_MS
from accounting.metering.rules.units.geometry import GpuPart, shares_of
from accounting.metering.rules.units.share_policy import (
    factors_of,
    memory_of,
    policy_at,
)

MARGIN_MS = 2 * MAX_STEP_MS  # a sample can cover time up to 1.5 steps away (N5, N6)


@dataclass(slots=True)
class NodeTimeline:
    """One node's segments, and the instants at which the holders of each part change.

    Attributes:
        presences: by GPU; clipped to the end of the data.
        inferred: by uid, the spans in which only labels show the hold (N13): one for each
            period in which kube-state was not seen.
        pods: (namespace, name) by uid, of its holds.
        whose: which labels name the exporter's own pod.
    """

    node: str
    segments: list[Segment]
    changes: dict[GpuPart, list[int]]
    presences: dict[str, list[Interval]]
    placeholders: frozenset[str]
    inferred: Mapping[str, Sequence[Interval]]
    pods: dict[str, tuple[str, str]] = field(default_factory=dict)
    whose: Ownership = field(default_factory=Ownership)
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [segment.period.start_ms for segment in self.segments]

    def within(self, period: Interval) -> list[Segment]:
        """The segments that overlap a period, in order."""
        first = max(0, bisect_right(self._starts, period.start_ms) - 1)
        last = bisect_left(self._starts, period.end_ms)
        return [
            segment
            for segment in self.segments[first:last]
            if segment.period.end_ms > period.start_ms
        ]

    def parts(self) -> list[GpuPart]:
        """Every part of its GPUs that is present at some time, in order."""
        return sorted({part for segment in self.segments for part in segment.parts})


def node_timelines(
    inventory: Inventory, derived: DerivedHolds, period: Interval, until_ms: int
) -> dict[str, NodeTimeline]:
    """The timelines of every node with a GPU in a period (with margins around it)."""
    wide = Interval(period.start_ms - MARGIN_MS, period.end_ms + MARGIN_MS)
    holds: dict[str, list[Hold]] = defaultdict(list)
    for hold in derived.holds:
        if hold.bound_ms < wide.end_ms and hold.booked_until_ms > wide.start_ms:
            holds[hold.node].append(hold)
    presences: dict[str, list[PresenceRecord]] = defaultdict(list)
    for presence in derived.presences:
        end = until_ms if presence.end_ms is None else presence.end_ms
        if presence.start_ms < wide.end_ms and end > wide.start_ms:
            presences[presence.node].append(presence)
    return {
        node: _NodeEvidence(
            node, here, holds[node], derived, inventory, wide, until_ms
        ).replay()
        for node, here in presences.items()
    }


@dataclass(slots=True)
class _NodeEvidence:
    """All evidence that determines one node's timeline."""

    node: str
    presences: Sequence[PresenceRecord]
    holds: Sequence[Hold]
    derived: DerivedHolds
    inventory: Inventory
    wide: Interval
    until_ms: int

    def replay(self) -> NodeTimeline:
        """The node's segments, cut at every change."""
        there = self._there()
        cuts = self._cuts(there)
        divisions = {uuid: self._divisions(uuid) for uuid in there}
        held = Counter(uid for uid, _ in {(h.uid, h.resource) for h in self.holds})
        # Not by uid: a pod that only labels show has a hold for each outage (N13).
        claimed = claimed_parts(self.holds)
        places = [
            mapped_places(
                hold,
                self.derived.labels_for(hold),
                is_only=held[hold.uid] == 1,
                claimed=claimed.get(hold.uid, NOT_CLAIMED),
            )
            for hold in self.holds
        ]
        segments = [
            self._segment(Interval(a, b), there, divisions, places)
            for a, b in pairwise(cuts)
        ]
        return NodeTimeline(
            node=self.node,
            segments=segments,
            changes=_changes(segments),
            presences=there,
            placeholders=frozenset(p.uuid for p in self.presences if p.is_placeholder),
            inferred=_inferred(self.holds),
            pods={hold.uid: (hold.namespace, hold.pod) for hold in self.holds},
            whose=self.derived.labels.whose,
        )

    def _there(self) -> dict[str, list[Interval]]:
        """When each GPU is present on the node, up to the end of the data."""
        there: dict[str, list[Interval]] = defaultdict(list)
        for presence in self.presences:
            end = presence.end_ms
            end = self.until_ms if end is None else min(end, self.until_ms)
            if presence.start_ms < end:
                there[presence.uuid].append(Interval(presence.start_ms, end))
        return dict(there)

    def _cuts(self, there: Mapping[str, list[Interval]]) -> list[int]:
        edges = {self.wide.start_ms, self.wide.end_ms}
        for periods in [*there.values(), list(self.derived.seen)]:
            for period in periods:
                edges.update((period.start_ms, period.end_ms))
        for hold in self.holds:
            edges.update((hold.bound_ms, hold.booked_until_ms))
            if hold.inferred_from_ms is not None:
                edges.add(hold.inferred_from_ms)
        for uuid in there:
            record = self.inventory.gpus.get(uuid)
            if record is not None:
                edges.update(at for at, _ in record.geometry)
        edges.update(at for at, _ in self.inventory.policies)
        return sorted(
            at for at in edges if self.wide.start_ms <= at <= self.wide.end_ms
        )

    def _divisions(self, uuid: str) -> "list[tuple[int, _Division]]":
        """How a GPU is divided, and from when on; undivided before the first entry."""
        record = self.inventory.gpus.get(uuid)
        if record is None or not record.geometry:
            return [(0, ({GpuPart(uuid): _ALL}, _NOTHING, {}))]
        model = model_in(record, self.inventory.nodes.get(self.node))
        found: list[tuple[int, _Division]] = [(0, (*shares_of(uuid, (), model), {}))]
        found.extend(
            (at, (*shares_of(uuid, it, model), memory_of(uuid, it, model)))
            for at, it in record.geometry
        )
        return found

    def _segment(
        self,
        period: Interval,
        there: Mapping[str, list[Interval]],
        divisions: "Mapping[str, list[tuple[int, _Division]]]",
        places: Sequence[Sequence[Place]],
    ) -> Segment:
        at = period.start_ms
        parts: dict[GpuPart, Fraction] = {}
        stranded: dict[str, Fraction] = {}
        factors: dict[GpuPart, Fraction] = {}
        policy = policy_at(self.inventory.policies, at)
        for uuid, periods in there.items():
            if any(p.contains(at) for p in periods):
                known = divisions[uuid]
                i = bisect_right(known, at, key=itemgetter(0)) if len(known) > 1 else 1
                shares, left, memory = known[i - 1][1]
                parts.update(shares)
                factors.update(factors_of(shares, memory, policy))
                if left:
                    stranded[uuid] = left
        mapped: dict[GpuPart, dict[str, Fraction]] = defaultdict(dict)
        pools: dict[str, list[UnassignedUnits]] = defaultdict(list)
        for hold, its_places in zip(self.holds, places, strict=True):
            if not hold.active_at(at):
                continue
            count = 0
            for part, _ in its_places:
                if part in parts:
                    count += 1
                    on = mapped[part]
                    on[hold.uid] = on.get(hold.uid, _NOTHING) + hold.share
            if hold.units > count:
                weight = (hold.units - count) * hold.share
                pools[hold.kind].append(UnassignedUnits(hold.uid, weight))
        return Segment(
            period=period,
            parts=parts,
            stranded=stranded,
            mapped={part: tuple(sorted(on.items())) for part, on in mapped.items()},
            pools={
                kind: tuple(sorted(pool, key=lambda item: item.uid))
                for kind, pool in pools.items()
            },
            is_seen=any(p.contains(at) for p in self.derived.seen),
            factors=factors,
        )


# parts, the share that they leave unused, and memory shares of the parts
_Division = tuple[Mapping[GpuPart, Fraction], Fraction, Mapping[GpuPart, Fraction]]
_ALL, _NOTHING = Fraction(1), Fraction(0)


def _inferred(holds: Iterable[Hold]) -> dict[str, list[Interval]]:
    """When only labels show that a pod holds, by uid (N13)."""
    found: dict[str, list[Interval]] = defaultdict(list)
    for hold in holds:
        start = hold.inferred_from_ms
        if start is not None and start < hold.booked_until_ms:
            found[hold.uid].append(Interval(start, hold.booked_until_ms))
    return dict(found)


def _changes(segments: Sequence[Segment]) -> dict[GpuPart, list[int]]:
    """Instants at which the set of a part's holders changes (N6).

    A part with an unmapped share in a pool counts as held by all holds of that pool, filled or not.
    The start of a presence or of a geometry is not a change.
    """
    last: dict[GpuPart, frozenset[str]] = {}
    changes: dict[GpuPart, list[int]] = defaultdict(list)
    nobody: frozenset[str] = frozenset()
    for segment in segments:
        pooled = {
            kind: frozenset(item.uid for item in pool)
            for kind, pool in segment.pools.items()
        }
        rooms = segment.rooms()
        now: dict[GpuPart, frozenset[str]] = {}
        for part in segment.parts:
            holders = _named(segment.mapped.get(part, ()))
            if part in rooms:
                pool = pooled.get(part.kind, nobody)
                holders = holders | pool if holders else pool
            now[part] = holders
            if part in last and last[part] != holders:
                changes[part].append(segment.period.start_ms)
        last = now
    return dict(changes)


def _named(items: Iterable[tuple[str, Fraction]]) -> frozenset[str]:
    return frozenset(uid for uid, _ in items)
