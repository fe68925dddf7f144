"""Claims of devices, as objects of a real API server: who was given which GPU."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounting.metering.models.pod import ResourceClaim
from accounting.metering.rules.inventory.records import Device
from scheduler_view.clusters.tasks.resource_claims import observe_devices
from scheduler_view.queues.tasks.look import observe_once
from tests.control_plane.world import World, simulated_world
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office

API = "/apis/resource.k8s.io/v1"
NVIDIA = "gpu.nvidia.com"
CARDS = "nics.example.com"


@pytest.fixture
def office(real: World, db: None) -> Iterator[Office]:
    """A cluster with a node of two GPUs, one of them divided, and a network card."""
    del db
    found = office_of(real)
    parent = {"parentUUID": {"string": "GPU-1"}, "profile": {"string": "3g.40gb"}}
    attributes = {
        "gpu-0": {"type": {"string": "gpu"}, "uuid": {"string": "GPU-0"}},
        "gpu-1-mig-9-0-4": {"type": {"string": "mig"}, "uuid": {"string": "MIG-1"}}
        | parent,
    }
    for driver, devices in ((NVIDIA, attributes), (CARDS, {"nic-0": {}})):
        body = {
            "metadata": {"name": f"{real.name}-{driver}"},
            "spec": {
                "driver": driver,
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": n, "attributes": a} for n, a in devices.items()],
            },
        }
        real.admin.create(f"{API}/resourceslices", body)
    yield found
    for driver in (NVIDIA, CARDS):
        real.admin.delete(f"{API}/resourceslices/{real.name}-{driver}")


def claim(office: Office, name: str, **notes: str) -> None:
    """A claim for one device, not given any yet."""
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    body = {
        "metadata": {"name": name, "annotations": notes},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }
    office.world.admin.create(place(office), body)


def place(office: Office, *more: str) -> str:
    return "/".join((API, "namespaces", office.world.name, "resourceclaims", *more))


def make_pods(office: Office, *names: str) -> dict[str, str]:
    """Pods that no scheduler takes, and their uids: what is no pod's is taken back at once."""
    admin, namespace = office.world.admin, office.world.name
    made = {
        name: admin.make_pod(namespace, name, schedulerName="nobody") for name in names
    }
    return {name: str(pod["metadata"]["uid"]) for name, pod in made.items()}


def give(office: Office, name: str, driver: str, device: str, **pods: str) -> None:
    """What the scheduler writes; `pods` are uids by name."""
    result = {"request": "gpu", "driver": driver, "pool": "n1", "device": device}
    users = [{"resource": "pods", "name": n, "uid": uid} for n, uid in pods.items()]
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": users}
    office.world.admin.edit(place(office, name, "status"), {"status": status})


def known(office: Office) -> dict[str, Any]:
    """Devices and pods of each claim that the ledger knows."""
    rows = ResourceClaim.objects.filter(namespace=office.world.name)
    assert all(row.is_observed for row in rows)
    return {
        row.name: ([Device(*parts) for parts in row.devices], row.pods) for row in rows
    }


@pytest.mark.control_plane
def test_the_ledger_learns_what_claims_were_given(office: Office) -> None:
    for name in ("whole", "part", "card"):
        claim(office, name)
    uids = make_pods(office, "a", "b", "c")
    give(office, "whole", NVIDIA, "gpu-0", a=uids["a"])
    give(office, "part", NVIDIA, "gpu-1-mig-9-0-4", b=uids["b"], c=uids["c"])
    give(office, "card", CARDS, "nic-0", a=uids["a"])
    observe_once(office.cluster, now=office.now)
    assert known(office) == {
        "whole": ([Device(NVIDIA, "n1", "gpu-0", "GPU-0")], [uids["a"]]),
        "part": (
            [Device(NVIDIA, "n1", "gpu-1-mig-9-0-4", "", -1, "3g.40gb")],
            sorted([uids["b"], uids["c"]]),
        ),
        "card": ([], [uids["a"]]),
    }
    with office.world.client() as client:
        assert observe_devices(office.cluster, client) == 0


@pytest.mark.control_plane
def test_a_claim_of_the_scheduler_is_known_as_such(office: Office) -> None:
    claim(
        office,
        "a-extended-resources-x",
        **{"resource.kubernetes.io/extended-resource-claim": "true"},
    )
    observe_once(office.cluster, now=office.now)
    [row] = ResourceClaim.objects.filter(namespace=office.world.name)
    assert (row.is_extended, row.devices, row.pods) == (True, [], [])


def test_a_cluster_without_such_claims_has_none(
    simulated_api: str, tmp_path: Any, db: None
) -> None:
    del db
    office = office_of(simulated_world(simulated_api, tmp_path, "t-none"))
    with office.world.client() as client:
        assert observe_devices(office.cluster, client) == 0
    assert not ResourceClaim.objects.exists()
