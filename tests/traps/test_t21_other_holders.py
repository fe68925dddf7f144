"""T21: holders without an `nvidia.com/gpu` request: DRA claims, KAI fractions."""

from pathlib import Path

import pytest

from tests.traps.scene import KUBE, Pod, Scene, gpus, hours, usage

pytestmark = pytest.mark.django_db(transaction=True)

KAI = "kai-resource-reservation"


def claimed(told: Scene, pod: str, claim: str) -> None:
    """kube-state shows that a pod has a claim, not how many devices."""
    key = {"namespace": "vision", "pod": pod, "uid": f"uid-{pod}"}
    names = {"claim_name": "gpus", "resourceclaim_name": claim}
    told.add("kube_pod_resourceclaim_info", 1, KUBE | key | names)


def device(told: Scene, n: int, pod: str, claim: str) -> None:
    """A device of a claim, as dcgm-exporter shows it."""
    dra = {
        "dra_claim_name": claim,
        "dra_claim_namespace": "vision",
        "dra_driver_name": "gpu.nvidia.com",
        "dra_pool_name": "n1",
        "dra_device_name": f"gpu-{n}",
    }
    told.gpu(f"GPU-{n}", 0.5, {"namespace": "vision", "pod": pod} | dra)


def test_t21a_a_claim_for_two_devices(tmp_path: Path) -> None:
    told = Scene()
    told.node(units={})
    told.pod(Pod("train-0", units=0))
    claimed(told, "train-0", "train-0-gpus-x1")
    for n in range(2):
        device(told, n, "train-0", "train-0-gpus-x1")
    told.gpu("GPU-2", 0)
    naive = [s for s in told.samples if s.name.endswith("resource_requests")]
    assert naive == []

    told.read(tmp_path)

    row = usage("pod")["train-0"]
    assert hours(row["allocated_ms"]) == 2
    assert hours(row["busy_ms"]) == 1
    assert hours(gpus()["GPU-2"]["free_ms"]) == 1


def test_t21b_a_shared_claim_is_halved(tmp_path: Path) -> None:
    told = Scene()
    told.node(units={})
    for pod in ("p1", "p2"):
        told.pod(Pod(pod, units=0))
        claimed(told, pod, "shared")
        device(told, 0, pod, "shared")

    told.read(tmp_path)

    rows = usage("pod")
    assert {pod: hours(row["allocated_ms"]) for pod, row in rows.items()} == {
        "p1": 0.5,
        "p2": 0.5,
    }
    assert {hours(row["busy_ms"]) for row in rows.values()} == {0.25}
    assert hours(gpus()["GPU-0"]["busy_ms"]) == 0.5


def test_t21b2_a_claim_behind_an_extended_resource(tmp_path: Path) -> None:
    told = Scene()
    told.node(units=2)
    told.pod(Pod("train-0"))
    claimed(told, "train-0", "train-0-extended-resources-k2")
    device(told, 0, "train-0", "train-0-extended-resources-k2")
    told.gpu("GPU-1", 0)
    requests, claims = (
        {s.labels["pod"] for s in told.samples if s.name.endswith(name)}
        for name in ("resource_requests", "resourceclaim_info")
    )
    assert len(requests) + len(claims) == 2

    told.read(tmp_path)

    assert hours(usage("pod")["train-0"]["allocated_ms"]) == 1
    assert hours(gpus()["GPU-1"]["free_ms"]) == 1


def test_t21c_a_fraction_holds_and_its_reservation_does_not(tmp_path: Path) -> None:
    told = Scene()
    told.node(units=1)
    told.pod(Pod("notebook", units=0))
    told.pod(Pod("gpu-reservation-n1-k2", namespace=KAI))
    pod = {"namespace": "vision", "pod": "notebook", "uid": "uid-notebook"}
    group = {"label_runai_gpu_group": "4f1c"}
    told.add("kube_pod_annotations", 1, KUBE | pod | {"annotation_gpu_fraction": "0.3"})
    told.add("kube_pod_labels", 1, KUBE | pod | group)
    reservation = "gpu-reservation-n1-k2"
    key = {"namespace": KAI, "pod": reservation, "uid": f"uid-{reservation}"}
    told.add("kube_pod_labels", 1, KUBE | key | group)
    told.gpu("GPU-1", 0.2, {"namespace": KAI, "pod": reservation})
    naive = {
        s.labels["namespace"]
        for s in told.samples
        if s.name.endswith("resource_requests")
    }
    assert naive == {KAI}

    told.read(tmp_path)

    rows = usage("namespace")
    assert set(rows) == {"vision"}
    assert hours(rows["vision"]["allocated_ms"]) == 0.3
    assert hours(rows["vision"]["busy_ms"]) == 0.2
    assert hours(gpus()["GPU-1"]["free_ms"]) == 0.7
