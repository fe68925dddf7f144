"""Resource claims: how many devices of which kind a pod holds by them (rules.md N13, T21).

kube-state shows that a pod has a claim; the devices come from the API if it was read, else
from the exporter's labels. A claim of several pods is divided equally over them.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from accounting.metering.rules.inventory.records import (
    ClaimRecord,
    Device,
    Inventory,
    PodRecord,
)
from accounting.metering.rules.units.geometry import GpuPart
from accounting.metering.rules.units.gpu_units import WHOLE, NodeFacts, share_of

_EXTENDED = "-extended-resources-"  # the scheduler's name for such claims (KEP-5004)
_NVIDIA = "gpu.nvidia.com"


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """Devices of one kind that a pod holds by its claims.

    Attributes:
        resource: driver, and the profile of partitions: `gpu.nvidia.com/mig-1g.10gb`.
        share: of one device, of one GPU; if several pods share it, this pod's part.
        parts: the known GPUs and instances.
    """

    resource: str
    kind: str
    share: Fraction
    units: int
    parts: tuple[GpuPart, ...]


@dataclass(slots=True)
class Claims:
    """Which pods have which claims."""

    _of_pod: dict[str, list[ClaimRecord]] = field(default_factory=dict)
    _pods_of: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, inventory: Inventory) -> "Claims":
        """All claims, except those that back an extended resource which the pod also requests."""
        found = cls(defaultdict(list), defaultdict(list))
        reserved: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for key, record in inventory.claims.items():
            for uid in record.pods | {device.pod for device in record.devices}:
                reserved[uid].add(key)
        for pod in inventory.pods.values():
            keys = {(pod.namespace, name) for name in pod.claims} | reserved[pod.uid]
            for key in sorted(keys):
                record = inventory.claims.get(key) or ClaimRecord(*key)
                if not (pod.requests and is_behind_resource(record)):
                    found._of_pod[pod.uid].append(record)
                    found._pods_of[key].append(pod.uid)
        return found

    def of_pod(self, pod: PodRecord) -> list[ClaimRecord]:
        """A pod's claims."""
        return self._of_pod.get(pod.uid, [])

    def held(
        self, pod: PodRecord, facts: NodeFacts, spans: Mapping[str, tuple[int, int]]
    ) -> list[HeldClaim]:
        """The devices that a pod holds by its claims, by kind.

        Args:
            pod: the holder.
            facts: of its node, for the GPU model.
            spans: [from, to) in which each pod holds anything.
        """
        by_kind: dict[tuple[str, str], list[tuple[Device, int]]] = defaultdict(list)
        for record in self.of_pod(pod):
            pods = self._sharing(record, pod.uid, spans)
            for device in sorted(_devices(record, pod)):
                if device.node in {"", pod.node}:
                    key = (device.driver or _NVIDIA, device.profile)
                    by_kind[key].append((device, pods))
        found = (
            _held(*key, devices, facts) for key, devices in sorted(by_kind.items())
        )
        return [held for held in found if held is not None]

    def _sharing(
        self, record: ClaimRecord, uid: str, spans: Mapping[str, tuple[int, int]]
    ) -> int:
        """The number of pods that have a claim while one of them holds it, including this one."""
        start, end = spans[uid]
        members = self._pods_of[record.namespace, record.name]
        times = [spans[other] for other in members if other in spans and other != uid]
        return 1 + sum(other[0] < end and start < other[1] for other in times)


def is_behind_resource(record: ClaimRecord) -> bool:
    """True for a claim that the scheduler created for an extended resource."""
    return record.is_extended or _EXTENDED in record.name


def _devices(record: ClaimRecord, pod: PodRecord) -> set[Device]:
    """The devices of a pod's claim: those known for this pod, else those without a known pod."""
    own = {d for d in record.devices if d.pod in {pod.uid, pod.name}}
    known = own or {d for d in record.devices if not d.pod} or record.devices
    return {replace(device, pod="") for device in known}


def _held(
    driver: str, kind: str, devices: list[tuple[Device, int]], facts: NodeFacts
) -> HeldClaim | None:
    whole = share_of(kind, facts.product)
    if whole is None:
        return None
    part = sum((Fraction(1, pods) for _, pods in devices), Fraction(0)) / len(devices)
    return HeldClaim(
        resource=driver if kind == WHOLE else f"{driver}/mig-{kind}",
        kind=kind,
        share=whole[0] * part,
        units=len(devices),
        parts=tuple(
            GpuPart(device.uuid, device.instance, device.profile)
            for device, _ in devices
            if device.uuid
        ),
    )
