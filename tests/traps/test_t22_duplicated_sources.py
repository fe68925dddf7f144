"""T22: duplicated sources count once."""

from pathlib import Path

import pytest

from tests.traps.scene import (
    ENGINE,
    GPU,
    HOUR_MS,
    START,
    Pod,
    Scene,
    gpus,
    holds,
    hours,
    issues,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_t22a_two_replicas_of_kube_state(tmp_path: Path) -> None:
    told = Scene()
    for n in range(2):
        told.node(instance=f"10.1.0.{n}:8080")
        told.pod(Pod("train-0"), instance=f"10.1.0.{n}:8080")
    told.gpu("GPU-1", 0.5)
    naive = sum(
        s.value
        for s in told.samples
        if s.labels.get("resource") == GPU and "pod" in s.labels and s.at == START
    )
    assert naive == 2

    told.read(tmp_path)

    assert holds()["uid-train-0"]["units"] == 1
    assert hours(usage("pod")["train-0"]["allocated_ms"]) == 1
    assert len(gpus()) == 1


def test_t22b_a_prometheus_pair_without_deduplication(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    for replica in ("a", "b"):
        told.gpu("GPU-1", 0.5, {"prometheus_replica": replica})
    naive = sum(s.value for s in told.samples if s.name == ENGINE and s.at == START)
    assert naive == 1.0

    told.read(tmp_path)

    row = usage("pod")["train-0"]
    assert hours(row["busy_ms"]) == 0.5
    assert row["coverage"] == 1
    assert gpus()["GPU-1"]["wall_ms"] == HOUR_MS


def test_t22c_names_that_are_reserved_reach_no_bill(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    for role in ("leader", "follower"):
        labels = {"cluster_queue": "team", "replica_role": role}
        told.add("kueue_pending_workloads", 5, labels)
    labels = {"queue_name": "q", "resource": "nvidia.com/gpu"}
    told.add("volcano_queue_allocated_scalar_resources", 8000, labels)
    naive = sum(
        s.value
        for s in told.samples
        if s.name == "kueue_pending_workloads" and s.at == START
    )
    assert naive == 10

    told.read(tmp_path)

    assert hours(usage("team")["vision"]["allocated_ms"]) == 1
    assert set(gpus()) == {"GPU-1"}
    assert not [subject for _, subject in issues() if subject.startswith("kueue")]


def test_t22d_only_the_controller_owns(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    owners = [("RayCluster", "tune", True), ("ConfigMap", "settings", False)]
    told.pod(Pod("train-0", owners=owners))
    told.gpu("GPU-1", 0.5)
    naive = [s for s in told.samples if s.name == "kube_pod_owner" and s.at == START]
    assert len(naive) == 2

    told.read(tmp_path)

    rows = usage("workload")
    assert set(rows) == {"tune"}
    assert hours(rows["tune"]["allocated_ms"]) == 1
