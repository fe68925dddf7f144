"""When each GPU was there, and on which node (rules.md N14-N16)."""

from collections import defaultdict
from dataclasses import dataclass

from accounting.domain.hold import as_of, node_end, node_facts
from accounting.domain.inventory import Inventory, NodeRecord, Span
from accounting.domain.kube import KubeState, kube_state
from accounting.domain.period import HOUR_MS
from accounting.domain.unit import NodeFacts, gpu_count


@dataclass(frozen=True, slots=True, order=True)
class Presence:
    """One GPU on one node in [start_ms, end_ms); `end_ms` None: still there.

    Attributes:
        uuid: the GPU's UUID, or a placeholder `<node>/<n>` (N16).
    """

    node: str
    uuid: str
    start_ms: int
    end_ms: int | None
    is_placeholder: bool = False


def derive_presences(inventory: Inventory, until_ms: int) -> list[Presence]:
    """Every presence that the evidence shows, by node, UUID and start.

    Args:
        inventory: evidence.
        until_ms: where the data end; silence counts up to there.
    """
    state = kube_state(inventory)
    by_node: dict[str, dict[str, list[Span]]] = defaultdict(dict)
    for gpu in inventory.gpus.values():
        for node, spans in gpu.spans.items():
            by_node[node][gpu.uuid] = spans
    found: list[Presence] = []
    for name in {*by_node, *inventory.nodes}:
        real = _real(name, by_node.get(name, {}), inventory, state, until_ms)
        found.extend(real)
        found.extend(_placeholders(name, real, inventory, state, until_ms))
    return sorted(found, key=lambda p: (p.node, p.uuid, p.start_ms))


@dataclass(slots=True)
class _Silence:
    """A GPU's silence on a node: after one span, until the next one or the data's end."""

    uuid: str
    last: Span
    start_ms: int  # when its presence began
    until_ms: int
    resumes: bool
    ends_ms: int | None = None


def _real(
    node: str,
    spans_of: dict[str, list[Span]],
    inventory: Inventory,
    state: KubeState,
    until_ms: int,
) -> list[Presence]:
    found: list[Presence] = []
    for uuid, spans in spans_of.items():
        start = spans[0].first_ms
        for i, span in enumerate(spans):
            resumes = i + 1 < len(spans)
            until = spans[i + 1].first_ms if resumes else until_ms
            silence = _Silence(uuid, span, start, until, resumes)
            end = _silence_ends(silence, node, spans_of, inventory, state)
            if end is not None:
                found.append(Presence(node, uuid, start, max(start, end)))
                if resumes:
                    start = spans[i + 1].first_ms
            elif not resumes:
                found.append(Presence(node, uuid, start, None))
    return found


def _silence_ends(
    silence: _Silence,
    node: str,
    spans_of: dict[str, list[Span]],
    inventory: Inventory,
    state: KubeState,
) -> int | None:
    """When a presence ended in a silence, or None where silence ends nothing (N15)."""
    last, step = silence.last.last_ms, silence.last.step_ms
    own = last + step
    ends: list[int] = []
    for other, spans in inventory.gpus[silence.uuid].spans.items():
        if other == node:
            continue
        elsewhere = [s.first_ms for s in spans if last < s.first_ms <= silence.until_ms]
        if elsewhere:
            ends.append(min(own, *elsewhere))
    record = inventory.nodes.get(node)
    gone = _node_gone(record, silence, state)
    if gone is not None:
        ends.append(gone)
    unseen = record is None or not record.spans or record.spans[0].first_ms > last
    if unseen and silence.until_ms - last > HOUR_MS:
        ends.append(own)
    if 2 * (silence.until_ms - last) > 3 * step and _crowded_out(
        silence, spans_of, record
    ):
        ends.append(own)
    return min(ends, default=None)


def _node_gone(
    record: NodeRecord | None, silence: _Silence, state: KubeState
) -> int | None:
    """The end by the node's object going, at the last proof plus one step.

    Proof is the later of the object's and the GPU's last sample.
    """
    last, step = silence.last.last_ms, silence.last.step_ms
    if record is None or not record.spans:
        return None
    before = [span for span in record.spans if span.first_ms <= last]
    if not before:
        return None
    end = node_end(record, before[-1].first_ms, state)
    if end is None or end - before[-1].step_ms >= silence.until_ms:
        return None
    if 2 * (silence.until_ms - last) <= 3 * step:
        return None
    return max(end, last + step)


def _crowded_out(
    silence: _Silence, spans_of: dict[str, list[Span]], record: NodeRecord | None
) -> bool:
    """True when this UUID is one too many on its node (N15).

    The node has more UUIDs than its capacity ever stood for, and this one is among the
    longest silent ones (ties by smaller UUID).
    """
    most = _most_gpus(record, silence.until_ms)
    if most is None:
        return False
    here: list[tuple[int, str]] = []
    for uuid, spans in spans_of.items():
        before = [s for s in spans if s.first_ms <= silence.until_ms]
        if before:
            here.append((min(before[-1].last_ms, silence.until_ms), uuid))
    excess = len(here) - most
    if excess <= 0:
        return False
    silent = sorted(here)
    return (silence.last.last_ms, silence.uuid) in silent[:excess]


def _most_gpus(record: NodeRecord | None, until_ms: int) -> int | None:
    """The highest number of GPUs that a node's capacity has stood for."""
    if record is None:
        return None
    counts = [
        gpu_count(NodeFacts(capacity, as_of(record.labels, at) or {}))
        for at, capacity in record.capacity
        if at <= until_ms
    ]
    return max(counts, default=None)


def _placeholders(
    node: str,
    real: list[Presence],
    inventory: Inventory,
    state: KubeState,
    until_ms: int,
) -> list[Presence]:
    """GPUs that the capacity stands for and that no sample has named yet (N16)."""
    record = inventory.nodes.get(node)
    if record is None or not record.capacity:
        return []
    edges = {at for at, _ in record.capacity} | {at for at, _ in record.labels}
    for presence in real:
        edges.add(presence.start_ms)
        edges.add(until_ms if presence.end_ms is None else presence.end_ms)
    spans: list[tuple[int, int | None]] = []
    for span in record.spans:
        end = node_end(record, span.first_ms, state)
        spans.append((span.first_ms, end))
        edges.add(span.first_ms)
        if end is not None:
            edges.add(end)
    ordered = sorted(at for at in edges if at < until_ms)
    open_since: dict[int, int] = {}
    found: list[Presence] = []

    def close(n: int, at: int) -> None:
        found.append(
            Presence(node, f"{node}/{n}", open_since.pop(n), at, is_placeholder=True)
        )

    for at in ordered:
        wanted = _missing(at, record, real, spans)
        for n in [n for n in open_since if n not in wanted]:
            close(n, at)
        for n in wanted:
            open_since.setdefault(n, at)
    for n, start in sorted(open_since.items()):
        found.append(Presence(node, f"{node}/{n}", start, None, is_placeholder=True))
    return found


def _missing(
    at: int,
    record: NodeRecord,
    real: list[Presence],
    spans: list[tuple[int, int | None]],
) -> range:
    if at < record.capacity[0][0]:
        return range(0)
    if not any(start <= at and (end is None or at < end) for start, end in spans):
        return range(0)
    there = sum(p.start_ms <= at and (p.end_ms is None or at < p.end_ms) for p in real)
    return range(there, gpu_count(node_facts(record, at)))
