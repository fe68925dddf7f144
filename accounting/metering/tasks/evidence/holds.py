"""Stores holds: those that kube-state shows, and those that only labels show (N13)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.mapping import labels_kept, pack_labels, unpack_labels
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod, PodHold
from accounting.metering.rules.holds.derive import DerivedHolds
from accounting.metering.rules.holds.gpu_assignment import mapped_places
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.label_counts import Tally, whole_hours
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.tasks.evidence.ids import (
    BATCH,
    Ids,
    ensure_namespaces,
    ensure_nodes,
)


@dataclass(frozen=True, slots=True)
class StoredHold:
    """A hold to be stored.

    Attributes:
        hold: over its stored time.
        row, before: the new and the previous row; `before` is None for a new hold.
    """

    hold: Hold
    row: PodHold
    before: PodHold | None


def holds_to_store(
    inventory: Inventory, holds: Sequence[Hold], ids: Ids
) -> tuple[list[StoredHold], list[PodHold]]:
    """The holds of the loaded pods with their stored rows, and the rows to remove.

    The end of a hold may depend on which pod was bound next (N11), and on labels in a gap of
    kube-state (N13), so an end is used only if everything around it was loaded: in the reach of the
    inventory. Elsewhere the stored end is kept; a hold without an end is never booked for less time
    there.
    """
    pod_ids = [ids.pods[uid] for uid in inventory.pods]
    known = {
        (row.pod_id, row.resource): row
        for row in PodHold.objects.filter(pod_id__in=pod_ids, is_inferred=False)
    }
    near = whole_hours(inventory.reach)
    first_ms = near.start_ms - HOUR_MS  # a gap starts after the last samples
    found: list[StoredHold] = []
    for hold in holds:
        row = _hold_row(hold, ids)
        before = known.pop((row.pod_id, row.resource), None)
        last_ms = inventory.pods[hold.uid].last_ms
        if before is not None and before.ended_ms is not None:
            if last_ms < first_ms:
                continue
            if last_ms >= near.end_ms:
                row.ended_ms, row.ended_by = before.ended_ms, before.ended_by
                row.booked_until_ms = before.booked_until_ms
        if before is not None and not near.contains(last_ms):
            row.inferred_from_ms = before.inferred_from_ms
        if before is not None and row.ended_ms is None:
            row.booked_until_ms = _open_end(before, hold.booked_until_ms, near)
        found.append(StoredHold(_over(hold, row), row, before))
    return found, list(known.values())


def _open_end(before: PodHold, booked_until_ms: int, near: Interval) -> int:
    """Until when a hold without an end is booked, as far as the data was loaded."""
    if near.contains(booked_until_ms):
        return booked_until_ms
    return max(booked_until_ms, before.booked_until_ms or 0)


def store_shown(
    settled: Sequence[StoredHold], gone: Sequence[PodHold]
) -> list[Interval]:
    """Write the holds that kube-state shows; returns the periods in which held time changed."""
    changed: list[Interval] = []
    rows: list[PodHold] = []
    for one in settled:
        row, before = one.row, one.before
        rows.extend(_changed(before, row))
        changed.extend(_all_of(row) if before is None else _moved(before, row))
    for row in gone:
        changed.extend(_all_of(row))
    PodHold.objects.filter(pk__in=[row.pk for row in gone]).delete()
    _write(rows)
    return changed


def _over(hold: Hold, row: PodHold) -> Hold:
    """A hold over its stored time."""
    end = hold.booked_until_ms if row.booked_until_ms is None else row.booked_until_ms
    return replace(hold, bound_ms=row.bound_ms, booked_until_ms=end)


def store_inferred(
    cluster: Cluster, derived: DerivedHolds, inventory: Inventory, ids: Ids
) -> list[Interval]:
    """Replace the stored inferred holds in the reach of the labels.

    Only for pods whose labels are loaded; stored holds of other pods were not computed again.
    Labels are loaded by the hour, so some are in a gap outside the reach; holds there do not
    change.
    """
    names = {
        (key.pod.namespace, key.pod.pod)
        for labels in (inventory.gpu_labels, inventory.far_labels)
        for key in labels
    }
    stored = {
        (row.pod_id, row.node_id, row.resource, row.bound_ms): row
        for row in overlapping(cluster, inventory.reach)
        if (row.pod.namespace.name, row.pod.name) in names
    }
    holds = [
        hold
        for hold in derived.holds
        if hold.is_inferred and _touches(hold, inventory.reach)
    ]
    _ensure_inferred_pods(cluster, holds, ids)
    changed: list[Interval] = []
    rows: list[PodHold] = []
    for hold in holds:
        row = _hold_row(hold, ids)
        places = mapped_places(hold, derived.labels_for(hold))
        row.label_counts = pack_labels(labels_kept(hold, Tally(), places))
        key = (row.pod_id, row.node_id, row.resource, row.bound_ms)
        before = stored.pop(key, None)
        rows.extend(_changed(before, row))
        changed.extend(_all_of(row) if before is None else _moved(before, row))
    for row in stored.values():
        changed.extend(_all_of(row))
    PodHold.objects.filter(pk__in=[row.pk for row in stored.values()]).delete()
    _write(rows)
    return changed


def overlapping(cluster: Cluster, period: Interval) -> QuerySet[PodHold]:
    """The stored holds that only labels show and that overlap a period, with their pods."""
    rows = PodHold.objects.filter(
        pod__cluster=cluster,
        is_inferred=True,
        bound_ms__lt=period.end_ms,
        booked_until_ms__gte=period.start_ms,
    )
    return rows.select_related("pod__namespace")


def _touches(hold: Hold, period: Interval) -> bool:
    """The condition of `overlapping` for a stored hold."""
    return hold.bound_ms < period.end_ms and hold.booked_until_ms >= period.start_ms


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
    """The row to write instead of the previous one; None if they are equal."""
    if before is None:
        return [row]
    row.pk = before.pk
    if row.label_counts is None:
        row.label_counts = before.label_counts
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
    "inferred_from_ms",
    "ended_by",
    "is_inferred",
    "label_counts",
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
        inferred_from_ms=hold.inferred_from_ms,
        ended_by=hold.ended_by,
        is_inferred=hold.is_inferred,
    )


def _differs(before: PodHold, after: PodHold) -> bool:
    names = [f"{name}_id" if name == "node" else name for name in _HOLD_FIELDS]
    return any(getattr(before, name) != getattr(after, name) for name in names)


def _span(row: PodHold) -> tuple[int, int]:
    """The time of a hold; empty if it was never booked."""
    if row.booked_until_ms is None:
        return row.bound_ms, row.bound_ms
    return row.bound_ms, row.booked_until_ms


def _moved(before: PodHold, after: PodHold) -> Iterable[Interval]:
    """Where held time changes: all of both holds if they hold different GPUs."""
    if _holding(before) != _holding(after) or _has_moved(before, after):
        return [*_all_of(before), *_all_of(after)]
    return _between(
        (*_span(before), _inferred_from(before)), (*_span(after), _inferred_from(after))
    )


def _inferred_from(row: PodHold) -> int:
    """From when on only labels show a hold (N13), as its facts are flagged. Its end, if never."""
    return _span(row)[1] if row.inferred_from_ms is None else row.inferred_from_ms


def _holding(row: PodHold) -> tuple[int, int, int, int]:
    """The held GPUs and their node."""
    return row.node_id, row.units, row.share_numerator, row.share_denominator


def _has_moved(before: PodHold, after: PodHold) -> bool:
    """True if a hold has other GPUs than before: N17 uses all of its time."""
    had, has = before.label_counts, after.label_counts
    if had is None or has is None:
        return False
    return unpack_labels(bytes(had)).places != unpack_labels(bytes(has)).places


def _all_of(row: PodHold) -> list[Interval]:
    start, end = _span(row)
    return [Interval(start, end)] if start < end else []


def _between(before: tuple[int, ...], after: tuple[int, ...]) -> Iterable[Interval]:
    """The periods between the old and the new position of each boundary."""
    return [
        Interval(min(low, high), max(low, high))
        for low, high in zip(before, after, strict=True)
        if low != high
    ]
