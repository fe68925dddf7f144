"""Work units and gangs by owners and labels, and the vote (scheduling.md S1, S2, S9)."""

from typing import Any

import pytest

from scheduler_view.waits.rules.units import find_units
from tests.unit.waits.worlds import explained, job, node, owned, pod, refused, world_of

LWS = {
    "leaderworkerset.sigs.k8s.io/name": "serve",
    "leaderworkerset.sigs.k8s.io/group-index": "1",
}


@pytest.mark.parametrize(
    ("pods", "others", "subject", "size"),
    [
        ([pod("p")], {}, "Pod/lab/p", None),
        ([pod("p", meta=owned("Job", "j"))], {}, "Job/lab/j", None),
        ([pod("p", meta=owned("Job", "j"))], {"Job": [job("j")]}, "Job/lab/j", None),
        ([pod("p", meta=owned("Job", "j"))],
         {"Job": [job("j", parallelism=4, completions=4, completionMode="Indexed")]},
         "Job/lab/j", 4),
        ([pod("p", meta=owned("Job", "j"))],
         {"Job": [job("j", meta=owned("CronJob", "c"))]}, "Job/lab/j", None),
        ([pod("p", meta=owned("Job", "j", **{"jobset.sigs.k8s.io/jobset-name": "s"}))],
         {}, "JobSet/lab/s", 1),
        ([pod("p", meta=owned("StatefulSet", "x", **LWS))], {},
         "LeaderWorkerSet/lab/serve-1", 1),
        ([pod("p", meta=owned("PyTorchJob", "t"))], {}, "PyTorchJob/lab/t", 1),
        ([pod("p", meta=owned("Job", "v", **{"volcano.sh/job-name": "v"}))], {},
         "Job/lab/v", 1),
        ([pod("a", meta={"labels": {"scheduling.x-k8s.io/pod-group": "g"}}),
          pod("b", meta={"labels": {"scheduling.x-k8s.io/pod-group": "g"}})], {},
         "PodGroup/lab/g", 2),
        ([pod("a", meta={"annotations": {"scheduling.k8s.io/group-name": "g"}})],
         {"PodGroup": [{"metadata": {"name": "g", "namespace": "lab"},
                        "spec": {"minMember": 3}}]}, "PodGroup/lab/g", 3),
        ([pod("a", meta={"labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                         "annotations": {"kueue.x-k8s.io/pod-group-total-count": "5"}})],
         {}, "PodGroup/lab/g", 5),
    ],
)  # fmt: skip
def test_a_unit(pods: Any, others: Any, subject: str, size: int | None) -> None:
    (unit,) = find_units(world_of(Pod=pods, **others))
    assert (unit.subject, unit.gang_size) == (subject, size)


def test_a_deployment_owns_its_pods_through_its_replica_set() -> None:
    replica_set = job("web-1", meta=owned("Deployment", "web"))
    replica_set["spec"] = {"replicas": 2, "template": replica_set["spec"]["template"]}
    deployment = {
        "metadata": {"name": "web", "namespace": "lab", "uid": "uid-web"},
        "spec": {"replicas": 2, "template": replica_set["spec"]["template"]},
    }
    pods = [pod("web-1-a", meta=owned("ReplicaSet", "web-1"))]
    (unit,) = find_units(
        world_of(Pod=pods, ReplicaSet=[replica_set], Deployment=[deployment])
    )
    assert (unit.subject, unit.wanted, unit.missing_count) == (
        "Deployment/lab/web",
        2,
        1,
    )


def test_owners_in_a_cycle_end() -> None:
    one, other = (
        job("one", meta=owned("Job", "two")),
        job("two", meta=owned("Job", "one")),
    )
    world = world_of(Job=[one, other], Pod=[pod("p", meta=owned("Job", "one"))])
    assert {unit.kind for unit in find_units(world)} == {"Job"}


def test_a_finished_job_wants_no_pods() -> None:
    done = job("j")
    done["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert find_units(world_of(Job=[done])) == ()


def test_most_votes_decide_and_ties_go_to_the_later_stage() -> None:
    message = (
        "exceeded quota: gpu, requested: requests.nvidia.com/gpu=1, used: a, limited: b"
    )
    world: dict[str, Any] = {
        "Node": [node("n", 0)],
        "Job": [job("j", parallelism=3, completions=3)],
        "Event": [refused("Job", "j", message)],
    }
    one = pod("p1", meta=owned("Job", "j"))
    found = explained(**world, Pod=[one])
    assert (found.stage, found.cause) == ("refused", "quota")
    tie = explained(
        **(world | {"Job": [job("j", parallelism=2, completions=2)]}), Pod=[one]
    )
    assert (tie.stage, tie.contributing) == ("unschedulable", ("quota",))


def test_work_without_gpus_is_not_explained() -> None:
    with pytest.raises(ValueError, match="not enough"):
        explained(Node=[node("n")], Pod=[pod("p", None)])
