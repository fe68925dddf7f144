"""Devices that were allocated to resource claims, from the API (rules.md N13).

A claim's status names devices by driver, pool and name; the driver's slices describe each device: a
GPU with its UUID, or a part of one with a profile. Sources: KEP-4381; kubernetes-sigs/
dra-driver-nvidia-gpu. An attribute may have its driver's domain (`gpu.nvidia.com/uuid`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounting.core.interval import to_ms
from accounting.metering.rules.inventory.records import Device

Manifest = Mapping[str, Any]
DRIVERS = frozenset(
    {"gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "gaudi.intel.com"}
)
_EXTENDED = "resource.kubernetes.io/extended-resource-claim"  # annotation, KEP-5004


@dataclass(frozen=True, slots=True)
class ClaimAllocation:
    """The allocation of one claim.

    Attributes:
        pods: uids for which it is reserved.
        is_extended: the scheduler created it for a request of an extended resource.
    """

    namespace: str
    name: str
    devices: tuple[Device, ...]
    pods: tuple[str, ...]
    is_extended: bool
    created_ms: int = 0


def given(
    claims: Iterable[Manifest], slices: Iterable[Manifest]
) -> list[ClaimAllocation]:
    """Every claim with its GPUs and parts of GPUs; a claim for other devices has none."""
    known = {key: device for one in slices for key, device in _devices(one)}
    found: list[ClaimAllocation] = []
    for claim in claims:
        meta, status = claim["metadata"], claim.get("status") or {}
        results = _list(_map(_map(status, "allocation"), "devices"), "results")
        ours = [
            r
            for r in results
            if r.get("driver") in DRIVERS and not r.get("adminAccess")
        ]
        pods = _list(status, "reservedFor")
        found.append(
            ClaimAllocation(
                meta.get("namespace", ""),
                meta["name"],
                tuple(known.get(_key(r)) or _unknown(r) for r in ours),
                tuple(
                    p["uid"]
                    for p in pods
                    if p.get("resource") == "pods" and p.get("uid")
                ),
                _EXTENDED in (meta.get("annotations") or {}),
                _ms(str(meta.get("creationTimestamp") or "")),
            )
        )
    return found


_Key = tuple[str, str, str]  # driver, pool, name


def _key(result: Mapping[str, Any]) -> _Key:
    return result.get("driver", ""), result.get("pool", ""), result.get("device", "")


def _unknown(result: Mapping[str, Any]) -> Device:
    """A device that is no longer in a slice: on the pool's node, as drivers name their pools."""
    driver, pool, name = _key(result)
    return Device(driver, pool, name)


def _devices(one: Manifest) -> Iterator[tuple[_Key, Device]]:
    spec = _map(one, "spec")
    driver, node = spec.get("driver", ""), spec.get("nodeName") or ""
    if driver not in DRIVERS:
        return
    pool = str(_map(spec, "pool").get("name", ""))
    for device in _list(spec, "devices"):
        said = device.get("attributes") or _map(device, "basic").get("attributes") or {}
        of = {key.rpartition("/")[2]: _text(value) for key, value in said.items()}
        name = device.get("name", "")
        profile = of.get("profile", "") if of.get("type") == "mig" else ""
        # only samples show which instance it is: it is found by their labels
        uuid = "" if of.get("type") == "mig" else of.get("uuid", "")
        yield (driver, pool, name), Device(driver, node, name, uuid, -1, profile)


def _ms(instant: str) -> int:
    return to_ms(datetime.fromisoformat(instant)) if instant else 0


def _text(value: Mapping[str, Any]) -> str:
    return str(value.get("string") or value.get("version") or "")


def _map(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value: Mapping[str, Any] = found.get(key) or {}
    return value


def _list(found: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value: list[Mapping[str, Any]] = found.get(key) or []
    return value
