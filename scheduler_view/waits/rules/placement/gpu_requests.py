"""Which GPUs a pod requests: resources of its containers, or devices of its claims."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from scheduler_view.clusters.rules.quota_key import Added, resource_of
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.world import World

_LIKE_A_GPU = re.compile(
    r"(nvidia|amd|habana|gpu\.intel)\.(com|ai)/(gpus?|mig|gaudi)\b.*"
)
_PART = re.compile(r".*/gpu(cores|mem).*")


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """What one pod requests.

    Attributes:
        resource: as Kubernetes spells it, or the name of a device class; empty if unknown.
        units: GPUs, parts or devices; None if its claim is not there.
    """

    resource: str
    units: int | None


def is_gpu(resource: str, added: Added) -> bool:
    """Whether a resource is of GPUs, or is probably meant to be."""
    return _is_gpu(resource, tuple(sorted(added.items())) if added else ())


@lru_cache(maxsize=4096)
def _is_gpu(resource: str, names: tuple[tuple[str, str], ...]) -> bool:
    if _PART.fullmatch(resource):
        return False
    return (
        resource_of(resource, dict(names)) == resource
        or _LIKE_A_GPU.fullmatch(resource) is not None
    )


def gpus_of(spec: PodSpec, added: Added) -> dict[str, int]:
    """Thousandths of each GPU resource that a pod requests, without claims."""
    return {name: amount for name, amount in spec.requests if is_gpu(name, added)}


def gpu_request(
    world: World, namespace: str, spec: PodSpec, claims: Iterable[tuple[str, str]] = ()
) -> GpuRequest | None:
    """The GPUs of a pod; None if it requests none.

    Args:
        claims: names of the claims that were made for the pod, by the name in its spec.
    """
    found = gpus_of(spec, world.added)
    if found:
        resource = max(found, key=lambda name: (found[name], name))
        return GpuRequest(resource, found[resource] // 1000)
    if not spec.claims:
        return None
    made = dict(claims)
    for one in spec.claims:
        claim = world.claims.get((namespace, one.claim or made.get(one.name, "")))
        claim = claim or world.templates.get((namespace, one.template))
        if claim is not None and claim.requests:
            return GpuRequest(claim.requests[0].device_class, claim.count)
    return GpuRequest("", None)
