"""Dynamic resource allocation as observed: claims, device classes and published devices."""

import re
from dataclasses import dataclass

from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    is_true,
    items,
    part,
    text,
    whole,
)
from scheduler_view.waits.rules.world.pods import ControllerRef, controller_of
from scheduler_view.waits.rules.world.selectors import NodeTerm, node_terms

_DRIVER = re.compile(r"""device\.driver\s*==\s*["']([^"']+)["']""")


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """One request of a claim: devices of a class; `selects` if it has conditions of its own."""

    device_class: str
    count: int
    selects: bool = False


@dataclass(frozen=True, slots=True)
class DeviceClaim:
    """A ResourceClaim, or its template.

    Attributes:
        devices: allocated ones, as (driver, pool, name).
        pods: uids of pods for which it is reserved.
        nodes: where an allocated claim may be used; None for any.
    """

    namespace: str
    name: str
    requests: tuple[DeviceRequest, ...]
    owner: ControllerRef | None = None
    is_allocated: bool = False
    devices: tuple[tuple[str, str, str], ...] = ()
    pods: frozenset[str] = frozenset()
    nodes: tuple[NodeTerm, ...] | None = None

    @property
    def count(self) -> int:
        """Devices that are requested."""
        return sum(one.count for one in self.requests)


@dataclass(frozen=True, slots=True)
class DeviceClassObject:
    """A DeviceClass; `driver` is empty if its selectors name none."""

    name: str
    driver: str = ""


@dataclass(frozen=True, slots=True)
class PublishedDevices:
    """The devices of one ResourceSlice."""

    driver: str
    node: str
    pool: str
    names: tuple[str, ...]


def device_claim(manifest: Manifest) -> DeviceClaim:
    """A ResourceClaim from the API server's JSON."""
    metadata, status = part(manifest, "metadata"), part(manifest, "status")
    results = items(status, "allocation", "devices", "results")
    return DeviceClaim(
        text(metadata, "namespace"),
        text(metadata, "name"),
        _requests(part(manifest, "spec")),
        controller_of(metadata),
        bool(part(status, "allocation")),
        tuple(
            (text(one, "driver"), text(one, "pool"), text(one, "device"))
            for one in results
            if not is_true(one, "adminAccess")
        ),
        frozenset(text(one, "uid") for one in items(status, "reservedFor")),
        node_terms(part(status, "allocation").get("nodeSelector")),
    )


def claim_template(manifest: Manifest) -> DeviceClaim:
    """A ResourceClaimTemplate from the API server's JSON."""
    metadata = part(manifest, "metadata")
    requests = _requests(part(manifest, "spec", "spec"))
    return DeviceClaim(text(metadata, "namespace"), text(metadata, "name"), requests)


def device_class(manifest: Manifest) -> DeviceClassObject:
    """A DeviceClass from the API server's JSON."""
    for one in items(manifest, "spec", "selectors"):
        found = _DRIVER.search(text(one, "cel", "expression"))
        if found:
            return DeviceClassObject(text(manifest, "metadata", "name"), found[1])
    return DeviceClassObject(text(manifest, "metadata", "name"))


def published_devices(manifest: Manifest) -> PublishedDevices:
    """A ResourceSlice from the API server's JSON."""
    spec = part(manifest, "spec")
    return PublishedDevices(
        text(spec, "driver"),
        text(spec, "nodeName"),
        text(spec, "pool", "name"),
        tuple(text(one, "name") for one in items(spec, "devices")),
    )


def _requests(spec: Manifest) -> tuple[DeviceRequest, ...]:
    found = []
    for one in items(spec, "devices", "requests"):
        exact = part(one, "exactly") or one  # v1beta1 has the fields directly
        choices = items(one, "firstAvailable")
        wanted = choices[0] if choices else exact
        count = whole(wanted, "count")
        found.append(
            DeviceRequest(
                text(wanted, "deviceClassName"),
                1 if count is None else max(0, count),
                bool(items(wanted, "selectors")),
            )
        )
    return tuple(found)
