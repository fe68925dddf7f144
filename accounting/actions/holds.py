"""Stores holds: those that kube-state shows, and those that only labels show (N13)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from accounting.actions.evidence_ids import BATCH, Ids, ensure_namespaces, ensure_nodes
from accounting.domain.hold import Hold
from accounting.domain.inventory import Inventory
from accounting.domain.period import Period
from accounting.models import Cluster, Pod, PodHold

Pair = tuple[Hold, Hold]  # as it was, as it is


def store_shown(
    inventory: Inventory, holds: Sequence[Hold], ids: Ids, near: Period
) -> tuple[list[Period], list[Pair]]:
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
    pairs: list[Pair] = []
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
        changed.extend(_all_of(row) if before is None else _moved(before, row))
    for row in known.values():
        changed.extend(_all_of(row))
    PodHold.objects.filter(pk__in=[row.pk for row in known.values()]).delete()
    _write(rows)
    return changed, pairs


def _over(hold: Hold, row: PodHold) -> Hold:
    """A hold over the time that is stored of it."""
    end = hold.booked_until_ms if row.booked_until_ms is None else row.booked_until_ms
    return replace(hold, bound_ms=row.bound_ms, booked_until_ms=end)


def store_inferred(
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
    _ensure_inferred_pods(cluster, holds, ids)
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
        changed.extend(_all_of(row) if before is None else _moved(before, row))
    gone: list[int] = []
    for row in stored:
        was = _all_of(row)
        if _trim(row, labels_of):
            rows.append(row)
        elif _lies_in(row, labels_of):
            gone.append(row.pk)
        else:
            continue
        changed.extend(was)
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
    missing = [hold for hold in holds if hold.uid not in ids.pods]
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


def _changed(before: PodHold | None, row: PodHold) -> list[PodHold]:
    """The row to write, in place of the one before it; none where they are equal."""
    if before is None:
        return [row]
    row.pk = before.pk
    return [row] if _differs(before, row) else []


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


def _span(row: PodHold) -> tuple[int, int]:
    """Where a hold's time lies; nowhere where it was never booked."""
    if row.booked_until_ms is None:
        return row.bound_ms, row.bound_ms
    return row.bound_ms, row.booked_until_ms


def _moved(before: PodHold, after: PodHold) -> Iterable[Period]:
    """Where somebody's time changes: all of both where they hold something else."""
    if _holding(before) != _holding(after):
        return [*_all_of(before), *_all_of(after)]
    return _between(_span(before), _span(after))


def _holding(row: PodHold) -> tuple[int, int, int, int]:
    """What is held, and where."""
    return row.node_id, row.units, row.share_numerator, row.share_denominator


def _all_of(row: PodHold) -> list[Period]:
    start, end = _span(row)
    return [Period(start, end)] if start < end else []


def _between(before: tuple[int, int], after: tuple[int, int]) -> Iterable[Period]:
    """Where exactly one of two spans lies."""
    return [
        Period(min(low, high), max(low, high))
        for low, high in zip(before, after, strict=True)
        if low != high
    ]
