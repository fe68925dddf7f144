"""T20: completion time of one container, and effective requests."""

from pathlib import Path

import pytest

from tests.traps.scene import HOUR, START, Pod, Scene, gpus, holds, hours, usage

pytestmark = pytest.mark.django_db(transaction=True)


def test_t20a_a_helper_that_ends_early_ends_nothing(tmp_path: Path) -> None:
    told = Scene(3 * HOUR)
    told.node()
    early, late = START + HOUR // 2, START + 2 * HOUR
    told.pod(Pod("train-0", completion=early, gone=late, requests={"main": 1}))
    told.gpu("GPU-1", lambda at: 0.5 if at < late else 0)
    naive = min(s.value for s in told.samples if s.name == "kube_pod_completion_time")
    assert naive == early

    told.read(tmp_path)

    assert holds()["uid-train-0"]["ended"] == "2026-10-01T12:00:00Z"
    assert hours(usage("pod")["train-0"]["allocated_ms"]) == 2


def test_t20b_init_containers_and_sidecars(tmp_path: Path) -> None:
    told = Scene()
    told.node(units=8)
    told.pod(
        Pod(
            "train-0",
            requests={"a": 1, "b": 1},
            init={"i1": 4, "proxy": 1},
            sidecars=["proxy"],
        )
    )
    main = sum(
        s.value
        for s in told.samples
        if s.name == "kube_pod_container_resource_requests" and s.at == START
    )
    every = sum(
        s.value
        for s in told.samples
        if s.name.endswith("container_resource_requests") and s.at == START
    )
    assert (main, every) == (2, 7)

    told.read(tmp_path)

    assert holds()["uid-train-0"]["units"] == 5
    assert hours(usage("pod")["train-0"]["allocated_ms"]) == 5


def test_t20c_neither_waiting_nor_finished_pods_hold(tmp_path: Path) -> None:
    told = Scene()
    told.node(units=8)
    long_ago = START - HOUR
    told.pod(
        Pod("waiting", bound=None, units=8),
        Pod(
            "finished",
            units=2,
            created=long_ago,
            bound=long_ago,
            finished=START - 600,
            completion=START - 600,
        ),
    )
    told.gpu("GPU-1", 0)
    naive = sum(
        s.value
        for s in told.samples
        if s.name == "kube_pod_container_resource_requests" and s.at == START
    )
    assert naive == 10

    told.read(tmp_path)

    assert usage("pod") == {}
    assert set(holds()) <= {"uid-finished"}
    assert sum(row["free_ms"] for row in gpus().values()) == 8 * HOUR * 1000
