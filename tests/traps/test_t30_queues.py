"""T30: what queues mean: whose wait, whose preemption, in which units, and no limit at all.

T30 d, a preemption whose event is gone, is `test_t30_preempted.py`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from accounting.kit.commands.output import WRONG_USE
from tests.integration.metering.support import report, run
from tests.traps.scene import GPU, MINUTE_MS, START, Pod, Scene, holds

pytestmark = pytest.mark.django_db(transaction=True)
KUEUE = {"job": "kueue", "instance": "kueue:8443", "replica_role": "leader"}
VOLCANO = {"job": "volcano", "instance": "volcano:8080"}
JOB = {"job": "kube-state-metrics", "instance": "kube-state:8080"}


def queues() -> dict[tuple[str, str], dict[str, Any]]:
    """`report queues` by queue and resource."""
    return {(row["queue"], row["resource"]): row for row in report("queues")}


def scene_of_job(*, says_start: bool) -> Scene:
    """A Job that Kueue held from minute 0 to 40; its pod is bound at 41, runs from 44."""
    told = Scene()
    told.node(units=8)
    told.gpu("GPU-1", 0.5)
    admitted, bound = START + 40 * 60, START + 41 * 60
    job = JOB | {"namespace": "vision", "job_name": "train"}
    told.add("kube_job_created", START, job)
    told.add("kube_job_status_suspended", lambda at: int(at < admitted), job)
    if says_start:
        after = [at for at in told.scrapes if at >= admitted]
        told.add("kube_job_status_start_time", admitted, job, after)
    owners = [("Job", "train", True)]
    told.pod(
        Pod("train-0", created=admitted, bound=bound, owners=owners),
        Pod("train-1", created=bound + 600, bound=bound + 660, owners=owners),
        Pod("alone", created=admitted, bound=bound),
    )
    return told


@pytest.mark.parametrize("says_start", [True, False])
def test_t30a_the_wait_for_admission_is_a_wait(
    tmp_path: Path, *, says_start: bool
) -> None:
    told = scene_of_job(says_start=says_start)
    shown = {s.name: s.value for s in told.samples if s.labels.get("pod") == "train-0"}
    naive = shown["kube_pod_status_scheduled_time"] - shown["kube_pod_created"]
    assert naive == 60

    told.read(tmp_path)

    row = holds()["uid-train-0"]
    assert row["wait_ms"] == 41 * MINUTE_MS
    assert row["admission_wait_ms"] == 40 * MINUTE_MS
    assert row["bound"] == "2026-10-01T10:41:00Z"  # the start-up is held
    later, alone = holds()["uid-train-1"], holds()["uid-alone"]
    assert (later["wait_ms"], later["admission_wait_ms"]) == (MINUTE_MS, None)
    assert (alone["wait_ms"], alone["admission_wait_ms"]) == (MINUTE_MS, None)


def test_t30a_a_job_that_nobody_held_back_waits_for_its_pod_only(
    tmp_path: Path,
) -> None:
    told = Scene()
    told.node()
    told.gpu("GPU-1", 0.5)
    job = JOB | {"namespace": "vision", "job_name": "train"}
    told.add("kube_job_created", START, job)
    told.add("kube_job_status_suspended", 0, job)
    told.add("kube_job_status_start_time", START + 1, job)
    owners = [("Job", "train", True)]
    told.pod(Pod("train-0", created=START + 2, bound=START + 62, owners=owners))

    told.read(tmp_path)

    row = holds()["uid-train-0"]
    assert (row["wait_ms"], row["admission_wait_ms"]) == (MINUTE_MS, None)


def test_t30b_one_queue_lost_and_another_took(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.gpu("GPU-1", 0.5)
    took = {"preempting_cluster_queue": "prod", "reason": "InCohortReclamation"}
    lost = {"cluster_queue": "research", "reason": "Preempted"}
    told.add("kueue_preempted_workloads_total", 3, KUEUE | took)
    told.add("kueue_evicted_workloads_total", 3, KUEUE | lost)
    other = lost | {"reason": "PodsReadyTimeout"}
    told.add("kueue_evicted_workloads_total", 9, KUEUE | other)
    naive = sum(s.value for s in told.samples if "kueue" in s.name and s.at == START)
    assert naive == 15

    told.read(tmp_path)

    found = {name: row for (name, _), row in queues().items()}
    prod, research = found["prod"], found["research"]
    assert (prod["preempted_workloads"], prod["preempting_workloads"]) == (None, 3)
    assert research["preempted_workloads"] == 3
    assert research["preempting_workloads"] is None


def test_t30c_volcano_counts_thousandths(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.gpu("GPU-1", 0.5)
    queue = VOLCANO | {"queue_name": "team", "resource": "nvidia.com/gpu"}
    told.add("volcano_queue_allocated_scalar_resources", 8000, queue)
    told.add("volcano_queue_deserved_scalar_resources", 6000, queue)
    told.add("volcano_queue_request_scalar_resources", 11_000, queue)

    told.read(tmp_path)

    row = queues()["team", "nvidia.com/gpu"]
    assert (row["used"], row["quota"], row["borrowed"], row["pending"]) == (8, 6, 2, 3)


def test_t30e_no_limit_is_said_in_words(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.gpu("GPU-1", 0.5)
    gpus = KUEUE | {"cluster_queue": "prod", "resource": "nvidia.com/gpu"}
    for flavor, quota, used in (("a100", 8, 11), ("h100", 4, 1)):
        own = gpus | {"flavor": flavor, "cohort": "all"}
        told.add("kueue_cluster_queue_nominal_quota", quota, own)
        told.add("kueue_cluster_queue_borrowing_limit", "+Inf", own)
        told.add("kueue_cluster_queue_resource_usage", used, own)
    told.add("kueue_cluster_queue_resource_pending", 5, gpus)
    cpu = gpus | {"resource": "cpu", "flavor": "a100"}
    told.add("kueue_cluster_queue_nominal_quota", 64, cpu)

    told.read(tmp_path)

    found = queues()
    assert set(found) == {("prod", "nvidia.com/gpu")}
    row = found["prod", "nvidia.com/gpu"]
    assert row["borrowing_limit"] == "unlimited"
    assert (row["quota"], row["used"], row["borrowed"], row["pending"]) == (
        12,
        12,
        3,
        5,
    )
    text = run("report", "queues", "--format=json")
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert "unlimited" in run("report", "queues", "--format=csv")


def test_two_replicas_of_kueue_are_one_and_an_older_file_changes_nothing(
    tmp_path: Path,
) -> None:
    """T22 c as the report says it."""
    told = Scene()
    told.node()
    told.gpu("GPU-1", 0.5)
    for role, value in (("leader", 5), ("follower", 4)):
        for status, count in (("active", value), ("inadmissible", 1)):
            own = {"cluster_queue": "team", "replica_role": role, "status": status}
            told.add("kueue_pending_workloads", count, KUEUE | own)
    told.read(tmp_path)
    before = report("queues")
    assert [row["waiting_workloads"] for row in before] == [6]
    run("import_metrics", "--cluster=north", tmp_path / "samples.om")
    assert report("queues") == before


def test_queues_are_asked_for_as_they_are_now(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (["--by=team"], ["--from=2026-10-01"], ["--team=vision"]):
        with pytest.raises(SystemExit) as ended:
            run("report", "queues", *words)
        assert ended.value.code == WRONG_USE
    assert report("queues") == []


def test_names_of_gpus_only(tmp_path: Path) -> None:
    """A resource that is none of GPUs makes no row, however often it is scraped."""
    told = Scene()
    told.node()
    told.pod(Pod("train-0", resource=GPU))
    told.gpu("GPU-1", 0.5)
    queue = VOLCANO | {"queue_name": "team", "resource": "example.com/fpga"}
    told.add("volcano_queue_allocated_scalar_resources", 8000, queue)
    told.read(tmp_path)
    assert queues() == {}
