"""Volcano: figures of queues are metrics; Queue objects have what each may use.

Resource lists are maps, so each key has its own manager. Volcano's webhook checks what the
definition does not: `guarantee` <= `deserved` <= `capability`, the children's sums within their
parent, and that resources of `root` do not change.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
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
    shown,
)
from scheduler_view.clusters.rules.shape import AMOUNTS, FLAG, TEXT, WHOLE, Fields

QUEUE, ROOT = "VolcanoQueue", "root"
LISTS = ("deserved", "capability")
INT32 = 2**31 - 1
_SHAPE = Fields(
    spec=Fields(
        weight=WHOLE,
        capability=AMOUNTS,
        deserved=AMOUNTS,
        guarantee=Fields(resource=AMOUNTS),
        reclaimable=FLAG,
        parent=TEXT,
        priority=WHOLE,
        dequeueStrategy=TEXT,
    ),
    status=Fields(
        state=TEXT, allocated=AMOUNTS, pending=WHOLE, running=WHOLE, inqueue=WHOLE
    ),
)
_SPEC = (
    *("weight", "capability", "deserved", "guarantee", "reclaimable", "parent"),
    *("priority", "dequeueStrategy"),
)
_STATUS = ("state", "allocated", "pending", "running", "inqueue")


def _stored(manifest: Manifest) -> dict[str, Any]:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    return {
        "spec": {name: spec[name] for name in _SPEC if name in spec},
        "status": {name: status[name] for name in _STATUS if name in status},
    }


def _names(manifest: Manifest, resources: Iterable[str]) -> list[str]:
    found = set(resources)
    for name in LISTS:
        amounts = at_path(manifest, ("spec", name)) or {}
        found |= {one for one in amounts if resource_of(one) == one}
    return [*(f"{one}/{name}" for one in sorted(found) for name in LISTS), "weight"]


def _owned(field: str) -> tuple[str, ...]:
    if field == "weight":
        return ("spec", "weight")
    return ("spec", name_of(field), part_of(field))


def _path(field: str, manifest: Manifest) -> Path:
    del manifest
    return _owned(field)


def _raw(field: str, value: str) -> Any:
    return int(value) if field == "weight" else value


def _unknown(field: str, added: Added) -> str:
    part = part_of(field)
    is_gpu = bool(part) and resource_of(part, added) == part
    if field == "weight" or (is_gpu and name_of(field) in LISTS):
        return ""
    lists = " or ".join(LISTS)
    return (
        f"must be weight, or RESOURCE/LIST with a GPU resource, where LIST is {lists}"
    )


def _fault(field: str, value: str, _: Added) -> str:
    return integer_fault(value, 1, INT32) if field == "weight" else gpus_fault(value)


def _resource(field: str) -> str | None:
    return part_of(field) or None


def _amounts(manifest: Manifest, name: str) -> Mapping[str, Fraction]:
    path = ("spec", name, "resource") if name == "guarantee" else ("spec", name)
    found = {one: number_of(v) for one, v in (at_path(manifest, path) or {}).items()}
    return {one: number for one, number in found.items() if number is not None}


def _rules(manifest: Manifest, others: Sequence[Manifest]) -> list[str]:
    """Faults of the amounts of a queue; each is a sentence."""
    name = manifest["metadata"]["name"]
    found = _order(manifest)
    by_name = {one["metadata"]["name"]: one for one in others}
    parent = by_name.get(_parent(manifest))
    if name != ROOT and parent is not None:
        found += _within(parent, others)
    return found + _within(manifest, others)


def _order(manifest: Manifest) -> list[str]:
    found = []
    pairs = (
        ("guarantee", "deserved"),
        ("deserved", "capability"),
        ("guarantee", "capability"),
    )
    for less, more in pairs:
        low, high = _amounts(manifest, less), _amounts(manifest, more)
        found += [
            f"{less} of {one} is {_shown(low[one])}, more than {more} "
            f"{_shown(high[one])}"
            for one in sorted(set(low) & set(high))
            if low[one] > high[one]
        ]
    return found


def _within(parent: Manifest, others: Sequence[Manifest]) -> list[str]:
    """Faults of the children of a queue against what it has itself."""
    name = parent["metadata"]["name"]
    own = [
        one
        for one in others
        if one["metadata"]["name"] != name and _parent(one) == name
    ]
    found = []
    for kind in ("guarantee", "deserved"):
        for one, most in sorted(_amounts(parent, kind).items()):
            amounts = (_amounts(c, kind).get(one, Fraction(0)) for c in own)
            total = sum(amounts, Fraction(0))
            if total > most:
                found.append(
                    f"{kind} of {one} of the queues below {name} adds up to "
                    f"{_shown(total)}, more than its {_shown(most)}"
                )
    for one, most in sorted(_amounts(parent, "capability").items()):
        found += [
            f"capability of {one} of {c['metadata']['name']} is above that of its parent "
            f"{name}, {_shown(most)}"
            for c in own
            if _amounts(c, "capability").get(one, 0) > most
        ]
    return found


def _parent(manifest: Manifest) -> str:
    return str(at_path(manifest, ("spec", "parent")) or ROOT)


def _shown(value: Fraction) -> str:
    """`8`, `0.5`."""
    return shown(float(value))


def _used(manifest: Manifest, part: str) -> str | None:
    found = at_path(manifest, ("status", "allocated"))
    if not isinstance(found, Mapping) or not part:
        return None
    return shown(found.get(part, "0"))


ADAPTER = SchedulerAdapter(
    "volcano",
    "Volcano",
    objects=(
        QueueObjects(
            kind=QUEUE,  # `Queue` of scheduling.volcano.sh; other APIs use that name too
            endpoints=(
                Endpoint(
                    "scheduling.volcano.sh/v1beta1", "queues", is_namespaced=False
                ),
            ),
            shape=_SHAPE,
            stored=_stored,
            fields=QueueFields(
                SentAs.APPLY,
                names=_names,
                path=_path,
                raw=_raw,
                unknown=_unknown,
                fault=_fault,
                owned=_owned,
                resource=_resource,
                rules=_rules,
                used=_used,
                fixed=frozenset({ROOT}),
            ),
        ),
    ),
)
