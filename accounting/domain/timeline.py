"""Who held which GPU of a node, at every moment of a period.

A node's time is cut into segments in which nothing changes: which GPUs are there, which
holds are active, whether kube-state is seen. GPUs whose samples name a pod are mapped to
its hold (rules.md N17); units without a GPU and GPUs without a hold form the node's pool
(N18), which `attribution` fills window by window.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from accounting.domain.hold import Hold, derive_holds
from accounting.domain.inferred import inferred_holds
from accounting.domain.inventory import Inventory
from accounting.domain.kube import kube_state
from accounting.domain.label import Labels, labels_of
from accounting.domain.node import node_facts
from accounting.domain.observe import kube_steps
from accounting.domain.period import Period
from accounting.domain.presence import Presence, derive_presences
from accounting.domain.series import Times
from accounting.domain.track import MAX_STEP_MS

MARGIN_MS = 2 * MAX_STEP_MS  # a sample can cover time up to 1.5 steps away (N5, N6)


@dataclass(frozen=True, slots=True)
class Derived:
    """What an inventory says as a whole: holds, presences, and when kube-state was seen."""

    holds: tuple[Hold, ...]
    presences: tuple[Presence, ...]
    seen: tuple[Period, ...]
    labels: Labels


def derive(inventory: Inventory, period: Period, until_ms: int) -> Derived:
    """Holds, presences and kube-state's sight of a cluster.

    Args:
        inventory: the evidence.
        period: for which `seen` is wanted.
        until_ms: where the cluster's data end (rules.md fine print N1).
    """
    state, labels = kube_state(inventory), labels_of(inventory)
    holds = derive_holds(inventory, state, labels, until_ms)
    holds.extend(inferred_holds(inventory, state, labels, until_ms))
    return Derived(
        tuple(holds),
        tuple(derive_presences(inventory, state, until_ms)),
        tuple(state.seen(period)),
        labels,
    )


def data_end_ms(inventory: Inventory) -> int:
    """Where a cluster's data end: the latest of all tracks' last sample plus its step.

    Those of kube-state included (rules.md fine print N1); 0 without any.
    """
    ends = [
        spans[-1].last_ms + spans[-1].step_ms
        for record in inventory.gpus.values()
        for spans in record.spans.values()
        if spans
    ]
    for steps in kube_steps(inventory).values():
        ends.extend(at + steps.at(at) for at in steps.times[-1:])
    return max(ends, default=0)


@dataclass(frozen=True, slots=True)
class Pooled:
    """A hold's units for which no GPU is known."""

    uid: str
    weight: Fraction  # units x share


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a node's time in which nothing changes.

    Attributes:
        mapped: by GPU, the holds that its samples name: (uid, share of the GPU).
        unmapped: GPUs with room, in order of UUID, placeholders last.
        pool: holds whose units have no GPU.
        is_seen: kube-state is seen.
    """

    period: Period
    mapped: dict[str, tuple[tuple[str, Fraction], ...]]
    unmapped: tuple[str, ...]
    pool: tuple[Pooled, ...]
    is_seen: bool


@dataclass(slots=True)
class NodeTimeline:
    """One node's segments, and at which instants each GPU's holders change.

    Attributes:
        presences: by GPU; clipped to the data's end.
        inferred_from: by uid, from when on only labels show that it holds (N13).
    """

    node: str
    segments: list[Segment]
    changes: dict[str, list[int]]
    presences: dict[str, list[Period]]
    placeholders: frozenset[str]
    inferred_from: dict[str, int]
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [segment.period.start_ms for segment in self.segments]

    def within(self, period: Period) -> list[Segment]:
        """The segments that touch a period, in order."""
        first = max(0, bisect_right(self._starts, period.start_ms) - 1)
        last = bisect_left(self._starts, period.end_ms)
        return [
            segment
            for segment in self.segments[first:last]
            if segment.period.end_ms > period.start_ms
        ]


def node_timelines(
    inventory: Inventory, derived: Derived, period: Period, until_ms: int
) -> dict[str, NodeTimeline]:
    """The timelines of every node with a GPU in a period (with margins around it)."""
    wide = Period(period.start_ms - MARGIN_MS, period.end_ms + MARGIN_MS)
    holds: dict[str, list[Hold]] = defaultdict(list)
    for hold in derived.holds:
        if hold.bound_ms < wide.end_ms and hold.booked_until_ms > wide.start_ms:
            holds[hold.node].append(hold)
    presences: dict[str, list[Presence]] = defaultdict(list)
    for presence in derived.presences:
        end = until_ms if presence.end_ms is None else presence.end_ms
        if presence.start_ms < wide.end_ms and end > wide.start_ms:
            presences[presence.node].append(presence)
    return {
        node: _node(node, here, holds[node], derived, inventory, wide, until_ms)
        for node, here in presences.items()
    }


def mapped_gpus(
    hold: Hold, labels: Labels, there: Collection[str], replicas: int
) -> list[str]:
    """The GPUs that a hold has for its whole life, most named first (N17).

    A label counts on the hold's node and, where the sample carries one, with its uid; on a
    shared GPU only with `vgpu`. At most one GPU for each unit.
    """
    times_of: dict[str, list[Times]] = defaultdict(list)
    for named in labels.of(hold.namespace, hold.pod, hold.uid, hold.node):
        if named.uuid in there and (named.vgpu or replicas == 1):
            times = named.shown.times
            low, high = np.searchsorted(times, [hold.bound_ms, hold.booked_until_ms])
            times_of[named.uuid].append(times[int(low) : int(high)])
    counts = {
        uuid: len(np.unique(np.concatenate(parts))) for uuid, parts in times_of.items()
    }
    ordered = sorted(counts, key=lambda uuid: (-counts[uuid], uuid))
    return [uuid for uuid in ordered if counts[uuid]][: hold.units]


def _node(  # noqa: PLR0913, PLR0917  # all that decides about a node
    node: str,
    presences: Sequence[Presence],
    holds: Sequence[Hold],
    derived: Derived,
    inventory: Inventory,
    wide: Period,
    until_ms: int,
) -> NodeTimeline:
    seen = derived.seen
    there: dict[str, list[Period]] = defaultdict(list)
    for presence in presences:
        end = until_ms if presence.end_ms is None else min(presence.end_ms, until_ms)
        if presence.start_ms < end:
            there[presence.uuid].append(Period(presence.start_ms, end))
    edges = {wide.start_ms, wide.end_ms}
    for periods in [*there.values(), list(seen)]:
        for period in periods:
            edges.update((period.start_ms, period.end_ms))
    for hold in holds:
        edges.update((hold.bound_ms, hold.booked_until_ms))
        if hold.inferred_from_ms is not None:
            edges.add(hold.inferred_from_ms)
    cuts = sorted(at for at in edges if wide.start_ms <= at <= wide.end_ms)
    record = inventory.nodes.get(node)
    gpus_of = {
        (hold.uid, hold.resource): mapped_gpus(
            hold, derived.labels, there, node_facts(record, hold.bound_ms).replicas
        )
        for hold in holds
    }
    segments = [
        _segment(Period(a, b), there, holds, gpus_of, seen) for a, b in pairwise(cuts)
    ]
    return NodeTimeline(
        node=node,
        segments=segments,
        changes=_changes(segments),
        presences=dict(there),
        placeholders=frozenset(p.uuid for p in presences if p.is_placeholder),
        inferred_from={
            hold.uid: hold.inferred_from_ms
            for hold in holds
            if hold.inferred_from_ms is not None
        },
    )


def _segment(
    period: Period,
    there: dict[str, list[Period]],
    holds: Sequence[Hold],
    gpus_of: dict[tuple[str, str], list[str]],
    seen: Sequence[Period],
) -> Segment:
    at = period.start_ms
    present = [u for u, ps in there.items() if any(p.contains(at) for p in ps)]
    mapped: dict[str, list[tuple[str, Fraction]]] = defaultdict(list)
    pool: list[Pooled] = []
    for hold in holds:
        if not hold.active_at(at):
            continue
        known = [uuid for uuid in gpus_of[hold.uid, hold.resource] if uuid in present]
        for uuid in known:
            mapped[uuid].append((hold.uid, hold.share))
        missing = hold.units - len(known)
        if missing > 0:
            pool.append(Pooled(hold.uid, missing * hold.share))
    return Segment(
        period=period,
        mapped={uuid: tuple(sorted(items)) for uuid, items in mapped.items()},
        unmapped=tuple(sorted(u for u in present if u not in mapped)),
        pool=tuple(sorted(pool, key=lambda item: item.uid)),
        is_seen=any(p.contains(at) for p in seen),
    )


def _changes(segments: Sequence[Segment]) -> dict[str, list[int]]:
    """Instants at which the set of a GPU's holders changes (N6).

    A GPU with room in the pool is held by all holds of the pool, filled or not; the begin
    of a presence is no change.
    """
    last: dict[str, frozenset[str]] = {}
    changes: dict[str, list[int]] = defaultdict(list)
    for segment in segments:
        pooled = frozenset(item.uid for item in segment.pool)
        here = {*segment.mapped, *segment.unmapped}
        last = {uuid: holders for uuid, holders in last.items() if uuid in here}
        for uuid, items in segment.mapped.items():
            _note(changes, last, uuid, frozenset(u for u, _ in items), segment)
        for uuid in segment.unmapped:
            _note(changes, last, uuid, pooled, segment)
    return changes


def _note(
    changes: dict[str, list[int]],
    last: dict[str, frozenset[str]],
    uuid: str,
    holders: frozenset[str],
    segment: Segment,
) -> None:
    if uuid in last and last[uuid] != holders:
        changes[uuid].append(segment.period.start_ms)
    last[uuid] = holders
