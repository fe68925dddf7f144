"""Which keys of a ResourceQuota limit GPUs, and one resource spelled in three ways.

A *resource* is what one key counts, in Kubernetes' spelling: `nvidia.com/gpu`,
`nvidia.com/mig-1g.10gb`, or the complete key of a DRA device class. Only two kinds of keys are
enforced (trap T25, measured on Kubernetes 1.34.4): `requests.<resource>` and
`<class>.deviceclass.resource.k8s.io/devices`. The resources are those that the product knows and
those that an administrator added (`Added`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from accounting.metering.rules.units.resources import kubernetes_resource, sanitised

REQUESTS, LIMITS = "requests.", "limits."
DRA_SUFFIX = ".deviceclass.resource.k8s.io/devices"
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_EXAMPLES = (
    "requests.nvidia.com/gpu, requests.nvidia.com/mig-1g.10gb or "
    f"gpu.nvidia.com{DRA_SUFFIX}"
)


Added = Mapping[str, str]  # resources by kube-state's spelling of them
NONE_ADDED: Added = {}


class KeyRefused(ValueError):
    """A key that would limit nothing, or that we do not manage."""


@dataclass(frozen=True, slots=True)
class QuotaKey:
    """A key that limits GPUs.

    Attributes:
        resource: that it counts.
        note: what was rewritten, as a sentence; empty if nothing was.
    """

    resource: str
    note: str = ""

    @property
    def key(self) -> str:
        """The key as written in `spec.hard`."""
        return key_of(self.resource)


def key_of(resource: str) -> str:
    """The quota key of a resource."""
    return resource if is_dra(resource) else REQUESTS + resource


def is_dra(resource: str) -> bool:
    """True for a DRA device class."""
    return resource.endswith(DRA_SUFFIX)


def is_mig(resource: str) -> bool:
    """True for a MIG profile."""
    return "/mig-" in resource


def resource_of(text: str, added: Added = NONE_ADDED) -> str | None:
    """One GPU resource, however spelled; None for anything else.

    Kubernetes writes `nvidia.com/gpu`, kube-state-metrics `nvidia_com_gpu`, a quota
    `requests.nvidia.com/gpu`.
    """
    bare = text.removeprefix(REQUESTS).removeprefix(LIMITS)
    if is_dra(bare):
        return bare
    return kubernetes_resource(sanitised(bare), added)


def quota_key(text: str, added: Added = NONE_ADDED) -> QuotaKey:
    """The key for a text.

    Args:
        text: as typed.
        added: resources that an administrator added.

    Raises:
        KeyRefused: not a key of a GPU resource; explains why and what to write.
    """
    text = text.strip()
    if is_dra(text):
        return _device_class(text)
    resource = resource_of(text, added)
    if resource is None:
        raise KeyRefused(_why_not(text))
    if text in (resource, key_of(resource)):
        return QuotaKey(resource)
    if text.startswith(LIMITS):
        return QuotaKey(
            resource,
            f"{text} is accepted by Kubernetes but has no effect; {key_of(resource)} is used "
            "instead",
        )
    return QuotaKey(resource, f"{text} must be written as {key_of(resource)}")


def does_nothing(key: str, added: Added = NONE_ADDED) -> str:
    """Why a key in a live quota limits no GPUs; empty if it does."""
    resource = resource_of(key, added)
    if resource is None or is_dra(key):
        return ""
    if key.startswith(LIMITS):
        return f"{key} is not enforced for GPUs; use {key_of(resource)}"
    if not key.startswith(REQUESTS):
        return f"{key} has no prefix `requests.` and has no effect"
    return ""


def _device_class(text: str) -> QuotaKey:
    name = text.removesuffix(DRA_SUFFIX)
    if len(name) > 253 - len(DRA_SUFFIX) or not _SUBDOMAIN.fullmatch(name):
        raise KeyRefused(
            f"{text[:80]!r} does not start with a device class name: lowercase letters, digits, "
            "dashes and dots"
        )
    return QuotaKey(text)


def _why_not(text: str) -> str:
    shown = repr(text[:80])
    if len(text) > 317:  # prefix 253 + "/" + name 63
        return f"{shown}... is too long"
    if text.startswith("count/"):
        return f"{shown} counts objects, not GPUs; use {_EXAMPLES}"
    if "/" not in text:
        return f"{shown} is not a GPU resource; use {_EXAMPLES}"
    return (
        f"{shown} is not a known GPU resource; use {_EXAMPLES}, or add it under `resources` in "
        "the setup file"
    )
