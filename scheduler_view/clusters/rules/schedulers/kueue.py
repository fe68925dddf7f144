"""Kueue: figures of ClusterQueues are metrics; objects have their quotas and who uses them.

`spec.resourceGroups` is an atomic list, so its values are changed by JSON patch. Kueue's webhook
checks what the definition does not: no negative quota, `lendingLimit` at most `nominalQuota`, no
flavor or resource twice, resources in the order of `coveredResources`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scheduler_view.clusters.rules.json_operations import at_path
from scheduler_view.clusters.rules.quota_key import Added, resource_of
from scheduler_view.clusters.rules.schedulers.adapter import (
    Endpoint,
    Manifest,
    QueueObjects,
    SchedulerAdapter,
)
from scheduler_view.clusters.rules.schedulers.queue_fields import (
    Path,
    QueueFields,
    SentAs,
    gpus_fault,
    integer_fault,
    name_of,
    number_of,
    part_of,
    quantity_fault,
    shown,
)
from scheduler_view.clusters.rules.shape import (
    CONDITIONS,
    QUANTITY,
    TEXT,
    TEXTS,
    WHOLE,
    Fields,
    Items,
)

LIMITS = ("nominalQuota", "borrowingLimit", "lendingLimit")
CLUSTER_QUEUE, PRIORITY = "ClusterQueue", "WorkloadPriorityClass"
INT32 = 2**31 - 1
LONGEST_DESCRIPTION = 2048
_GROUPS = ("spec", "resourceGroups")
_FLAVORS = Items(
    Fields(
        name=TEXT,
        resources=Items(
            Fields(
                name=TEXT,
                nominalQuota=QUANTITY,
                borrowingLimit=QUANTITY,
                lendingLimit=QUANTITY,
                total=QUANTITY,
                borrowed=QUANTITY,
            )
        ),
    )
)
_RESOURCE_GROUPS = Items(Fields(coveredResources=TEXTS, flavors=_FLAVORS))
_QUEUE_SHAPE = Fields(
    spec=Fields(
        resourceGroups=_RESOURCE_GROUPS,
        cohortName=TEXT,
        cohort=TEXT,
        queueingStrategy=TEXT,
        stopPolicy=TEXT,
    ),
    status=Fields(
        flavorsReservation=_FLAVORS,
        flavorsUsage=_FLAVORS,
        pendingWorkloads=WHOLE,
        reservingWorkloads=WHOLE,
        admittedWorkloads=WHOLE,
        conditions=CONDITIONS,
    ),
)
_QUEUE_SPEC = (
    *("resourceGroups", "cohortName", "cohort", "queueingStrategy", "stopPolicy"),
    *("fairSharing", "preemption"),
)
_QUEUE_STATUS = (
    *("flavorsReservation", "flavorsUsage", "pendingWorkloads"),
    *("reservingWorkloads", "admittedWorkloads"),
)


def served(manifest: Manifest) -> str:
    """The ClusterQueue of a LocalQueue's namespace."""
    return str((manifest.get("spec") or {}).get("clusterQueue") or "")


def cohort_of(manifest: Manifest) -> str:
    """The cohort of a ClusterQueue; empty without one (v1beta1: `spec.cohort`)."""
    spec = manifest.get("spec") or {}
    return str(spec.get("cohortName") or spec.get("cohort") or "")


def _stored_local_queue(manifest: Manifest) -> dict[str, Any]:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    return {
        "spec": {n: spec[n] for n in ("clusterQueue", "stopPolicy") if n in spec},
        "status": {n: status[n] for n in ("pendingWorkloads",) if n in status},
    }


def _stored_cluster_queue(manifest: Manifest) -> dict[str, Any]:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    active = [
        {name: one.get(name) for name in ("type", "status", "reason")}
        for one in status.get("conditions") or []
        if one.get("type") == "Active"
    ]
    return {
        "spec": {name: spec[name] for name in _QUEUE_SPEC if name in spec},
        "status": {name: status[name] for name in _QUEUE_STATUS if name in status}
        | {"conditions": active},
    }


def _stored_cohort(manifest: Manifest) -> dict[str, Any]:
    spec = manifest.get("spec") or {}
    names = ("parentName", "resourceGroups")
    return {"spec": {name: spec[name] for name in names if name in spec}}


def _stored_priority(manifest: Manifest) -> dict[str, Any]:
    return {
        name: manifest[name] for name in ("value", "description") if name in manifest
    }


def _entries(manifest: Manifest) -> Iterator[tuple[str, Path]]:
    """Each resource of each flavor, as `FLAVOR/RESOURCE`, with its path."""
    for g, group in enumerate(at_path(manifest, _GROUPS) or []):
        for f, flavor in enumerate(group.get("flavors") or []):
            for r, one in enumerate(flavor.get("resources") or []):
                part = f"{flavor.get('name')}/{one.get('name')}"
                yield part, (*_GROUPS, g, "flavors", f, "resources", r)


def _names(manifest: Manifest, resources: Iterable[str]) -> list[str]:
    del resources  # only what is there can be changed
    return [f"{part}/{name}" for part, _ in _entries(manifest) for name in LIMITS]


def _path(field: str, manifest: Manifest) -> Path | None:
    paths = (path for part, path in _entries(manifest) if part == part_of(field))
    found = next(paths, None)
    is_known = found is not None and name_of(field) in LIMITS
    return (*found, name_of(field)) if found is not None and is_known else None


def _marks(manifest: Manifest) -> list[tuple[Path, str]]:
    """The names of all flavors and resources, with their paths."""
    found: dict[Path, str] = {}
    for _, path in _entries(manifest):
        for place in ((*path[:5], "name"), (*path, "name")):
            found[place] = at_path(manifest, place)
    return list(found.items())


def _resource(field: str) -> str:
    return part_of(field).partition("/")[2]


def _unknown(field: str, added: Added) -> str:
    del added  # a ClusterQueue may have any resource
    flavor, _, resource = part_of(field).partition("/")
    if flavor and resource and name_of(field) in LIMITS:
        return ""
    return f"must be FLAVOR/RESOURCE/LIMIT, where LIMIT is one of {', '.join(LIMITS)}"


def _fault(field: str, value: str, added: Added) -> str:
    is_gpu = resource_of(_resource(field), added) is not None
    return gpus_fault(value) if is_gpu else quantity_fault(value)


def _rules(manifest: Manifest, others: Sequence[Manifest]) -> list[str]:
    """Faults of the quotas of a ClusterQueue; each is a sentence."""
    del others
    found = []
    parts = [part for part, _ in _entries(manifest)]
    found += [
        f"{p} is listed twice" for p in dict.fromkeys(parts) if parts.count(p) > 1
    ]
    for part, path in _entries(manifest):
        one = at_path(manifest, path)
        numbers = {name: number_of(one.get(name)) for name in LIMITS}
        found += [
            f"{part}/{name} is negative"
            for name, number in numbers.items()
            if number is not None and number < 0
        ]
        nominal, lending = numbers["nominalQuota"], numbers["lendingLimit"]
        if nominal is not None and lending is not None and lending > nominal:
            found.append(
                f"lendingLimit of {part} is {one['lendingLimit']}, more than its "
                f"nominalQuota {one['nominalQuota']}"
            )
    for group in at_path(manifest, _GROUPS) or []:
        covered = list(group.get("coveredResources") or [])
        for flavor in group.get("flavors") or []:
            names = [one.get("name") for one in flavor.get("resources") or []]
            if names != covered:
                found.append(
                    f"the resources of flavor {flavor.get('name')} are not in the order of "
                    "coveredResources"
                )
    return found


def _used(manifest: Manifest, part: str) -> str | None:
    """What the queue has reserved of a resource of a flavor."""
    flavor, _, resource = part.partition("/")
    for one in at_path(manifest, ("status", "flavorsReservation")) or []:
        for entry in one.get("resources") or []:
            if (one.get("name"), entry.get("name")) == (flavor, resource):
                total = entry.get("total")
                return None if total is None else shown(total)
    return None


def _priority_unknown(field: str, _: Added) -> str:
    is_known = field in ("value", "description")
    return "" if is_known else "must be value or description"


def _priority_fault(field: str, value: str, _: Added) -> str:
    if field == "value":
        return integer_fault(value, -INT32 - 1, INT32)
    is_long = len(value) > LONGEST_DESCRIPTION
    return f"is longer than {LONGEST_DESCRIPTION} characters" if is_long else ""


def _kueue(plural: str, *, is_namespaced: bool = True) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(f"kueue.x-k8s.io/{version}", plural, is_namespaced)
        for version in ("v1beta2", "v1beta1")  # v1beta1: before 0.15
    )


ADAPTER = SchedulerAdapter(
    "kueue",
    "Kueue",
    objects=(
        QueueObjects(
            kind="LocalQueue",
            endpoints=_kueue("localqueues"),
            shape=Fields(
                spec=Fields(clusterQueue=TEXT, stopPolicy=TEXT),
                status=Fields(pendingWorkloads=WHOLE),
            ),
            stored=_stored_local_queue,
            served=served,
        ),
        QueueObjects(
            kind=CLUSTER_QUEUE,
            endpoints=_kueue("clusterqueues", is_namespaced=False),
            shape=_QUEUE_SHAPE,
            stored=_stored_cluster_queue,
            fields=QueueFields(
                SentAs.PATCH,
                names=_names,
                path=_path,
                raw=lambda _, value: value,
                unknown=_unknown,
                fault=_fault,
                owned=lambda _: _GROUPS,
                resource=_resource,
                rules=_rules,
                used=_used,
                marks=_marks,
                required=frozenset({LIMITS[0]}),
            ),
        ),
        QueueObjects(
            kind="Cohort",
            endpoints=_kueue("cohorts", is_namespaced=False),
            shape=Fields(spec=Fields(parentName=TEXT, resourceGroups=_RESOURCE_GROUPS)),
            stored=_stored_cohort,
        ),
        QueueObjects(
            kind=PRIORITY,
            endpoints=_kueue("workloadpriorityclasses", is_namespaced=False),
            shape=Fields(value=WHOLE, description=TEXT),
            stored=_stored_priority,
            fields=QueueFields(
                SentAs.APPLY,
                names=lambda _, __: ["value", "description"],
                path=lambda field, _: (field,),
                raw=lambda field, value: int(value) if field == "value" else value,
                unknown=_priority_unknown,
                fault=_priority_fault,
                owned=lambda field: (field,),
                resource=lambda _: None,
                rules=lambda _, __: [],
                texts=frozenset({"description"}),
                required=frozenset({"value"}),
            ),
        ),
    ),
)
