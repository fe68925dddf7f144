"""What claims were given, from manifests of several API versions and drivers (N13)."""

from typing import Any

from accounting.metering.rules.inventory.records import Device
from scheduler_view.clusters.rules.resource_claims import ClaimAllocation, given

NVIDIA, AMD = "gpu.nvidia.com", "gpu.amd.com"
CREATED = "2026-10-01T10:00:00Z"


def claim(*results: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "ns", "name": "c", "creationTimestamp": CREATED}
        | meta,
        "status": {
            "allocation": {"devices": {"results": list(results)}},
            "reservedFor": [
                {"resource": "pods", "name": "a", "uid": "u"},
                {"resource": "others", "name": "b", "uid": "v"},
            ],
        },
    }


def result(device: str, driver: str = NVIDIA, **more: Any) -> dict[str, Any]:
    return {"driver": driver, "pool": "p", "device": device} | more


def slices(driver: str = NVIDIA, **devices: dict[str, Any]) -> dict[str, Any]:
    listed = [{"name": name} | said for name, said in devices.items()]
    spec = {
        "driver": driver,
        "nodeName": "n1",
        "pool": {"name": "p"},
        "devices": listed,
    }
    return {"metadata": {"name": "s"}, "spec": spec}


def devices(claims: list[dict[str, Any]], *known: dict[str, Any]) -> list[Device]:
    [found] = given(claims, known)
    return list(found.devices)


def test_attributes_of_every_version_and_spelling() -> None:
    text = {"string": "GPU-0"}
    for said in (
        {"attributes": {"uuid": text}},
        {"attributes": {f"{NVIDIA}/uuid": text}},
        {"basic": {"attributes": {"uuid": text}}},  # v1beta1
    ):
        found = devices([claim(result("d"))], slices(d=said))
        assert found == [Device(NVIDIA, "n1", "d", "GPU-0")]


def test_a_part_has_its_profile_and_no_whole_gpu() -> None:
    said = {"type": {"string": "mig"}, "uuid": {"string": "MIG-1"}}
    said |= {"profile": {"string": "1g.10gb"}, "parentUUID": {"string": "GPU-1"}}
    found = devices([claim(result("d"))], slices(d={"attributes": said}))
    assert found == [Device(NVIDIA, "n1", "d", "", -1, "1g.10gb")]


def test_devices_that_are_no_share_of_a_gpu_are_left_out() -> None:
    mixed = claim(
        result("nic", "nics.example.com"),
        result("watched", adminAccess=True),
        result("d", AMD),
    )
    found = devices([mixed], slices(AMD, d={}), slices(watched={}))
    assert found == [Device(AMD, "n1", "d")]
    assert devices([claim(result("nic", "nics.example.com"))]) == []


def test_a_device_that_no_slice_shows_is_of_its_pools_node() -> None:
    assert devices([claim(result("d"))]) == [Device(NVIDIA, "p", "d")]
    same_name = slices(AMD, d={"attributes": {"uuid": {"string": "X"}}})
    assert devices([claim(result("d"))], same_name) == [Device(NVIDIA, "p", "d")]


def test_pods_age_and_who_made_it() -> None:
    notes = {"resource.kubernetes.io/extended-resource-claim": "true"}
    [found] = given([claim(annotations=notes)], [])
    assert found == ClaimAllocation("ns", "c", (), ("u",), True, 1_790_848_800_000)
    [plain] = given([{"metadata": {"namespace": "ns", "name": "c"}}], [])
    assert plain == ClaimAllocation("ns", "c", (), (), False, 0)
