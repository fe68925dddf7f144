"""Nodes of the tree of queues from stored objects, by kind of object.

Fields with a wrong type were left out when the objects were stored (`objects/object_shapes.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from accounting.metering.rules.inventory.scheduler_queues import UNLIMITED
from scheduler_view.clusters.rules.json_operations import at_path
from scheduler_view.clusters.rules.optional_kinds import COHORT, KAI_QUEUE, LOCAL_QUEUE
from scheduler_view.clusters.rules.quota_key import Added, resource_of
from scheduler_view.clusters.rules.schedulers import kai, kueue, volcano
from scheduler_view.clusters.rules.schedulers.queue_fields import number_of
from scheduler_view.quotas.rules.limits.queue_node import (
    Amount,
    Manifest,
    QueueName,
    QueueNode,
)

_HELD = {
    "Hold": "It is on hold: nothing is admitted.",
    "HoldAndDrain": "It is on hold: nothing is admitted, and its work is ended.",
}


def queue_nodes(
    stored: Iterable[tuple[str, str, str, Manifest]], added: Added
) -> list[QueueNode]:
    """The nodes of all queues of a cluster.

    Args:
        stored: kind, namespace, name and stored part.
        added: resources that an administrator added.
    """
    found = [
        node
        for kind, namespace, name, manifest in stored
        if kind in _READERS
        for node in _READERS[kind](QueueName(kind, namespace, name), manifest, added)
    ]
    names = {one.name for one in found}
    # A cohort exists as soon as a queue names it; an object of it is optional.
    cohorts = {one.parent for one in found if one.parent and one.parent.kind == COHORT}
    found += [QueueNode(name) for name in sorted(cohorts - names)]
    return found


def _cluster_queue(
    name: QueueName, manifest: Manifest, added: Added
) -> Iterator[QueueNode]:
    cohort = kueue.cohort_of(manifest)
    above = QueueName(COHORT, "", cohort) if cohort else None
    status = manifest.get("status") or {}
    policy = str((manifest.get("spec") or {}).get("stopPolicy") or "")
    entries = list(_flavors(manifest, added))
    for flavor, resource, one in entries or [("", "", {})]:
        yield QueueNode(
            name,
            above,
            flavor,
            resource,
            quota=number_of(one.get("nominalQuota")),
            may_borrow=_limit(one.get("borrowingLimit")) if above and one else None,
            may_lend=_limit(one.get("lendingLimit")) if above and one else None,
            used=_reserved(status, flavor, resource),
            waiting=status.get("pendingWorkloads"),
            stopped=_HELD.get(policy) or _inactive(status),
        )


def _cohort(name: QueueName, manifest: Manifest, added: Added) -> Iterator[QueueNode]:
    parent = str((manifest.get("spec") or {}).get("parentName") or "")
    above = QueueName(COHORT, "", parent) if parent else None
    for flavor, resource, one in list(_flavors(manifest, added)) or [("", "", {})]:
        yield QueueNode(
            name,
            above,
            flavor,
            resource,
            quota=number_of(one.get("nominalQuota")),
            may_borrow=_limit(one.get("borrowingLimit")) if above and one else None,
            may_lend=_limit(one.get("lendingLimit")) if above and one else None,
            used=Fraction(0) if one else None,  # only its queues use it
        )


def _local_queue(name: QueueName, manifest: Manifest, _: Added) -> Iterator[QueueNode]:
    above = QueueName(kueue.CLUSTER_QUEUE, "", kueue.served(manifest))
    policy = str((manifest.get("spec") or {}).get("stopPolicy") or "")
    waiting = (manifest.get("status") or {}).get("pendingWorkloads")
    yield QueueNode(name, above, waiting=waiting, stopped=_HELD.get(policy, ""))


def _volcano_queue(
    name: QueueName, manifest: Manifest, added: Added
) -> Iterator[QueueNode]:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    is_root = name.name == volcano.ROOT
    parent = str(spec.get("parent") or volcano.ROOT)
    above = None if is_root else QueueName(name.kind, "", parent)
    lists = [spec.get(one) or {} for one in volcano.LISTS]
    resources = {
        key for one in lists for key in one if resource_of(key, added) is not None
    }
    state = str(status.get("state") or "")
    for resource in sorted(resources) or [""]:
        used = at_path(status, ("allocated", resource)) if resource else None
        yield QueueNode(
            name,
            above,
            resource=resource,
            quota=number_of(at_path(spec, ("deserved", resource))),
            most=number_of(at_path(spec, ("capability", resource))),
            used=number_of(used or "0") if resource and "allocated" in status else None,
            waiting=int(status["pending"]) if "pending" in status else None,
            stopped="It is closed: nothing is admitted."
            if state in ("Closed", "Closing")
            else "",
            is_lent_from=spec.get("reclaimable") is not False,
        )


def _kai_queue(name: QueueName, manifest: Manifest, _: Added) -> Iterator[QueueNode]:
    spec = manifest.get("spec") or {}
    parent = str(spec.get("parentQueue") or "")
    gpu = at_path(spec, ("resources", "gpu")) or {}
    facts = kai.facts(name.name, manifest, 0)
    yield QueueNode(
        name,
        QueueName(name.kind, "", parent) if parent else None,
        quota=_open(gpu.get("quota")),
        most=_open(gpu.get("limit")),
        used=number_of(facts.used),
        asked=number_of(facts.pending),
    )


def _flavors(
    manifest: Manifest, added: Added
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for group in at_path(manifest, ("spec", "resourceGroups")) or []:
        for flavor in group.get("flavors") or []:
            for one in flavor.get("resources") or []:
                if resource_of(one.get("name") or "", added) is not None:
                    yield str(flavor.get("name") or ""), one["name"], one


def _reserved(status: Mapping[str, Any], flavor: str, resource: str) -> Fraction | None:
    """What a queue reserved of a flavor; None before its controller wrote a status."""
    for one in status.get("flavorsReservation") or []:
        if one.get("name") == flavor:
            for entry in one.get("resources") or []:
                if entry.get("name") == resource:
                    number: Fraction | None = number_of(entry.get("total"))
                    return number
    return None


def _inactive(status: Mapping[str, Any]) -> str:
    """Why Kueue cannot use a queue: its condition Active is false."""
    for one in status.get("conditions") or []:
        if one.get("type") == "Active" and one.get("status") == "False":
            return f"It is not active ({one.get('reason')}): nothing is admitted."
    return ""


def _limit(value: object) -> Amount:
    return UNLIMITED if value is None else _amount(value)


def _open(value: object) -> Amount:
    """-1 of KAI means no limit."""
    number = _amount(value)
    is_open = isinstance(number, Fraction) and number < 0
    return UNLIMITED if is_open else number


def _amount(value: object) -> Fraction | None:
    number: Fraction | None = number_of(value)
    return number


_READERS: Mapping[str, Callable[[QueueName, Manifest, Added], Iterator[QueueNode]]] = {
    kueue.CLUSTER_QUEUE: _cluster_queue,
    COHORT: _cohort,
    LOCAL_QUEUE: _local_queue,
    volcano.QUEUE: _volcano_queue,
    KAI_QUEUE: _kai_queue,
}
