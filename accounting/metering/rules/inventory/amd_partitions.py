"""How the AMD GPUs of a node are partitioned, according to their samples (rules.md "Units").

The device plugin allocates partitions under the resource name of whole GPUs: a capacity of 32 can
be 4 cards in CPX or 32 whole ones. The node's label shows which; without that label,
`gpu_compute_partition_type` of the exporter does. A card is identified by its serial number in
every mode (`metering.sources.catalogue.labels`).
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from accounting.metering.rules.inventory.records import (
    GpuRecord,
    Inventory,
    NodeRecord,
    SampledPartition,
    SampleSpan,
)
from accounting.metering.rules.samples.validity import far_apart
from accounting.metering.rules.units.geometry import Instances
from accounting.metering.rules.units.gpu_units import (
    SAMPLED_MODEL,
    SAMPLED_PARTITION,
    WHOLE,
    is_partition,
    parts_of,
)


def note_partitions(inventory: Inventory) -> set[str]:
    """Update the partitions of every node; returns the names of nodes that changed.

    A node whose GPUs were never partitioned as AMD does has no entry. If its GPUs are partitioned
    in several ways at the same time, the most frequent one counts; of equal ones the finer one.
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
    """How a GPU is partitioned, such as `qpx`; empty for a whole one and for MIG."""
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
    """Since when a GPU on a node is partitioned in which way, and the step of that sample."""
    first, last = spans[0].first_ms, spans[-1].last_ms
    times = [at for at, _ in record.geometry]
    known = bisect_right(times, first)
    yield first, _kind(record.geometry[known - 1][1]) if known else WHOLE, 0
    for at, instances in record.geometry[known:]:
        if at <= last:
            step_ms = next(span.step_ms for span in spans if at <= span.last_ms)
            yield at, _kind(instances), step_ms


def sampled_partition(node: NodeRecord, instant_ms: int) -> dict[str, str]:
    """How a node's GPUs are partitioned at an instant according to samples, as labels of the node.

    Before the first sample, that sample applies. Samples within 1.5 steps after a change of the
    capacity belong to that capacity: kube-state and the exporter are not scraped at the same time,
    and in between 64 partitions of 8 cards would count as 64 cards. Empty if there are no samples.
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
