"""Work that a queue of Kueue, Volcano or KAI has not let in: what keeps it, and what would help."""

from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import change_text
from scheduler_view.waits.rules.explanation import WaitExplanation
from tests.unit.waits.worlds import GPU, changes, explained, job, node, owned, pod

LABEL = {"labels": {"kueue.x-k8s.io/queue-name": "batch"}}
INSUFFICIENT = (
    "couldn't assign flavors to pod set main: insufficient unused quota for "
    f"{GPU} in flavor h100, 3 more needed"
)
NEVER = (
    "couldn't assign flavors to pod set main: insufficient quota for "
    f"{GPU} in flavor h100, request > maximum capacity (16 > 8)"
)


def named(name: str, namespace: str = "", **parts: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"metadata": {"name": name} | place, **parts}


def local(behind: str = "large", **spec: Any) -> dict[str, Any]:
    return named("batch", "lab", spec={"clusterQueue": behind} | spec)


def cluster(
    nominal: int = 8, used: int = 0, name: str = "large", **more: Any
) -> dict[str, Any]:
    limits = more.pop("limits", {})
    conditions = more.pop("conditions", [])
    amount = {"name": GPU, "nominalQuota": str(nominal)} | limits
    flavors = [{"name": "h100", "resources": [amount]}]
    groups = [{"coveredResources": [GPU], "flavors": flavors}]
    total = {"name": "h100", "resources": [{"name": GPU, "total": str(used)}]}
    return named(
        name,
        spec={"resourceGroups": groups, "namespaceSelector": {}} | more,
        status={"flavorsReservation": [total], "conditions": conditions},
    )


def entry(gpus: int = 8, message: str = "", **more: Any) -> dict[str, Any]:
    """Kueue's entry of the Job j."""
    sets = [{"name": "main", "count": 1, "template": {"spec": pod("t", gpus)["spec"]}}]
    sets[0] |= more.pop("sets", {})
    waits = {"type": "QuotaReserved", "status": "False", "reason": "Pending"}
    status = more.pop("status", {"conditions": [waits | {"message": message}]})
    return {
        "metadata": {"name": "job-j", "namespace": "lab"} | owned("Job", "j"),
        "spec": {"queueName": "batch", "podSets": sets} | more,
        "status": status,
    }


def waits(gpus: int = 8, **objects: Any) -> WaitExplanation:
    """Of the Job j, which waits in the LocalQueue batch."""
    world: dict[str, Any] = {
        "Node": [node("n", 32)],
        "Namespace": [named("lab")],
        "Job": [job("j", suspend=True, gpus=gpus, meta=LABEL)],
        "LocalQueue": [local()],
        "ClusterQueue": [cluster()],
        "Cohort": [],
        "Workload": [entry(gpus)],
    }
    world |= objects
    return explained(**{kind: one for kind, one in world.items() if one is not None})


def in_cohort(nominal: int, name: str = "large", **more: Any) -> dict[str, Any]:
    return cluster(nominal, name=name, cohortName="all", **more)


def texts(found: WaitExplanation) -> list[str]:
    return [change_text(one) for one in changes(found)]


def test_a_local_queue_that_does_not_exist() -> None:
    other = named("nightly", "lab", spec={"clusterQueue": "large"})
    found = waits(LocalQueue=[other, named("batch", "other")])
    assert (found.stage, found.cause) == ("held_back", "queue_missing")
    assert found.facts["object"] == "LocalQueue/lab/batch"
    assert texts(found) == [
        "it names the queue nightly, which exists",
        "the LocalQueue batch in the namespace lab is created",
    ]


def test_a_cluster_queue_that_does_not_exist() -> None:
    found = waits(ClusterQueue=[cluster(name="small")])
    assert (found.cause, found.facts["object"]) == (
        "queue_missing",
        "ClusterQueue/large",
    )
    assert texts(found) == ["the ClusterQueue large is created"]


def test_kueue_says_that_a_cluster_queue_does_not_exist() -> None:
    """LocalQueues may be listed by `reader.yaml`, ClusterQueues only with an optional role."""
    said = [entry(message="ClusterQueue large doesn't exist")]
    found = waits(ClusterQueue=None, Cohort=None, Workload=said)
    assert (found.cause, found.facts["object"]) == (
        "queue_missing",
        "ClusterQueue/large",
    )


@pytest.mark.parametrize(
    ("message", "cause"),
    [("LocalQueue batch doesn't exist", "queue_missing"), ("", "queue")],
)
def test_without_the_right_to_list_queues_kueue_says_it(
    message: str, cause: str
) -> None:
    found = waits(LocalQueue=None, ClusterQueue=None, Workload=[entry(message=message)])
    assert found.cause == cause
    assert texts(found) == [
        "the LocalQueue batch in the namespace lab is created"
        if message
        else "the queue lab/batch has quota for it"
    ]


@pytest.mark.parametrize(
    ("objects", "facts", "text"),
    [
        ({"LocalQueue": [local(stopPolicy="Hold")]},
         {"object": "LocalQueue/lab/batch", "policy": "Hold"},
         "the LocalQueue batch in the namespace lab is resumed"),
        ({"ClusterQueue": [cluster(stopPolicy="HoldAndDrain")]},
         {"object": "ClusterQueue/large", "policy": "HoldAndDrain"},
         "the ClusterQueue large is resumed"),
        ({"ClusterQueue": [cluster(conditions=[
            {"type": "Active", "status": "False", "reason": "FlavorNotFound",
             "message": "references missing ResourceFlavor(s): h100"}])]},
         {"object": "ClusterQueue/large", "inactive": "FlavorNotFound"},
         "the ClusterQueue large is active again"),
        ({"ClusterQueue": [cluster(namespaceSelector={"matchLabels": {"a": "b"}})]},
         {"object": "ClusterQueue/large", "namespace": "lab"},
         "the ClusterQueue large serves the namespace lab"),
    ],
)  # fmt: skip
def test_a_queue_that_lets_no_work_in(objects: Any, facts: Any, text: str) -> None:
    found = waits(**objects)
    assert found.cause == "queue_stopped"
    assert found.facts.items() >= facts.items()
    assert texts(found) == [text]


def test_why_a_queue_is_not_active_is_quoted() -> None:
    inactive = {"type": "Active", "status": "False", "reason": "FlavorNotFound",
                "message": "references missing ResourceFlavor(s): h100"}  # fmt: skip
    found = waits(ClusterQueue=[cluster(conditions=[inactive])])
    assert found.evidence[0].object == "ClusterQueue/large"
    assert found.evidence[0].text == inactive["message"]


@pytest.mark.parametrize(
    ("queues", "cohorts", "most"),
    [
        ([cluster(8)], [], 8),
        ([in_cohort(8), in_cohort(4, "small")], [], 12),
        ([in_cohort(8), in_cohort(8, "small", limits={"lendingLimit": "1"})], [], 9),
        ([in_cohort(8, limits={"borrowingLimit": "2"}), in_cohort(9, "small")], [], 10),
        ([in_cohort(8), cluster(9, name="small", cohortName="other")],
         [named("all", spec={"parentName": "root"}), named("root"), named("other")], 8),
        ([in_cohort(8), in_cohort(9, "small")], [named("all")], None),
        ([in_cohort(8), cluster(9, name="small", cohortName="other")],
         [named("all", spec={"parentName": "r"}), named("other", spec={"parentName": "r"})],
         None),
        ([in_cohort(8)], None, None),
    ],
)  # fmt: skip
def test_a_request_that_is_larger_than_a_queue_can_ever_let_in(
    queues: Any, cohorts: Any, most: int | None
) -> None:
    """Own quota and what the cohort may lend; without the right to list cohorts it is unknown."""
    found = waits(16, ClusterQueue=queues, Cohort=cohorts)
    if most is None:
        assert found.cause == "queue"
        return
    assert found.cause == "queue_limit"
    limit = found.facts["limit"]
    assert isinstance(limit, dict)
    assert (limit["requested"], limit["most"], limit["to"]) == (16, most, 16)
    assert texts(found) == [
        f"it requests at most {most} GPUs in total",
        f"the nominalQuota of h100/{GPU} in the ClusterQueue large is raised by 8 GPUs, to 16",
    ]


def test_a_request_that_a_queue_lets_in_must_fit_on_a_node_too() -> None:
    """What is requested at most is what is tried: 8 GPUs fit, 16 do not."""
    found = waits(16, Node=[node("n", 8)])
    assert texts(found)[0] == "it requests at most 8 GPUs in total"
    assert "raise_queue_value" not in {one["change"] for one in changes(found)}
    small = waits(16, Node=[node("n", 4)])
    assert {"shrink_total", "raise_queue_value"}.isdisjoint(
        one["change"] for one in changes(small)
    )


def test_a_queue_without_the_resource() -> None:
    found = waits(ClusterQueue=[named("large", spec={"namespaceSelector": {}})])
    assert (found.cause, found.starts_if) == ("queue_limit", ())


def test_work_that_may_be_let_in_partly_is_not_too_large() -> None:
    found = waits(16, Workload=[entry(16, sets={"minCount": 1})])
    assert found.cause == "queue"


def test_the_words_of_kueue_where_the_queue_may_not_be_read() -> None:
    found = waits(16, LocalQueue=None, ClusterQueue=None, Workload=[entry(16, NEVER)])
    assert found.cause == "queue_limit"
    assert texts(found) == ["it requests at most 8 GPUs in total"]


def test_how_much_more_is_needed_and_who_uses_it() -> None:
    """As Kueue says it, else by what admitted work has reserved."""
    holder = entry() | {"status": {"admission": {"clusterQueue": "large"}}}
    holder["metadata"] = {"name": "job-h", "namespace": "lab"} | owned("Job", "h")
    more: dict[str, Any] = {
        "Node": [node("n", 16)],
        "ClusterQueue": [cluster(8, used=5)],
    }
    held = [pod("h", 5, "n", meta=owned("Job", "h"))]
    said = waits(
        6, Workload=[entry(6, INSUFFICIENT), holder], Pod=held,
        Job=[job("j", suspend=True, gpus=6, meta=LABEL), job("h", gpus=5)], **more,
    )  # fmt: skip
    assert said.cause == "queue"
    assert [one.pod for one in said.let_in] == ["lab/h"]
    assert (
        texts(said)
        == texts(waits(6, **more))
        == [
            "enough work in the queue large ends to free 3 GPUs",
            f"the nominalQuota of h100/{GPU} in the ClusterQueue large is raised by 3 GPUs, to 11",
        ]
    )


@pytest.mark.parametrize(
    ("queues", "behind"),
    [
        ([cluster(8, used=3)], "queue large"),
        ([cluster(8, used=2)], ""),
        ([in_cohort(4), in_cohort(4, "small", used=5)], "cohort all"),
        ([in_cohort(4, used=3), in_cohort(4, "small", used=5)], "queue large"),
        ([in_cohort(4), in_cohort(4, "small", used=2)], ""),
        ([in_cohort(4), in_cohort(5, "small", used=5, limits={"lendingLimit": "2"})], ""),
        ([in_cohort(4, limits={"borrowingLimit": "1"}), in_cohort(4, "small", used=5)], ""),
        ([in_cohort(4), cluster(4, name="small", used=5, cohortName="other")], ""),
    ],
)  # fmt: skip
def test_work_whose_end_is_enough_runs_in_the_queue_or_in_its_cohort(
    queues: Any, behind: str
) -> None:
    """3 more are needed: as much must be used there, lent to the cohort, and may be borrowed."""
    holder = entry() | {
        "status": {"admission": {"clusterQueue": queues[-1]["metadata"]["name"]}}
    }
    holder["metadata"] = {"name": "job-h", "namespace": "lab"} | owned("Job", "h")
    found = waits(
        6, ClusterQueue=queues, Node=[node("n", 32)],
        Workload=[entry(6, INSUFFICIENT, sets={"minCount": 1}), holder],
        Job=[job("j", suspend=True, gpus=6, meta=LABEL), job("h", gpus=5)],
        Pod=[pod("h", 5, "n", meta=owned("Job", "h"))],
    )  # fmt: skip
    assert found.cause == "queue"
    first = f"enough work in the {behind} ends to free 3 GPUs"
    assert [one for one in texts(found) if " ends" in one] == (
        [first] if behind else []
    )
    assert texts(found)[-1].startswith(
        f"the nominalQuota of h100/{GPU} in the ClusterQueue large"
    )
    if behind == "cohort all":
        assert [one.unit for one in found.let_in] == ["Job/lab/h"]
        assert (found.cluster_queue, found.cohort) == ("large", "all")


@pytest.mark.parametrize(("used", "is_named"), [(1, True), (0, False)])
def test_how_much_more_is_not_known(used: int, *, is_named: bool) -> None:
    """Of two flavors without Kueue's words: the end of work helps only where some runs."""
    queue = cluster(8, used=used)
    groups = queue["spec"]["resourceGroups"]
    amount = {"name": GPU, "nominalQuota": "8"}
    groups[0]["flavors"].append({"name": "a100", "resources": [amount]})
    said = texts(waits(8, ClusterQueue=[queue]))
    assert ("enough work in the queue large ends" in said) == is_named
    assert said[-1].startswith("the quota of the queue large is raised")


def test_work_that_was_deactivated() -> None:
    evicted = {"type": "Evicted", "status": "True",
               "reason": "DeactivatedDueToRequeuingLimitExceeded",
               "message": "exceeded the maximum number of re-queuing retries"}  # fmt: skip
    off = entry(active=False, status={"conditions": [evicted]})
    found = waits(Workload=[off])
    assert found.cause == "queue_deactivated"
    assert found.facts["queue_reason"] == evicted["reason"]
    assert [one.text for one in found.evidence] == [evicted["message"]]
    assert texts(found) == ["the Workload lab/job-j is activated again (spec.active)"]


def test_an_admission_check_that_has_not_let_it_in() -> None:
    reserved = {"type": "QuotaReserved", "status": "True"}
    checks = [{"name": "ok", "state": "Ready"},
              {"name": "nodes", "state": "Pending", "message": "no capacity"}]  # fmt: skip
    status = {"conditions": [reserved], "admissionChecks": checks}
    found = waits(Workload=[entry(status=status)])
    assert (found.cause, found.facts["check"]) == ("queue_check", "nodes")
    assert [one.text for one in found.evidence] == ["no capacity"]
    assert texts(found) == ["the admission check nodes passes"]


VOLCANO = {"volcano.sh/job-name": "v"}


def in_volcano(queues: Any, gpus: int = 8, **spec: Any) -> WaitExplanation:
    """Of the Volcano Job v; `PodGroups`, `Pods` and `Workload` are of others."""
    groups, others = spec.pop("PodGroups", []), spec.pop("Pods", [])
    entries = {"Workload": spec.pop("Workload", [])}
    group = {
        "metadata": {"name": "v-1", "namespace": "ml"} | owned("Job", "v"),
        "spec": {"minMember": 2, "queue": "research"} | spec,
        "status": {"phase": "Pending"},
    }
    pods = [
        pod(name, gpus, namespace="ml", meta=owned("Job", "v", **VOLCANO)
            | {"name": name, "namespace": "ml"}, tried=False)
        for name in ("v-0", "v-1")
    ]  # fmt: skip
    more = entries if queues is None else entries | {"VolcanoQueue": queues}
    return explained(
        Node=[node("n", 16)],
        Pod=[*pods, *others],
        VolcanoPodGroup=[group, *groups],
        **more,
    )


def research(capability: int, used: int = 0, **status: Any) -> dict[str, Any]:
    spec = {"capability": {GPU: capability}}
    return named("research", spec=spec, status={"allocated": {GPU: str(used)}} | status)


@pytest.mark.parametrize(
    ("queues", "cause", "said"),
    [
        ([], "queue_missing", ["the queue research is created"]),
        ([research(32, state="Closed")], "queue_stopped", ["the queue research is resumed"]),
        ([research(8)], "queue_limit",
         ["it requests at most 8 GPUs in total",
          f"the capability of {GPU} in the queue research is raised by 8 GPUs, to 16"]),
        ([named("research", spec={"parent": "top"}),
          named("top", spec={"capability": {GPU: 4}})], "queue_limit",
         ["it requests at most 4 GPUs in total",
          f"the capability of {GPU} in the queue top is raised by 12 GPUs, to 16"]),
        ([research(20, used=8)], "queue",
         ["enough work in the queue research ends to free 4 GPUs",
          f"the capability of {GPU} in the queue research is raised by 4 GPUs, to 24"]),
        ([research(32)], "queue", ["the queue research has quota for it"]),
        (None, "queue", ["the queue research has quota for it"]),
    ],
)  # fmt: skip
def test_a_queue_of_volcano_belongs_to_no_namespace(
    queues: Any, cause: str, said: list[str]
) -> None:
    found = in_volcano(queues)
    assert (found.cause, texts(found)) == (cause, said)


def test_a_pod_group_of_volcano_that_is_work_itself() -> None:
    """Of pods that no Job made, and of those that such a group let in."""

    def made(name: str, gpus: int, on: str = "") -> dict[str, Any]:
        meta: dict[str, Any] = {"name": name, "namespace": "ml", "uid": name}
        note = {"scheduling.k8s.io/group-name": name}
        meta |= {"annotations": note}
        return pod(name, gpus, on, namespace="ml", meta=meta, tried=False)

    def group(name: str, phase: str) -> dict[str, Any]:
        spec = {"minMember": 1, "queue": "research"}
        return named(name, "ml", spec=spec, status={"phase": phase})

    def found(gpus: int) -> WaitExplanation:
        return explained(
            Node=[node("n", 32)],
            Pod=[made("waits", gpus), made("runs", 4, "n")],
            VolcanoPodGroup=[group("waits", "Pending"), group("runs", "Running")],
            VolcanoQueue=[research(8, used=4)],
        )

    one = found(16)
    assert (one.subject, one.cause) == ("PodGroup/ml/waits", "queue_limit")
    assert "it requests at most 8 GPUs in total" in texts(one)
    one = found(8)
    assert (one.cause, [held.unit for held in one.let_in]) == (
        "queue",
        ["PodGroup/ml/runs"],
    )


def test_who_uses_a_queue_of_volcano_and_those_below_it() -> None:
    """Not work of a ClusterQueue of Kueue with the same name."""
    queues = [
        research(20, used=8),
        named("below", spec={"parent": "research"}),
        named("other"),
    ]
    held = [
        {"metadata": {"name": name, "namespace": "ml"} | owned("Job", name),
         "spec": {"minMember": 1, "queue": queue}, "status": {"phase": "Running"}}
        for name, queue in (("a", "research"), ("b", "below"), ("c", "other"))
    ]  # fmt: skip
    pods = [
        pod(name, gpus, "n", namespace="ml", meta=owned("Job", name)
            | {"name": name, "namespace": "ml", "uid": name})
        for name, gpus in (("a", 2), ("b", 4), ("c", 1), ("k", 1))
    ]  # fmt: skip
    workload = {
        "metadata": {"name": "k", "namespace": "ml"} | owned("Job", "k"),
        "status": {"admission": {"clusterQueue": "research"}},
    }
    found = in_volcano(queues, PodGroups=held, Pods=pods, Workload=[workload])
    assert [(one.pod, one.units) for one in found.let_in] == [("ml/b", 4), ("ml/a", 2)]
    assert found.cluster_queue == "research"


def test_the_smallest_number_of_pods_of_volcano_counts() -> None:
    assert in_volcano([research(8)], minResources={GPU: "8"}).cause == "queue"


@pytest.mark.parametrize(
    ("reason", "gpu", "cause", "said"),
    [
        ("QueueDoesNotExist", None, "queue_missing", ["the queue team is created"]),
        ("OverLimit", {"limit": 2, "quota": 1}, "queue_limit",
         ["it requests at most 2 GPUs in total",
          "the limit in the queue team is raised by 2 GPUs, to 4"]),
        ("OverLimit", {"limit": -1, "quota": -1}, "queue",
         ["the queue team has quota for it"]),
        ("NonPreemptibleOverQuota", {"limit": 9, "quota": 0.5}, "queue_limit",
         ["it requests at most 0.5 GPUs in total",
          "the quota in the queue team is raised by 3.5 GPUs, to 4"]),
    ],
)  # fmt: skip
def test_a_queue_of_kai(reason: str, gpu: Any, cause: str, said: list[str]) -> None:
    stated = {"type": "UnschedulableOnNodePool", "reasons": [{"reason": reason}]}
    group = {
        "metadata": {"name": "g", "namespace": "lab"},
        "spec": {"minMember": 1, "queue": "team"},
        "status": {"schedulingConditions": [stated]},
    }
    member = pod("p", 4, meta=owned("Job", "j") | {
        "name": "p", "namespace": "lab", "annotations": {"pod-group-name": "g"},
    })  # fmt: skip
    queues = [named("team", spec={"resources": {"gpu": gpu}})] if gpu else []
    found = explained(
        Node=[node("n")], Pod=[member], Job=[job("j", gpus=4)],
        KaiPodGroup=[group], KaiQueue=queues,
    )  # fmt: skip
    assert (found.cause, texts(found)) == (cause, said)
