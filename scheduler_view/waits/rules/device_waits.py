"""Claims that no node can satisfy: which devices there are, who has them, what would help."""

from dataclasses import dataclass

from scheduler_view.waits.rules.blockers import Blockers
from scheduler_view.waits.rules.explanation import Remedy, remedy
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.placement.devices import (
    driver_of,
    offered_devices,
    short_request,
)
from scheduler_view.waits.rules.placement.holders import HolderSet
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.remedies.ends import ended


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
    request = short_request(index, claim)
    driver = driver_of(index, request)
    offered = offered_devices(index, driver)
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
