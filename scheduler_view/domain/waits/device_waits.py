"""Claims that no node can satisfy: which devices there are, who has them, what would help."""

from dataclasses import dataclass

from scheduler_view.domain.waits.blockers import Blockers
from scheduler_view.domain.waits.explanation import Remedy, remedy
from scheduler_view.domain.waits.finding import PodFinding
from scheduler_view.domain.waits.placement.holders import HolderSet
from scheduler_view.domain.waits.placement.index import WorldIndex
from scheduler_view.domain.waits.placement.node_room import NodeRoom
from scheduler_view.domain.waits.remedies.on_nodes import ended
from scheduler_view.domain.waits.world.devices import DeviceClaim, DeviceRequest


@dataclass(frozen=True, slots=True)
class DeviceWait:
    """What is known of a claim that waits.

    Attributes:
        devices: published and allocated devices by node.
    """

    sets: list[HolderSet]
    remedies: list[Remedy]
    devices: dict[str, dict[str, int]]


def device_wait(
    index: WorldIndex, finding: PodFinding, blockers: Blockers
) -> DeviceWait:
    """Holders and remedies of a claim that cannot be allocated."""
    pod = finding.pod
    claim = index.world.claims.get((pod.namespace, finding.name)) if pod else None
    if claim is None or not claim.requests:
        return DeviceWait([], [], {})
    request = _short_request(index, claim)
    driver = _driver(index, request)
    offered = _offered(index, driver)
    if not offered:
        cause = remedy("publish_devices", device_class=request.device_class)
        return DeviceWait([], [cause], {})
    devices = {
        room.node.name: {"total": total, "allocated": taken}
        for room, total, taken in offered
    }
    most = max(total - taken for _, total, taken in offered)
    if most >= request.count:
        found = [remedy("change_claim_selector")] if request.selects else []
        return DeviceWait([], found, devices)
    sets = [
        one
        for room, total, taken in offered
        if total >= request.count
        if (
            one := blockers.of_devices(
                driver, room, 1000 * (request.count - total + taken)
            )
        )
    ]
    sets.sort(key=lambda one: (len(one.pods), one.place))
    found = [Remedy((ended(one.pods),)) for one in sets]
    if most > 0:
        found.append(remedy("shrink_request", units=most))
    return DeviceWait(sets, found, devices)


def _driver(index: WorldIndex, request: DeviceRequest) -> str:
    known = index.world.device_classes.get(request.device_class)
    return (known.driver if known else "") or request.device_class


def _short_request(index: WorldIndex, claim: DeviceClaim) -> DeviceRequest:
    """The first request of a claim for which no node has enough free devices; else the first."""
    for one in claim.requests:
        offered = _offered(index, _driver(index, one))
        if max((total - taken for _, total, taken in offered), default=0) < one.count:
            return one
    return claim.requests[0]


def _offered(index: WorldIndex, driver: str) -> list[tuple[NodeRoom, int, int]]:
    """Nodes with devices of a driver: how many there are, and how many are allocated."""
    taken = [
        device
        for claim in index.world.claims.values()
        for device in claim.devices
        if device[0] == driver
    ]
    names: dict[str, set[tuple[str, str]]] = {}
    for one in index.world.devices:
        if one.driver == driver and one.node in index.rooms:
            known = names.setdefault(one.node, set())
            known |= {(one.pool, name) for name in one.names}
    return [
        (index.rooms[node], len(own), sum((d[1], d[2]) in own for d in taken))
        for node, own in sorted(names.items())
    ]
