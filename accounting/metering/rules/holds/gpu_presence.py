"""When each GPU was present, and on which node (rules.md N14-N16)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from accounting.core.interval import HOUR_MS
from accounting.metering.rules.holds.gpu_location import in_one_place
from accounting.metering.rules.holds.node_capacity import (
    claimed_gpus,
    most_gpus,
    room_of,
    unknown_nodes,
    within_capacity,
)
from accounting.metering.rules.holds.presence_record import PresenceRecord
from accounting.metering.rules.inventory.kube_state.visibility import KubeState
from accounting.metering.rules.inventory.nodes import NodeLife, node_facts, node_lives
from accounting.metering.rules.inventory.records import (
    Inventory,
    NodeRecord,
    SampleSpan,
)
from accounting.metering.rules.samples.validity import far_apart, longest_gap_ms
from accounting.metering.rules.units.gpu_units import gpu_count

Added = Mapping[str, Fraction]


def derive_presences(
    inventory: Inventory, state: KubeState, until_ms: int
) -> list[PresenceRecord]:
    """Every presence that the evidence shows, by node, UUID and start.

    Args:
        inventory: evidence.
        state: kube-state's scrapes.
        until_ms: where the data end; missing samples count up to there.
    """
    by_node: dict[str, dict[str, list[SampleSpan]]] = defaultdict(dict)
    elsewhere: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for gpu in inventory.gpus.values():
        nodes = in_one_place(gpu.nodes())
        for node, spans in nodes.items():
            by_node[node][gpu.uuid] = spans
            others = [at for other, at in nodes.items() if other != node]
            if others:
                firsts = [span.first_ms for spans in others for span in spans]
                elsewhere[node][gpu.uuid] = firsts
    found: list[PresenceRecord] = []
    unknown, claimed = unknown_nodes(inventory, by_node), claimed_gpus(inventory)
    for name in {*by_node, *inventory.nodes} - unknown:
        record = inventory.nodes.get(name)
        lives = node_lives(record, state)
        sampled, added = by_node.get(name, {}), inventory.added
        played = _NodeReplay(name, sampled, elsewhere[name], record, lives, added)
        room = room_of(record, sampled, added, claimed)
        real = within_capacity(played.replay(until_ms), sampled, room, lives)
        found.extend(real)
        if record is not None:
            found.extend(_placeholders(record, real, lives, until_ms, inventory.added))
    return sorted(found, key=lambda p: (p.node, p.uuid, p.start_ms))


@dataclass(slots=True)
class _There:
    """A GPU on the node: since when, and its span that started last."""

    uuid: str
    start_ms: int
    span: SampleSpan

    def is_silent(self, at_ms: int) -> bool:
        """True if its last sample is more than 1.5 steps ago."""
        return far_apart(at_ms - self.span.last_ms, self.span.step_ms)


@dataclass(slots=True)
class _NodeReplay:
    """Replays the events of one node in order of time (N14, N15)."""

    name: str
    spans_of: dict[str, list[SampleSpan]]
    elsewhere: dict[str, list[int]]  # first samples of its GPUs on other nodes
    record: NodeRecord | None
    lives: list[NodeLife]
    added: Added
    there: dict[str, _There] = field(default_factory=dict)
    found: list[PresenceRecord] = field(default_factory=list)

    def replay(self, until_ms: int) -> list[PresenceRecord]:
        """Every presence of a real GPU on the node."""
        begins: dict[int, list[tuple[str, SampleSpan]]] = defaultdict(list)
        for uuid, spans in self.spans_of.items():
            for span in spans:
                begins[span.first_ms].append((uuid, span))
        for at in self._moments(until_ms):
            self._objects_gone(at)
            for uuid, span in begins.get(at, ()):
                start = self.there[uuid].start_ms if uuid in self.there else at
                self.there[uuid] = _There(uuid, start, span)
            self._moved_away(at)
            self._too_many(at)
        for gpu in self.there.values():
            self.found.append(PresenceRecord(self.name, gpu.uuid, gpu.start_ms, None))
        return self.found

    def _moments(self, until_ms: int) -> list[int]:
        """When anything may change: first samples, gaps, node objects and capacity."""
        moments = {until_ms, *(at for uuid in self.elsewhere.values() for at in uuid)}
        for spans in self.spans_of.values():
            for span in spans:
                last = span.last_ms
                silent = last + longest_gap_ms(span.step_ms) + 1
                moments.update((span.first_ms, silent, last + HOUR_MS + 1))
        for life in self.lives:
            moments.update(
                (life.first_ms, life.last_ms + longest_gap_ms(life.step_ms) + 1)
            )
        if self.record is not None:
            moments.update(at for at, _ in self.record.capacity)
        return sorted(at for at in moments if at <= until_ms)

    def _end(self, uuid: str, end_ms: int) -> None:
        gpu = self.there.pop(uuid)
        self.found.append(
            PresenceRecord(self.name, uuid, gpu.start_ms, max(gpu.start_ms, end_ms))
        )

    def _objects_gone(self, at: int) -> None:
        """End GPUs that were removed with their node object; without one, after an hour."""
        before = [life for life in self.lives if life.first_ms < at]
        for gpu in list(self.there.values()):
            proof = (gpu.span.last_ms, gpu.span.step_ms)
            if not gpu.is_silent(at):
                continue
            life = _object_of(before, gpu.span.last_ms)
            if life is None:
                if at - gpu.span.last_ms > HOUR_MS:
                    self._end(gpu.uuid, sum(proof))
            elif life.is_over and far_apart(at - life.last_ms, life.step_ms):
                self._end(gpu.uuid, sum(max(proof, (life.last_ms, life.step_ms))))

    def _moved_away(self, at: int) -> None:
        """End GPUs that have since been sampled on another node, at that sample at the latest."""
        for uuid, firsts in self.elsewhere.items():
            gpu = self.there.get(uuid)
            if gpu is not None and at in firsts and gpu.span.last_ms < at:
                self._end(uuid, min(gpu.span.last_ms + gpu.span.step_ms, at))

    def _too_many(self, at: int) -> None:
        """End the UUIDs beyond the highest capacity that have been missing longest."""
        most = most_gpus(self.record, at, self.added)
        if most is None or len(self.there) <= most:
            return
        silent = [gpu for gpu in self.there.values() if gpu.is_silent(at)]
        for gpu in sorted(silent, key=lambda g: (g.span.last_ms, g.uuid)):
            if len(self.there) <= most:
                return
            self._end(gpu.uuid, gpu.span.last_ms + gpu.span.step_ms)


def _object_of(lives: Sequence[NodeLife], last_ms: int) -> NodeLife | None:
    """The object to which a GPU belonged whose last sample was at `last_ms`.

    The last one that began by then, so that a GPU goes with its object although another one of that
    name came before the GPU was silent for long; the first one if the GPU was sampled before all.
    """
    began = [life for life in lives if life.first_ms <= last_ms]
    return began[-1] if began else next(iter(lives), None)


def _placeholders(
    record: NodeRecord,
    real: list[PresenceRecord],
    lives: list[NodeLife],
    until_ms: int,
    added: Added,
) -> list[PresenceRecord]:
    """GPUs that the capacity represents and that no sample has named yet (N16)."""
    if not record.capacity:
        return []
    node = record.name
    edges = {at for at, _ in (*record.capacity, *record.labels)}
    edges.update(item.from_ms for item in record.partitions)
    for presence in real:
        edges.add(presence.start_ms)
        edges.add(until_ms if presence.end_ms is None else presence.end_ms)
    for life in lives:
        edges.add(life.first_ms)
        if life.end_ms is not None:
            edges.add(life.end_ms)
    ordered = sorted(at for at in edges if at < until_ms)
    open_since: dict[int, int] = {}
    found: list[PresenceRecord] = []

    def close(n: int, at: int) -> None:
        found.append(
            PresenceRecord(
                node, f"{node}/{n}", open_since.pop(n), at, is_placeholder=True
            )
        )

    for at in ordered:
        wanted = _missing(at, record, real, lives, added)
        for n in [n for n in open_since if n not in wanted]:
            close(n, at)
        for n in wanted:
            open_since.setdefault(n, at)
    for n, start in sorted(open_since.items()):
        found.append(
            PresenceRecord(node, f"{node}/{n}", start, None, is_placeholder=True)
        )
    return found


def _missing(
    at: int,
    record: NodeRecord,
    real: list[PresenceRecord],
    lives: list[NodeLife],
    added: Added,
) -> range:
    if at < record.capacity[0][0] or not any(
        life.first_ms <= at and (life.end_ms is None or at < life.end_ms)
        for life in lives
    ):
        return range(0)
    there = sum(p.start_ms <= at and (p.end_ms is None or at < p.end_ms) for p in real)
    return range(there, gpu_count(node_facts(record, at), added))
