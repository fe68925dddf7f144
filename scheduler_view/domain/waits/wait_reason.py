"""Why work waits: from a pod's condition, or from a controller whose pod was refused.

The exact wording of the scheduler does not matter: an unknown sentence is kept unchanged, under
`other`. If a sentence has several parts, the part about GPUs is used.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from scheduler_view.domain.quotas.quantity import gpus_or_none
from scheduler_view.domain.quotas.quota_key import NONE_ADDED, Added, resource_of

Manifest = Mapping[str, Any]
OVER_QUOTA = "exceeded quota"  # of the API server's rejection
_LACKING = re.compile(r"Insufficient ([\w./-]+?)[.,;]?(?=\s|$)")
_RULES = re.compile(r"taint|affinity|selector|unschedulable", re.IGNORECASE)
_VOLUME = re.compile(r"volume|PersistentVolumeClaim", re.IGNORECASE)
_REQUESTED = re.compile(r"requested: (.*?), used:")


class WaitReason(StrEnum):
    """The reason; shown with the message."""

    QUOTA = "quota"  # a quota is exceeded; there is no pod yet
    HELD_BACK = "held_back"  # a scheduling gate, as set by queues
    NO_FREE_GPU = "no_free_gpu"  # matching nodes have too few free GPUs
    NO_FITTING_NODE = "no_fitting_node"  # taints, affinity, selectors
    VOLUME = "volume"
    OTHER = "other"
    NOT_TRIED = "not_tried"  # no message of a scheduler yet


def reason_of_pod(pod: Manifest, added: Added = NONE_ADDED) -> tuple[WaitReason, str]:
    """Why a pod is unscheduled, and the scheduler's message.

    Args:
        pod: as stored by `kept`.
        added: resources that an administrator added.
    """
    gates = [str(g.get("name")) for g in pod["spec"].get("schedulingGates") or []]
    said: Manifest = next(
        (
            one
            for one in (pod.get("status") or {}).get("conditions") or []
            if one.get("type") == "PodScheduled" and one.get("status") == "False"
        ),
        {},
    )
    message = str(said.get("message") or "")
    if gates or said.get("reason") == "SchedulingGated":
        return WaitReason.HELD_BACK, message or f"gates: {', '.join(gates)}"
    if not message:
        return WaitReason.NOT_TRIED, ""
    return reason_of_message(message, added), message


def reason_of_message(message: str, added: Added = NONE_ADDED) -> WaitReason:
    """The reason in a scheduler's sentence."""
    if any(resource_of(name, added) for name in _LACKING.findall(message)):
        return WaitReason.NO_FREE_GPU
    if _VOLUME.search(message):
        return WaitReason.VOLUME
    if _RULES.search(message):
        return WaitReason.NO_FITTING_NODE
    return WaitReason.OTHER


def asked_of_pod(pod: Manifest, added: Added = NONE_ADDED) -> dict[str, int]:
    """Units of each GPU resource that a pod requests; without claims.

    Sidecars + max(sum of the others, largest init container), as rules.md counts requests.
    """
    spec = pod["spec"]
    main = _sum(spec.get("containers") or [], added)
    first = spec.get("initContainers") or []
    side = _sum([c for c in first if c.get("restartPolicy") == "Always"], added)
    inits = [_sum([c], added) for c in first if c.get("restartPolicy") != "Always"]
    names = {*main, *side, *(name for one in inits for name in one)}
    return {
        name: side.get(name, 0)
        + max(main.get(name, 0), max((one.get(name, 0) for one in inits), default=0))
        for name in sorted(names)
    }


def asked_of_refusal(message: str, added: Added = NONE_ADDED) -> dict[str, int]:
    """Units in a controller's refusal, of `exceeded quota: a, requested: k=v, used: ...`.

    Empty if the quota limits no GPUs.
    """
    found = _REQUESTED.search(message)
    pairs = [part.partition("=") for part in found[1].split(",")] if found else []
    named = [(resource_of(key.strip(), added), value) for key, _, value in pairs]
    return {name: gpus_or_none(value) or 0 for name, value in named if name}


def _sum(containers: list[Manifest], added: Added) -> dict[str, int]:
    found: dict[str, int] = {}
    for container in containers:
        resources = container.get("resources") or {}
        amounts = (resources.get("limits") or {}) | (resources.get("requests") or {})
        for name, value in amounts.items():
            resource, units = resource_of(name, added), gpus_or_none(value)
            if resource is not None and units:
                found[resource] = found.get(resource, 0) + units
    return found
