"""Units, gangs and waits of frameworks: by their objects, and by entries of queues (S1-S3).

Covered: JobSet, Kubeflow, Ray, Volcano, coscheduling and KAI, as their objects are in the API, and
Kueue's Workloads for work whose own objects may not be read. Labels alone: `test_units.py`. Reading
them from an API server: `tests/integration/clusters/schedulers/test_frameworks.py`.
"""

from typing import Any

import pytest

from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.instants import instants_of, is_held
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import find_units
from tests.unit.waits.test_instants import at, ms
from tests.unit.waits.worlds import GPU, job, node, owned, pod, world_of

COSCHEDULING = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
KAI = {"annotations": {"pod-group-name": "g"}}


def made(name: str, spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """An object of a framework."""
    return {
        "metadata": {"name": name, "namespace": "lab", "uid": f"uid-{name}"} | meta,
        "spec": spec,
    }


def replicas(**counts: int) -> dict[str, Any]:
    return {kind: {"replicas": count} for kind, count in counts.items()}


@pytest.mark.parametrize(
    ("pods", "others", "subject", "size"),
    [
        ([pod("p", meta=owned("Job", "s-w-0", **{"jobset.sigs.k8s.io/jobset-name": "s"}))],
         {"JobSet": [made("s", {"replicatedJobs": [
             {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 4}}},
             {"name": "driver", "template": {"spec": {}}}]})]}, "JobSet/lab/s", 9),
        ([pod("p", meta=owned("TFJob", "t"))], {}, "TFJob/lab/t", 1),
        *(([pod("p", meta=owned(kind, "t"))],
           {kind: [made("t", {field: replicas(Master=1, Worker=3)})]}, f"{kind}/lab/t", 4)
          for kind, field in (("PyTorchJob", "pytorchReplicaSpecs"),
                              ("TFJob", "tfReplicaSpecs"), ("MPIJob", "mpiReplicaSpecs"),
                              ("XGBoostJob", "xgbReplicaSpecs"), ("JAXJob", "jaxReplicaSpecs"),
                              ("PaddleJob", "paddleReplicaSpecs"))),
        ([pod("p", meta=owned("RayCluster", "c"))],
         {"RayCluster": [made("c", {"workerGroupSpecs": [{"replicas": 5, "minReplicas": 2}]})]},
         "RayCluster/lab/c", 3),
        ([pod("p", meta=owned("RayCluster", "c"))],
         {"RayCluster": [made("c", {"workerGroupSpecs": [{"minReplicas": 1}]},
                              **owned("RayJob", "r"))],
          "RayJob": [made("r", {})]}, "RayJob/lab/r", 2),
        ([pod("p", meta=owned("Job", "v", **{"volcano.sh/job-name": "v"}))],
         {"VolcanoPodGroup": [made("v-1", {"minMember": 3, "queue": "q"}, **owned("Job", "v"))]},
         "Job/lab/v", 3),
        ([pod("p", meta=owned("Job", "v", **{"volcano.sh/job-name": "v"}))],
         {"VolcanoJob": [made("v", {"minAvailable": 2})]}, "Job/lab/v", 2),
        ([pod("p", meta=owned("Job", "j") | COSCHEDULING)],
         {"Job": [job("j")], "CoschedulingPodGroup": [made("g", {"minMember": 3})]},
         "Job/lab/j", 3),
        ([pod("p", meta=owned("Job", "j") | KAI)],
         {"Job": [job("j")], "KaiPodGroup": [made("g", {"minMember": 1})]}, "Job/lab/j", None),
    ],
)  # fmt: skip
def test_a_unit_of_a_framework(
    pods: Any, others: Any, subject: str, size: int | None
) -> None:
    (unit,) = find_units(world_of(Pod=pods, **others))
    assert (unit.subject, unit.gang_size) == (subject, size)


def workload(kind: str, name: str, admitted: str = "") -> dict[str, Any]:
    """Kueue's entry: a master without GPUs and three workers with two, made at 10:00."""

    def pod_set(label: str, count: int, gpus: int | None) -> dict[str, Any]:
        return {
            "name": label,
            "count": count,
            "template": {"spec": pod("t", gpus)["spec"]},
        }

    condition = {"type": "Admitted", "status": "True" if admitted else "False"}
    if admitted:
        condition["lastTransitionTime"] = at(admitted)
    said = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "WaitingForQuota",
        "message": "couldn't assign flavors",
    }
    spec = {
        "queueName": "vision",
        "podSets": [pod_set("master", 1, None), pod_set("worker", 3, 2)],
    }
    meta = owned(kind, name) | {"creationTimestamp": at("10:00:00")}
    entry = made("entry", spec, **meta)
    entry["status"] = {"conditions": [condition, *([] if admitted else [said])]}
    return entry


@pytest.mark.parametrize("kind", ["PyTorchJob", "RayJob", "TrainJob", "AppWrapper"])
def test_work_without_pods_waits_in_its_queue_by_its_entry(kind: str) -> None:
    world = world_of(Node=[node("a")], Workload=[workload(kind, "train")])
    (found,) = Explainer(world).waiting()
    assert (found.subject, found.cause) == (f"{kind}/lab/train", "queue")
    assert (found.pods.wanted, found.resource, found.units_per_pod) == (4, GPU, 2)
    assert found.facts["queue_reason"] == "WaitingForQuota"
    assert [one.text for one in found.evidence] == ["couldn't assign flavors"]
    assert found.since_ms == ms("10:00:00")
    (unit,) = find_units(world)
    assert is_held(unit)
    assert instants_of(WorldIndex(world), unit).admitted_ms is None


def test_an_admitted_entry_says_since_when_work_waits_for_a_node() -> None:
    # made and queued at 10:00, admitted at 10:40, its pods are made at 10:41
    pods = [
        pod(
            name,
            2,
            meta=owned("PyTorchJob", "train")
            | {"name": name, "creationTimestamp": at("10:41:00")},
        )
        for name in ("w-0", "w-1")
    ]
    entry = workload("PyTorchJob", "train", "10:40:00")
    world = world_of(Node=[node("a", 0)], Pod=pods, Workload=[entry])
    (unit,) = find_units(world)
    assert unit.gang_size == 4, "as its entry counts them"
    seen = instants_of(WorldIndex(world), unit)
    assert (seen.created_ms, seen.admitted_ms) == (ms("10:00:00"), ms("10:40:00"))
    assert seen.parts.admission_ms == 2_400_000


def test_an_entry_for_work_whose_jobs_exist_adds_no_unit() -> None:
    label = {"jobset.sigs.k8s.io/jobset-name": "train"}
    own = job("train-w-0", suspend=True, meta=owned("JobSet", "train", **label) | {
        "name": "train-w-0", "namespace": "lab", "uid": "uid-w",
    })  # fmt: skip
    for kind in ("JobSet", "TrainJob"):
        world = world_of(Job=[own], Workload=[workload(kind, "train")])
        (unit,) = find_units(world)
        assert (unit.subject, len(unit.entries)) == ("JobSet/lab/train", 1)


def test_a_volcano_job_without_pods_has_not_passed_its_queue() -> None:
    label = {"volcano.sh/job-name": "v"}
    waits = pod("v-0", 1, meta=owned("Job", "v", **label), tried=False)
    group = made("v-1", {"minMember": 2, "queue": "q"}, **owned("Job", "v"))
    group["status"] = {"phase": "Pending"}
    world = world_of(Node=[node("a")], Pod=[waits], VolcanoPodGroup=[group])
    (found,) = Explainer(world).waiting()
    assert (found.subject, found.cause) == ("Job/lab/v", "queue")
