"""What the Kubernetes API says of resource claims changes who holds what (N13, T21)."""

from pathlib import Path

import pytest

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.inventory.records import Device
from accounting.metering.tasks.evidence.resource_claims import (
    ObservedClaim,
    observe_claims,
)
from accounting.metering.tasks.pipeline import ingest_all
from accounting.usage.tasks.rollup import roll_up_dirty_hours
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

pytestmark = pytest.mark.django_db(transaction=True)

WHEN = Interval(START * 1000, START * 1000 + HOUR_MS)
ISSUE = ("claim_without_device", "vision/train-0 train-0-gpus")


def claim(*uuids: str, pods: tuple[str, ...] = ()) -> ObservedClaim:
    devices = tuple(
        Device("gpu.nvidia.com", "n1", f"gpu-{n}", uuid) for n, uuid in enumerate(uuids)
    )
    return ObservedClaim("vision", "train-0-gpus", devices, pods)


def test_devices_of_a_claim_come_from_the_api(tmp_path: Path) -> None:
    told = Scene()
    told.node(units={})
    told.pod(Pod("train-0", units=0))
    key = {"namespace": "vision", "pod": "train-0", "uid": "uid-train-0"}
    names = {"claim_name": "gpus", "resourceclaim_name": "train-0-gpus"}
    told.add("kube_pod_resourceclaim_info", 1, KUBE | key | names)
    for n in range(3):
        told.gpu(f"GPU-{n}", 0.5)
    told.read(tmp_path)
    assert usage("pod") == {}
    assert ISSUE in issues()

    cluster = Cluster.objects.get(name="north")
    assert observe_claims(cluster, [claim("GPU-0", "GPU-2")], WHEN) == 1
    assert observe_claims(cluster, [claim("GPU-0", "GPU-2")], WHEN) == 0
    ingest_all(cluster)
    roll_up_dirty_hours(cluster.pk)

    row = usage("pod")["train-0"]
    assert hours(row["allocated_ms"]) == 2
    assert hours(row["busy_ms"]) == 1
    assert not row["estimated"]


def test_a_pod_keeps_what_its_claim_was_given_then(tmp_path: Path) -> None:
    """The API shows a claim as it is now; what it was for pods that are gone is remembered."""
    told = Scene()
    told.node(units={})
    half = START + HOUR / 2
    told.pod(
        Pod("a", units=0, finished=half, completion=half),
        Pod("b", units=0, created=half, bound=half),
    )
    for n in range(3):
        told.gpu(f"GPU-{n}", 0.5)
    told.read(tmp_path)

    cluster = Cluster.objects.get(name="north")
    for seen in (
        claim("GPU-0", pods=("uid-a",)),
        claim(),
        claim("GPU-1", "GPU-2", pods=("uid-b",)),
        claim("GPU-1", "GPU-2", pods=("uid-b",)),
    ):
        observe_claims(cluster, [seen], WHEN)
    ingest_all(cluster)
    roll_up_dirty_hours(cluster.pk)

    rows = usage("pod")
    assert {pod: hours(row["allocated_ms"]) for pod, row in rows.items()} == {
        "a": 0.5,
        "b": 1,
    }
    assert hours(gpus()["GPU-0"]["busy_ms"]) == 0.25
