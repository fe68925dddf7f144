"""More than there is: scaled to the GPU, never billed twice, and an issue names it."""

from pathlib import Path

import pytest

from tests.integration.metering.support import report
from tests.traps.scene import (
    HOUR,
    HOUR_MS,
    KUBE,
    START,
    Pod,
    Scene,
    gpus,
    hours,
    issues,
    usage,
)
from tests.traps.shapes import shared_node

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_pods_on_one_exclusive_gpu(tmp_path: Path) -> None:
    told = Scene()
    told.node(units=1)
    half = START + HOUR / 2
    for pod, at in (
        ("a", [t for t in told.scrapes if t < half]),
        ("b", [t for t in told.scrapes if t >= half]),
    ):
        told.pod(Pod(pod))
        told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": pod}, at=at)

    told.read(tmp_path)

    assert ("two_on_exclusive", "GPU-1") in issues()
    assert sum(hours(row["allocated_ms"]) for row in usage("pod").values()) == 1
    assert all(row["estimated"] for row in usage("pod").values())
    assert hours(gpus()["GPU-1"]["busy_ms"]) == 0.5


def test_more_holders_than_replicas(tmp_path: Path) -> None:
    told = Scene()
    shared_node(told, 1, 2)
    for n, pod in enumerate("abc"):
        told.pod(Pod(pod))
        told.gpu("GPU-1", 0.6, {"namespace": "vision", "pod": pod, "vgpu": n})

    told.read(tmp_path)

    assert ("too_many_holders", "GPU-1") in issues()
    rows = usage("pod")
    assert sum(hours(row["allocated_ms"]) for row in rows.values()) == 1
    assert hours(gpus()["GPU-1"]["busy_ms"]) == 0.6


def test_a_share_above_one_books_nothing(tmp_path: Path) -> None:
    told = Scene()
    told.node(units=1)
    told.pod(Pod("greedy", units=0))
    pod = {"namespace": "vision", "pod": "greedy", "uid": "uid-greedy"}
    told.add("kube_pod_annotations", 1, KUBE | pod | {"annotation_gpu_fraction": "1.5"})
    told.gpu("GPU-1", 0)

    told.read(tmp_path)

    [issue] = [row for row in report("issues") if row["code"] == "share_above_one"]
    assert issue["subject"] == "vision/greedy"
    assert issue["at_stake_ms"] == HOUR_MS - 30_000  # to its last sample
    assert issue["at_stake_charge"] == "2.082500"
    assert usage("pod") == {}
    assert hours(gpus()["GPU-1"]["free_ms"]) == 1
