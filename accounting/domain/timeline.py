"""Who held which GPU of a node, at every moment of a period.

A node's time is cut into segments in which nothing changes: which GPUs are there, which
holds are active, whether kube-state is seen. GPUs whose samples name a pod are mapped to
its hold (rules.md N17); units without a GPU and GPUs without a hold form the node's pool
(N18), which `attribution` fills window by window.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from accounting.domain.hold import Hold, derive_holds, node_facts
from accounting.domain.inferred import inferred_holds
from accounting.domain.inventory import Inventory
from accounting.domain.kube import kube_state
from accounting.domain.period import Period
from accounting.domain.presence import Presence, derive_presences
from accounting.domain.track import MAX_STEP_MS

MARGIN_MS = 2 * MAX_STEP_MS  # a sample can cover time up to 1.5 steps away (N5, N6)


@dataclass(frozen=True, slots=True)
class Derived:
    """What an inventory says as a whole: holds, presences, and when kube-state was seen."""

    holds: tuple[Hold, ...]
    presences: tuple[Presence, ...]
    seen: tuple[Period, ...]


def derive(inventory: Inventory, period: Period, until_ms: int) -> Derived:
    """Holds, presences and kube-state's sight of a cluster.

    Args:
        inventory: the evidence.
        period: for which `seen` is wanted.
        until_ms: where the cluster's data end (rules.md fine print N1).
    """
    state = kube_state(inventory)
    holds = derive_holds(inventory, until_ms)
    holds.extend(inferred_holds(inventory, state, holds, until_ms))
    return Derived(
        tuple(holds),
        tuple(derive_presences(inventory, until_ms)),
        tuple(state.seen(period)),
    )


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
        inferred: uids of holds that only labels show.
        fractions: uids that hold parts of GPUs by rule.
    """

    node: str
    segments: list[Segment]
    changes: dict[str, list[int]]
    presences: dict[str, list[Period]]
    placeholders: frozenset[str]
    inferred: frozenset[str]
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
    labels = _labels_by_name(inventory)
    return {
        node: _node(
            node, here, holds[node], derived.seen, inventory, labels, wide, until_ms
        )
        for node, here in presences.items()
    }


Labels = dict[tuple[str, str], list[tuple[str, str, str, np.ndarray]]]


def _labels_by_name(inventory: Inventory) -> Labels:
    """(namespace, pod) -> (uuid, vgpu, uid, times)."""
    found: Labels = defaultdict(list)
    for (uuid, _, vgpu, name), times in inventory.gpu_labels.items():
        if (name.namespace, name.pod) not in inventory.own_pods:
            found[name.namespace, name.pod].append((uuid, vgpu, name.uid, times))
    return found


def mapped_gpus(
    hold: Hold, labels: Labels, there: dict[str, list[Period]], replicas: int
) -> list[str]:
    """The GPUs that a hold has for its whole life, most named first (N17).

    A label counts on the hold's node and, where the sample carries one, with its uid; on a
    shared GPU only with `vgpu`. At most one GPU for each unit.
    """
    counts: dict[str, int] = defaultdict(int)
    for uuid, vgpu, uid, times in labels.get((hold.namespace, hold.pod), []):
        if uuid not in there or (uid and uid != hold.uid):
            continue
        if replicas > 1 and not vgpu:
            continue
        low, high = np.searchsorted(times, [hold.bound_ms, hold.booked_until_ms])
        if high > low:
            counts[uuid] += int(high - low)
    ordered = sorted(counts, key=lambda uuid: (-counts[uuid], uuid))
    return ordered[: hold.units]


def _node(  # noqa: PLR0913, PLR0917  # all that decides about a node
    node: str,
    presences: Sequence[Presence],
    holds: Sequence[Hold],
    seen: Sequence[Period],
    inventory: Inventory,
    labels: Labels,
    wide: Period,
    until_ms: int,
) -> NodeTimeline:
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
    cuts = sorted(at for at in edges if wide.start_ms <= at <= wide.end_ms)
    record = inventory.nodes.get(node)
    gpus_of = {
        (hold.uid, hold.resource): mapped_gpus(
            hold, labels, there, node_facts(record, hold.bound_ms).replicas
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
        inferred=frozenset(hold.uid for hold in holds if hold.is_inferred),
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
