"""How AMD's GPUs of a node are divided, as their samples say it (rules.md "Units").

The device plugin gives out partitions under the name of whole GPUs: a capacity of 32 may be
4 cards in CPX or 32 whole ones. The node's label says which; where nobody shows that label,
`gpu_compute_partition_type` of the exporter does. A card is its serial number in every mode
(`sources.catalogue.labels`).
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from accounting.domain.inventory.records import (
    GpuRecord,
    Inventory,
    NodeRecord,
    SampledPartition,
    SampleSpan,
)
from accounting.domain.samples.validity import far_apart
from accounting.domain.units.geometry import Instances
from accounting.domain.units.gpu_units import (
    SAMPLED_MODEL,
    SAMPLED_PARTITION,
    WHOLE,
    is_partition,
    parts_of,
)


def note_partitions(inventory: Inventory) -> set[str]:
    """Bring the partitions of every node up to date; the names of those that changed.

    A node none of whose GPUs was ever divided in AMD's way has none. Where its GPUs are divided
    in several ways at one time, the way of most of them counts, of equal ones the finer one.
    """
    divided: dict[str, list[GpuRecord]] = defaultdict(list)
    for uuid in sorted(inventory.gpus):
        record = inventory.gpus[uuid]
        if any(_kind(instances) for _, instances in record.geometry):
            for name in {place.node for place in record.spans}:
                divided[name].append(record)
    changed: set[str] = set()
    for name, node in inventory.nodes.items():
        wanted = _history(name, divided[name]) if name in divided else []
        if node.partitions != wanted:
            node.partitions = wanted
            changed.add(name)
    return changed


def _kind(instances: Instances) -> str:
    """How a GPU is divided: `qpx`; empty for a whole one and for MIG."""
    return next((kind for _, kind in instances if is_partition(kind)), WHOLE)


def _history(node: str, records: Sequence[GpuRecord]) -> list[SampledPartition]:
    """The partitions of a node at each change, from those of its GPUs."""
    changes = sorted(
        (at, number, kind, step_ms)
        for number, record in enumerate(records)
        for at, kind, step_ms in _of_gpu(record, record.nodes()[node])
    )
    now: dict[int, str] = {}
    found: list[SampledPartition] = []
    for i, (at, number, kind, step_ms) in enumerate(changes):
        now[number] = kind
        if i + 1 < len(changes) and changes[i + 1][0] == at:
            continue
        counts = Counter(now.values())
        most = max(counts, key=lambda kind: (counts[kind], parts_of(kind)))
        model = next(records[n].model for n in sorted(now) if now[n] == most)
        if not found or (found[-1].kind, found[-1].model) != (most, model):
            found.append(SampledPartition(at, most, model, step_ms))
    return found


def _of_gpu(
    record: GpuRecord, spans: Sequence[SampleSpan]
) -> Iterator[tuple[int, str, int]]:
    """From when on a GPU is divided how, while it is on a node, and the step of that sample."""
    first, last = spans[0].first_ms, spans[-1].last_ms
    times = [at for at, _ in record.geometry]
    known = bisect_right(times, first)
    yield first, _kind(record.geometry[known - 1][1]) if known else WHOLE, 0
    for at, instances in record.geometry[known:]:
        if at <= last:
            step_ms = next(span.step_ms for span in spans if at <= span.last_ms)
            yield at, _kind(instances), step_ms


def sampled_partition(node: NodeRecord, instant_ms: int) -> dict[str, str]:
    """How samples say that a node's GPUs are divided at an instant, as labels of the node.

    Before the first sample it is as that shows. Samples that come within 1.5 steps after the
    capacity changed belong to that capacity: kube-state and exporter are not read at one time,
    and in between 64 partitions of 8 cards would stand for 64 cards. Empty for no such node.
    """
    history = node.partitions
    if not history:
        return {}
    i = max(0, bisect_right(history, instant_ms, key=lambda item: item.from_ms) - 1)
    j = bisect_right(node.capacity, instant_ms, key=lambda item: item[0]) - 1
    since = node.capacity[j][0] if j >= 0 else instant_ms
    if i + 1 < len(history) and history[i].from_ms < since:
        later = history[i + 1]
        if not far_apart(later.from_ms - since, later.step_ms):
            i += 1
    return {SAMPLED_PARTITION: history[i].kind, SAMPLED_MODEL: history[i].model}
