"""Changes of claims, classes and devices, as people and drivers make them."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.control_plane.hands import Hands
from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import create, place_of
from tests.control_plane.situation_objects import (
    device_claim,
    device_class,
    devices_of,
    obj,
)

Change = Mapping[str, Any]


def of_devices(made: Callable[[Change], Manifest]) -> Callable[[Hands, Change], None]:
    """An object that was missing."""

    def do(hands: Hands, change: Change) -> None:
        create(hands.admin, hands.situation.filled(made(change)))

    return do


def _template(change: Change) -> Manifest:
    name = change["name"].rpartition("/")[2]
    return obj("ResourceClaimTemplate", name, spec={"spec": device_claim()["spec"]})


def has_claim(hands: Hands) -> bool:
    """Whether the work has its GPUs by a claim."""
    return any(one["kind"] == "ResourceClaim" for one in hands.situation.steps)


def shrink_claim(hands: Hands, change: Change) -> None:
    """The claim requests fewer devices; claims are never changed, so both are made again."""
    _claim_again(hands, lambda found: found.update(count=change["units"]))


def _claim_again(hands: Hands, edit: Callable[[Manifest], Any]) -> None:
    hands.remove_work()
    for one in hands.situation.filled(hands.situation.steps):
        if one["kind"] == "ResourceClaim" and one["metadata"]["name"] == "c":
            edit(one["spec"]["devices"]["requests"][0]["exactly"])
            path = place_of("ResourceClaim", one["metadata"]["namespace"], "c")
            hands.admin.delete(path)
            hands.wait_gone(path)
            create(hands.admin, one)
    hands.create_work()


DEVICE_CHANGES: Mapping[str, Callable[[Hands, Change], None]] = {
    "create_resource_claim": of_devices(
        lambda c: device_claim(c["name"].rpartition("/")[2])
    ),
    "create_claim_template": of_devices(_template),
    "create_device_class": of_devices(lambda _: device_class()),
    "publish_devices": of_devices(lambda _: devices_of("g0", 2)),
    "change_claim_selector": lambda h, _: _claim_again(
        h, lambda found: found.pop("selectors")
    ),
}
