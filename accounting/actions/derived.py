"""Stores what the evidence says (holds, presences) and tells whose time changed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from accounting.actions.evidence import BATCH, Ids, ensure_namespaces, ensure_nodes
from accounting.domain.hold import Hold
from accounting.domain.inventory import Inventory
from accounting.domain.label import Labels
from accounting.domain.mapping import remapped
from accounting.domain.period import Period
from accounting.domain.presence import Presence
from accounting.domain.timeline import Derived
from accounting.models import Cluster, Gpu, GpuPresence, NodeFact, Pod, PodHold

_Pair = tuple[Hold, Hold]  # as it was, as it is

FAR_MS = 253_402_300_799_000  # the year 9999: "still there"


def store(
    cluster: Cluster,
    inventory: Inventory,
    derived: Derived,
    ids: Ids,
    labels_of: Period,
    labels_before: Labels | None = None,
) -> list[Period]:
    """Bring holds and presences up to date.

    Args:
        cluster, inventory, derived, ids: what was derived, and from what.
        labels_of: the time whose GPU labels were at hand: inferred holds are known there
            only, and reach beyond it as they are stored.
        labels_before: those at hand before new samples came; None: none came.

    Returns:
        The periods in which somebody's time changed: the windows there are dirty.
    """
    _ensure_inferred_pods(cluster, derived.holds, ids)
    shown = [hold for hold in derived.holds if not hold.is_inferred]
    inferred = [hold for hold in derived.holds if hold.is_inferred]
    changed, pairs = _store_holds(inventory, shown, ids, labels_of)
    changed.extend(_store_inferred(cluster, inferred, ids, labels_of))
    if labels_before is not None:
        spans = remapped(pairs, labels_before, derived.labels)
        near = (span.intersection(labels_of) for span in spans)
        changed.extend(span for span in near if span is not None)
    changed.extend(_store_presences(cluster, derived.presences, ids))
    return changed


def _store_inferred(
    cluster: Cluster, holds: Sequence[Hold], ids: Ids, labels_of: Period
) -> list[Period]:
    """Join inferred holds with what is stored of them outside `labels_of`."""
    stored = list(
        PodHold.objects.filter(
            pod__cluster=cluster,
            is_inferred=True,
            bound_ms__lt=labels_of.end_ms,
            booked_until_ms__gte=labels_of.start_ms,
        )
    )
    changed: list[Period] = []
    rows: list[PodHold] = []
    for hold in holds:
        row = _hold_row(hold, ids)
        before = _take(stored, row)
        if before is not None and before.bound_ms < labels_of.start_ms:
            row.bound_ms = before.bound_ms
        if before is not None and (before.booked_until_ms or 0) > labels_of.end_ms:
            row.ended_ms, row.ended_by = before.ended_ms, before.ended_by
            row.booked_until_ms = before.booked_until_ms
        rows.extend(_changed(before, row))
        changed.extend(_moved(_span(before), _span(row)))
    gone: list[int] = []
    for row in stored:
        before_span = _span(row)
        if _trim(row, labels_of):
            rows.append(row)
        elif _lies_in(row, labels_of):
            gone.append(row.pk)
        else:
            continue
        changed.extend(_moved(before_span, None))
    PodHold.objects.filter(pk__in=gone).delete()
    _write(rows)
    return changed


def _take(stored: list[PodHold], row: PodHold) -> PodHold | None:
    """The stored stretch of the same pod and node that a new one overlaps, taken out."""
    for before in stored:
        if (
            (before.pod_id, before.node_id, before.resource)
            == (row.pod_id, row.node_id, row.resource)
            and before.bound_ms <= (row.booked_until_ms or 0)
            and (before.booked_until_ms or 0) >= row.bound_ms
        ):
            stored.remove(before)
            return before
    return None


def _changed(before: PodHold | None, row: PodHold) -> list[PodHold]:
    """The row to write, in place of the one before it; none where they are equal."""
    if before is None:
        return [row]
    row.pk = before.pk
    return [row] if _differs(before, row) else []


def _lies_in(row: PodHold, period: Period) -> bool:
    return (
        period.start_ms <= row.bound_ms and (row.booked_until_ms or 0) <= period.end_ms
    )


def _trim(row: PodHold, period: Period) -> bool:
    """Cut off the part of a hold that a period shows not to be one; True when cut."""
    end = row.booked_until_ms or 0
    if period.start_ms <= row.bound_ms < period.end_ms < end:
        row.bound_ms = period.end_ms
        return True
    if row.bound_ms < period.start_ms < end <= period.end_ms:
        row.ended_ms = row.booked_until_ms = period.start_ms
        row.ended_by = "gone"
        return True
    return False


def _ensure_inferred_pods(cluster: Cluster, holds: Sequence[Hold], ids: Ids) -> None:
    missing = [hold for hold in holds if hold.is_inferred and hold.uid not in ids.pods]
    ensure_namespaces(cluster, ids, {hold.namespace for hold in missing})
    ensure_nodes(cluster, ids, {hold.node for hold in missing})
    Pod.objects.bulk_create(
        [
            Pod(
                cluster=cluster,
                uid=hold.uid,
                namespace_id=ids.namespaces[hold.namespace],
                name=hold.pod,
                node_id=ids.nodes[hold.node],
                is_inferred=True,
            )
            for hold in missing
        ],
        ignore_conflicts=True,
    )
    found = Pod.objects.filter(cluster=cluster, uid__in=[hold.uid for hold in missing])
    ids.pods.update(found.values_list("uid", "pk"))


def _store_holds(
    inventory: Inventory, holds: Sequence[Hold], ids: Ids, near: Period
) -> tuple[list[Period], list[_Pair]]:
    """Replace the holds of the loaded pods; what changed, and each as it was and is.

    Where a hold ends may depend on who was bound next (N11), so an end counts only where
    all that lies around it was loaded: `near`. Elsewhere what is stored stays.
    """
    pod_ids = [ids.pods[uid] for uid in inventory.pods]
    known = {
        (row.pod_id, row.resource): row
        for row in PodHold.objects.filter(pod_id__in=pod_ids, is_inferred=False)
    }
    changed: list[Period] = []
    pairs: list[_Pair] = []
    rows: list[PodHold] = []
    for hold in holds:
        row = _hold_row(hold, ids)
        before = known.pop((row.pod_id, row.resource), None)
        last_ms = inventory.pods[hold.uid].last_ms
        if before is not None and before.ended_ms is not None:
            is_longer = (row.booked_until_ms or 0) > (before.booked_until_ms or 0)
            if last_ms < near.start_ms and not is_longer:
                continue  # what is longer, labels of this time have kept (N13)
            if last_ms >= near.end_ms:
                row.ended_ms, row.ended_by = before.ended_ms, before.ended_by
                row.booked_until_ms = before.booked_until_ms
        if before is not None:
            pairs.append((_over(hold, before), _over(hold, row)))
        rows.extend(_changed(before, row))
        changed.extend(_moved(_span(before), _span(row)))
    for row in known.values():
        changed.extend(_moved(_span(row), None))
    PodHold.objects.filter(pk__in=[row.pk for row in known.values()]).delete()
    _write(rows)
    return changed, pairs


def _over(hold: Hold, row: PodHold) -> Hold:
    """A hold over the time that is stored of it."""
    end = hold.booked_until_ms if row.booked_until_ms is None else row.booked_until_ms
    return replace(hold, bound_ms=row.bound_ms, booked_until_ms=end)


def _write(rows: Sequence[PodHold]) -> None:
    PodHold.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=_HOLD_FIELDS,
        batch_size=BATCH,
    )


_HOLD_FIELDS = [
    "node",
    "units",
    "share_numerator",
    "share_denominator",
    "created_ms",
    "bound_ms",
    "ended_ms",
    "booked_until_ms",
    "ended_by",
    "is_inferred",
]


def _hold_row(hold: Hold, ids: Ids) -> PodHold:
    return PodHold(
        pod_id=ids.pods[hold.uid],
        node_id=ids.nodes[hold.node],
        resource=hold.resource,
        units=hold.units,
        share_numerator=hold.share.numerator,
        share_denominator=hold.share.denominator,
        created_ms=hold.created_ms,
        bound_ms=hold.bound_ms,
        ended_ms=hold.ended_ms,
        booked_until_ms=hold.booked_until_ms,
        ended_by=hold.ended_by,
        is_inferred=hold.is_inferred,
    )


def _differs(before: PodHold, after: PodHold) -> bool:
    names = [f"{name}_id" if name == "node" else name for name in _HOLD_FIELDS]
    return any(getattr(before, name) != getattr(after, name) for name in names)


def _span(row: PodHold | None) -> tuple[int, int] | None:
    if row is None or row.booked_until_ms is None:
        return None
    return row.bound_ms, row.booked_until_ms


def _moved(
    before: tuple[int, int] | None, after: tuple[int, int] | None
) -> Iterable[Period]:
    """Where exactly one of two spans lies."""
    if before == after:
        return []
    if before is None or after is None:
        span = before or after
        return [Period(*span)] if span and span[0] < span[1] else []
    found = []
    for low, high in ((before[0], after[0]), (before[1], after[1])):
        if low != high:
            found.append(Period(min(low, high), max(low, high)))
    return found


def _store_presences(
    cluster: Cluster, presences: Sequence[Presence], ids: Ids
) -> list[Period]:
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


def _differing(before: Spans, after: Spans) -> list[Period]:
    """Where a GPU is on a node by exactly one of two accounts."""
    edges: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for spans, sign in ((before, 1), (after, -1)):
        for (gpu, node, start), end in spans.items():
            if before.get((gpu, node, start), -1) == after.get((gpu, node, start), -1):
                continue
            edges[gpu, node][start] += sign
            edges[gpu, node][end or FAR_MS] -= sign
    found: set[Period] = set()
    for changes in edges.values():
        level = 0
        ordered = sorted(changes)
        for at, following in pairwise(ordered):
            level += changes[at]
            if level:
                found.add(Period(at, following))
    return sorted(found)


def _ensure_placeholders(
    cluster: Cluster, presences: Sequence[Presence], ids: Ids
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
