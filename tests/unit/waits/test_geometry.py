"""Another MIG geometry is enough only where other profiles leave as many slices free."""

from typing import Any

import pytest

from tests.unit.waits.worlds import explained, kinds, node, pod

SMALL, LARGE = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"


def of_profile(name: str, profile: str, on: str = "") -> dict[str, Any]:
    """A pod that requests one device."""
    resources = {"requests": {profile: "1"}}
    spec = {"containers": [{"name": "main", "resources": resources}]}
    return pod(name, None, on, spec=spec)


@pytest.mark.parametrize(
    ("held", "cordoned", "is_enough"),
    [(7, False, False), (5, False, False), (4, False, True), (4, True, False)],
)
def test_slices_that_are_in_use_are_not_partitioned(
    held: int, cordoned: bool, is_enough: bool
) -> None:
    holders = [of_profile(f"held-{number}", SMALL, "n") for number in range(held)]
    found = explained(
        Node=[node("n", None, offers={SMALL: "7"}, cordoned=cordoned)],
        Pod=[*holders, of_profile("w", LARGE)],
    )
    assert found.cause == "resource_unknown"
    assert ("change_geometry" in kinds(found)) is is_enough


def test_other_names_do_not_crowd_out_what_else_is_enough() -> None:
    """On a cluster of many resources all that was tried were their names."""
    others = [
        node(f"g{number}", None, offers={f"nvidia.com/gpu-{number}": "1"})
        for number in range(60)
    ]
    found = explained(
        Node=[node("n", None, offers={SMALL: "7"}), *others],
        Pod=[of_profile("w", LARGE)],
    )
    assert kinds(found) >= {"change_request", "change_geometry", "add_node"}
