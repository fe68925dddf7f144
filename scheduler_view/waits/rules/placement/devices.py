"""Devices of drivers on nodes, which claims take (dynamic resource allocation)."""

from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.world.devices import DeviceClaim, DeviceRequest


def driver_of(index: WorldIndex, request: DeviceRequest) -> str:
    """The driver of the devices of a request: of its class, else named as the class."""
    known = index.world.device_classes.get(request.device_class)
    return (known.driver if known else "") or request.device_class


def short_request(index: WorldIndex, claim: DeviceClaim) -> DeviceRequest:
    """The first request of a claim for which no node has enough free devices; else the first."""
    for one in claim.requests:
        offered = offered_devices(index, driver_of(index, one))
        if max((total - taken for _, total, taken in offered), default=0) < one.count:
            return one
    return claim.requests[0]


def offered_devices(index: WorldIndex, driver: str) -> list[tuple[NodeRoom, int, int]]:
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
