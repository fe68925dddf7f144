"""Stores which GPU was on which node and when, and the placeholders of GPUs without samples."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from accounting.core.interval import FAR_MS, Interval
from accounting.metering.models.cluster import Cluster, Gpu, GpuPresence, NodeFact
from accounting.metering.rules.holds.presence_record import PresenceRecord
from accounting.metering.tasks.evidence.ids import BATCH, Ids, ensure_nodes


def store(
    cluster: Cluster, presences: Sequence[PresenceRecord], ids: Ids
) -> list[Interval]:
    _ensure_placeholders(cluster, presences, ids)
    ensure_nodes(cluster, ids, {presence.node for presence in presences})
    wanted = {
        (ids.gpus[p.uuid], ids.nodes[p.node], p.start_ms): p.end_ms for p in presences
    }
    rows = GpuPresence.objects.filter(gpu__cluster=cluster)
    stored = {
        (gpu, node, start): (pk, end)
        for pk, gpu, node, start, end in rows.values_list(
            "pk", "gpu_id", "node_id", "start_ms", "end_ms"
        )
    }
    before = {key: end for key, (_, end) in stored.items()}
    changed = _differing(before, wanted)
    gone = [pk for key, (pk, end) in stored.items() if wanted.get(key, -1) != end]
    new = [key for key, end in wanted.items() if before.get(key, -1) != end]
    GpuPresence.objects.filter(pk__in=gone).delete()
    GpuPresence.objects.bulk_create(
        [
            GpuPresence(
                gpu_id=gpu,
                node_id=node,
                start_ms=start,
                end_ms=wanted[gpu, node, start],
            )
            for gpu, node, start in new
        ],
        batch_size=BATCH,
    )
    return changed


Spans = Mapping[tuple[int, int, int], int | None]  # (gpu, node, start) -> end


def _differing(before: Spans, after: Spans) -> list[Interval]:
    """Where a GPU is on a node in exactly one of two versions."""
    edges: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for spans, sign in ((before, 1), (after, -1)):
        for (gpu, node, start), end in spans.items():
            if before.get((gpu, node, start), -1) == after.get((gpu, node, start), -1):
                continue
            edges[gpu, node][start] += sign
            edges[gpu, node][end or FAR_MS] -= sign
    found: set[Interval] = set()
    for changes in edges.values():
        level = 0
        ordered = sorted(changes)
        for at, following in pairwise(ordered):
            level += changes[at]
            if level:
                found.add(Interval(at, following))
    return sorted(found)


def _ensure_placeholders(
    cluster: Cluster, presences: Sequence[PresenceRecord], ids: Ids
) -> None:
    missing = {
        p.uuid: p for p in presences if p.is_placeholder and p.uuid not in ids.gpus
    }
    if not missing:
        return
    facts = NodeFact.objects.filter(node__cluster=cluster).order_by("valid_from")
    models = dict(facts.values_list("node__name", "model"))
    Gpu.objects.bulk_create(
        [
            Gpu(
                cluster=cluster,
                uuid=uuid,
                is_placeholder=True,
                model=models.get(presence.node, ""),
            )
            for uuid, presence in missing.items()
        ],
        ignore_conflicts=True,
        batch_size=BATCH,
    )
    found = Gpu.objects.filter(cluster=cluster, uuid__in=missing)
    ids.gpus.update(found.values_list("uuid", "pk"))
