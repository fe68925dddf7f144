"""Random clusters with quotas, limits, gangs and priorities: only what is enough lets work start.

Each change is carried out on the objects by `tests/oracle/remedies.py`.
"""

import json
from typing import Any

from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from scheduler_view.waits.rules.change_wording import change_text
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.world.world import read_world
from tests.oracle.remedies import Objects, Trial
from tests.unit.waits.worlds import GPU, NOW_MS, job, node, pod, refused

KEY = f"requests.{GPU}"
TAINT = {"key": "dedicated", "value": "llm", "effect": "NoSchedule"}
CLASSES = [
    {"metadata": {"name": name}, "value": value}
    for name, value in (("low", 1), ("mid", 5), ("top", 9), ("system-x", 10**9))
]
LIMITS = [
    {"type": "Container", "min": {"cpu": "2"}},
    {"type": "Container", "max": {GPU: "2"}, "default": {GPU: "1"}},
    {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
    {"type": "Pod", "max": {"memory": "8Gi"}},
]
SUBJECT = "Job/lab/j"


@st.composite
def clusters(draw: st.DrawFn) -> Objects:
    """Up to three nodes with pods, a Job that waits, and what limits its namespace."""
    nodes, pods = [], []
    for number in range(draw(st.integers(1, 3))):
        name = f"n{number}"
        nodes.append(
            node(
                name,
                draw(st.sampled_from([2, 4, 8])),
                cordoned=draw(st.booleans()),
                taints=draw(st.sampled_from([[], [], [TAINT]])),
                labels={"zone": draw(st.sampled_from("ab"))},
                offers={"cpu": str(draw(st.sampled_from([4, 16]))), "pods": "5"},
            )
        )
        for one in range(draw(st.integers(0, 2))):
            namespace = draw(st.sampled_from(["lab", "theirs"]))
            priority = {"priority": draw(st.sampled_from([0, 1, 5]))}
            held = draw(st.integers(0, 4))
            pods.append(pod(f"p{number}-{one}", held, name, namespace=namespace,
                            spec=priority))  # fmt: skip
    objects: Objects = {
        "Node": nodes,
        "Pod": pods,
        "Job": [_job(draw)],
        "PriorityClass": CLASSES,
        "ResourceQuota": _quotas(draw, pods),
        "LimitRange": [
            {
                "metadata": {"name": "bounds", "namespace": "lab"},
                "spec": {"limits": [item]},
            }
            for item in draw(st.sampled_from([[], [], *([one] for one in LIMITS)]))
        ],
    }
    return objects


def _job(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 3))
    mode = draw(st.sampled_from(["Indexed", "NonIndexed"]))
    found = job(
        "j",
        gpus=draw(st.integers(1, 8)),
        parallelism=count,
        completions=count,
        completionMode=mode,
        suspend=draw(st.sampled_from([False, False, True])),
    )
    spec = found["spec"]["template"]["spec"]
    spec["nodeSelector"] = draw(st.sampled_from([{}, {}, {"zone": "a"}]))
    named, value = draw(st.sampled_from([("low", 1), ("mid", 5)]))
    spec["priorityClassName"], spec["priority"] = named, value
    (container,) = spec["containers"]
    requests = container["resources"]["requests"]
    cpu = draw(st.sampled_from(["", "1", "3"]))
    limits = {GPU: requests[GPU]}
    if cpu:
        requests["cpu"], limits["cpu"] = cpu, str(draw(st.sampled_from([3, 8])))
    container["resources"]["limits"] = limits
    return found


def _quotas(draw: st.DrawFn, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    held = sum(
        int(p["spec"]["containers"][0]["resources"]["requests"][GPU])
        for p in pods
        if p["metadata"]["namespace"] == "lab"
    )
    hards = draw(
        st.sampled_from([[], [{KEY: "4"}], [{KEY: "9"}], [{KEY: "4"}, {"cpu": "4"}]])
    )
    return [
        {
            "metadata": {"name": f"q{number}", "namespace": "lab"},
            "spec": {"hard": hard},
            "status": {"used": {KEY: str(held)} if KEY in hard else {}},
        }
        for number, hard in enumerate(hards)
    ]


def waiting(objects: Objects) -> Objects:
    """The objects after the controller tried to make its pods, with what it was told."""
    trial = Trial(objects, NOW_MS, SUBJECT)
    said = trial.settle()
    if said:
        trial.kind("Event").append(refused("Job", "j", f"Error creating: {said}"))
    return trial.objects


def gang_that_preempts() -> Objects:
    """Two pods of 4 GPUs fit on one node if both pods of lower priority end, and on none before."""
    waits = job("j", gpus=4, parallelism=2, completions=2, completionMode="Indexed")
    spec = waits["spec"]["template"]["spec"]
    spec["priorityClassName"], spec["priority"] = "low", 1
    spec["containers"][0]["resources"]["limits"] = {GPU: "4"}
    low = {"priority": 0}
    return {
        "Node": [node("n0", 8, offers={"cpu": "16", "pods": "5"})],
        "Pod": [pod("p0", 1, "n0", spec=low), pod("p1", 4, "n0", spec=low)],
        "Job": [waits],
        "PriorityClass": CLASSES,
        "ResourceQuota": [],
        "LimitRange": [
            {
                "metadata": {"name": "bounds", "namespace": "lab"},
                "spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}}]},
            }
        ],
    }


@given(clusters())
@example(gang_that_preempts())
@settings(max_examples=100, deadline=None)
def test_what_is_enough_lets_the_work_start_and_what_is_not_does_not(
    given_objects: Objects,
) -> None:
    objects = waiting(given_objects)
    found = {
        one.subject: one for one in Explainer(read_world(objects, NOW_MS)).waiting()
    }.get(SUBJECT)
    note(json.dumps(objects))
    trial = Trial(objects, NOW_MS, SUBJECT)
    if found is None:
        assert trial.starts()
        return
    assert found.starts_if or found.not_enough, found.cause
    for one in found.starts_if:
        assert all(c.details.get("name") != "system-x" for c in one.changes)
        value = one.as_value()
        assert trial.starts_with(value), change_text(value)
    for partial in found.not_enough:
        value = partial.as_value()
        assert not trial.starts_with(value), change_text(value)
        assert partial.remains
