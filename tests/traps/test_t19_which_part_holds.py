"""T19: which part of a pod's life holds the GPU. Scene time 10:00 is T19's 09:00."""

from pathlib import Path

import pytest

from tests.traps.scene import (
    HOUR,
    KUBE,
    MINUTE_MS,
    START,
    Pod,
    Scene,
    gpus,
    holds,
    hours,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

BOUND, PULLED = START + 1800, START + 2700
DONE, GONE = START + 2 * HOUR, START + 4 * HOUR


def told_of(pod: Pod) -> Scene:
    """Five hours of a node with one GPU and one pod."""
    told = Scene(5 * HOUR)
    told.node()
    told.pod(pod)
    told.gpu("GPU-1", lambda at: 0.8 if PULLED <= at < DONE else 0)
    return told


def test_t19_from_bind_to_the_end_of_its_containers(tmp_path: Path) -> None:
    told = told_of(
        Pod("train-0", bound=BOUND, finished=DONE, completion=DONE, gone=GONE)
    )
    listed = [s.at for s in told.samples if s.name == "kube_pod_info"]
    running = [
        s.at
        for s in told.samples
        if s.name == "kube_pod_status_phase"
        and s.labels["phase"] == "Running"
        and s.value
    ]
    assert (max(listed) + 30 - min(listed)) / HOUR == 4.0
    assert (max(listed) + 30 - BOUND) / HOUR == 3.5
    assert (max(running) + 30 - PULLED) / HOUR == 1.25

    told.read(tmp_path)

    row = holds()["uid-train-0"]
    assert row["wait_ms"] == 30 * MINUTE_MS
    assert hours(usage("pod")["train-0"]["allocated_ms"]) == 1.5
    start_up = usage(
        "pod", **{"from": "2026-10-01T10:30:00Z", "to": "2026-10-01T10:45:00Z"}
    )
    assert hours(start_up["train-0"]["allocated_ms"]) == 0.25
    assert start_up["train-0"]["busy_ms"] == 0
    assert hours(gpus()["GPU-1"]["free_ms"]) == 3.5


def test_t19_the_grace_period_is_held(tmp_path: Path) -> None:
    told = told_of(Pod("train-0", bound=BOUND, gone=DONE + 240))
    deleted = {"namespace": "vision", "pod": "train-0", "uid": "uid-train-0"}
    late = [at for at in told.scrapes if DONE <= at < DONE + 240]
    told.add("kube_pod_deletion_timestamp", f"{DONE + 300:.0f}", KUBE | deleted, late)

    told.read(tmp_path)

    allocated = usage("pod")["train-0"]["allocated_ms"]
    assert allocated == 94 * MINUTE_MS  # 1.567 hours; naive: 1.5 to the deletion
    assert holds()["uid-train-0"]["ended_by"] == "gone"
