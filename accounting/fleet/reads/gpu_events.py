"""Events of a GPU and of its nodes: added, moved, removed, upgraded, errors."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.db.models import Q

from accounting.core.interval import to_instant, to_ms
from accounting.core.issue_catalogue import text_of
from accounting.fleet.reads.drivers import driver_of
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import GpuPresence, NodeFact
from accounting.metering.models.ledger import DataIssue

MOST = 100
HARDWARE_ERRORS = {"gpu_xid": "XID", "gpu_ecc": "ECC", "gpu_row_remap": "Row remap"}


@dataclass(frozen=True, slots=True)
class GpuEvent:
    """One event; `until` if it lasted."""

    at: datetime
    title: str
    detail: str
    until: datetime | None = None
    is_error: bool = False  # of the hardware


def gpu_events(selection: Selection, uuid: str) -> list[GpuEvent]:
    """The newest events of one GPU, newest first, for any period.

    Raises:
        HiddenError: the scope does not cover all teams.
    """
    if not selection.scope.sees_all:
        raise HiddenError("only finance and administrators can see GPUs of all teams")
    presences = list(
        GpuPresence.objects.filter(gpu__uuid=uuid)
        .select_related("node", "gpu")
        .order_by("start_ms")
    )
    if not presences:
        return []
    events = [*_places(presences), *_facts(presences), *_issues(presences, uuid)]
    return sorted(events, key=lambda event: event.at, reverse=True)[:MOST]


def _places(presences: list[GpuPresence]) -> Iterator[GpuEvent]:
    last: GpuPresence | None = None
    for presence in presences:
        name = presence.node.name
        at = to_instant(presence.start_ms)
        if last is None:
            yield GpuEvent(at, "First seen", f"on {name}")
        elif last.node_id != presence.node_id:
            yield GpuEvent(at, "Moved", f"from {last.node.name} to {name}")
        else:
            yield GpuEvent(at, "Present again", f"on {name}")
        if presence.end_ms is not None:
            yield GpuEvent(to_instant(presence.end_ms), "Gone", f"from {name}")
        last = presence


# labels of nodes in kube-state's spelling, and the meaning of their changes
_LABELS = {
    "label_nvidia_com_cuda_runtime_version_full": "CUDA changed",
    "label_nvidia_com_gpu_product": "Product label changed",
    "label_nvidia_com_gpu_replicas": "Sharing changed",
    "label_nvidia_com_gpu_sharing_strategy": "Sharing changed",
    "label_nvidia_com_mig_strategy": "MIG strategy changed",
    "label_nvidia_com_mig_config": "MIG layout changed",
    "label_amd_com_compute_memory_partition": "Partitioning changed",
}


def _facts(presences: list[GpuPresence]) -> Iterator[GpuEvent]:
    """Changes of its nodes' labels while it was present."""
    by_node: dict[int, list[NodeFact]] = {}
    nodes = {presence.node_id for presence in presences}
    for fact in NodeFact.objects.filter(node_id__in=nodes).order_by("valid_from"):
        by_node.setdefault(fact.node_id, []).append(fact)
    for node_id, facts in by_node.items():
        spans = [(p.start_ms, p.end_ms) for p in presences if p.node_id == node_id]
        for before, after in pairwise(facts):
            at_ms = to_ms(after.valid_from)
            if any(low <= at_ms and (end is None or at_ms < end) for low, end in spans):
                yield from _changes(before, after)


def _changes(before: NodeFact, after: NodeFact) -> Iterator[GpuEvent]:
    at = after.valid_from
    for resource in sorted({*before.capacity, *after.capacity}):
        old, new = before.capacity.get(resource, 0), after.capacity.get(resource, 0)
        if old != new:
            yield GpuEvent(
                at, "Capacity of its node changed", f"{resource}: {old} → {new}"
            )
    if before.labels.get("unschedulable") != after.labels.get("unschedulable"):
        is_cordoned = after.labels.get("unschedulable") == "true"
        title = "Node cordoned" if is_cordoned else "Node schedulable again"
        yield GpuEvent(
            at, title, "No new pods are scheduled on it" if is_cordoned else ""
        )
    if before.lifecycle != after.lifecycle:
        yield GpuEvent(
            at, "Lifecycle changed", f"{before.lifecycle} → {after.lifecycle}"
        )
    for label, title in _LABELS.items():
        yield from _change(at, title, before.labels.get(label), after.labels.get(label))
    yield from _change(
        at, "Driver changed", driver_of(before.labels), driver_of(after.labels)
    )


def _change(
    at: datetime, title: str, old: str | None, new: str | None
) -> Iterator[GpuEvent]:
    if old != new and (old or new):
        yield GpuEvent(at, title, f"{old or 'none'} → {new or 'none'}")


def _issues(presences: list[GpuPresence], uuid: str) -> Iterator[GpuEvent]:
    """Its data issues: hardware errors and samples that are not valid."""
    about = Q(subject=uuid) | Q(subject__startswith=f"{uuid} ")
    cluster = presences[0].gpu.cluster_id
    for issue in DataIssue.objects.filter(about, cluster_id=cluster):
        yield GpuEvent(
            issue.first_seen,
            text_of(issue.code).title,
            issue.message,
            issue.last_seen,
            issue.code in HARDWARE_ERRORS,
        )
