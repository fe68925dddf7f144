"""Fields of queues as values: names, paths, faults, rules; objects of unexpected forms.

Not covered here: what the API server answers (tests/integration/clusters/schedulers).
"""

from typing import Any

import pytest

from scheduler_view.changes.rules.queue_steps import (
    DesiredQueue,
    StalePatch,
    faults_of,
    is_done,
    patch_of,
    queue_step,
)
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.schedulers import (
    QUEUE_FIELDS,
    SCHEDULERS,
    scheduler_of,
)

GPU = "nvidia.com/gpu"
NOMINAL = f"a/{GPU}/nominalQuota"


def cluster_queue(**limits: Any) -> dict[str, Any]:
    resources = [{"name": GPU, "nominalQuota": 4, **limits}]
    flavors = [{"name": "a", "resources": resources}]
    groups = [{"coveredResources": [GPU], "flavors": flavors}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q", "uid": "1", "generation": 3},
        "spec": {"resourceGroups": groups},
    }


def volcano_queue(name: str, **spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    return head | {"metadata": {"name": name, "uid": name}, "spec": spec}


def desired(value: str | None, field: str = NOMINAL) -> DesiredQueue:
    return DesiredQueue(ObjectKey("ClusterQueue", "", "q"), {field: value})


def test_each_scheduler_is_one_adapter_and_each_kind_has_one_scheduler() -> None:
    kinds = [one.kind for s in SCHEDULERS.values() for one in s.objects]
    assert len(kinds) == len(set(kinds))
    assert {kind: scheduler_of(kind).name for kind in QUEUE_FIELDS} == {
        "ClusterQueue": "kueue",
        "WorkloadPriorityClass": "kueue",
        "VolcanoQueue": "volcano",
        "KaiQueue": "kai",
    }


def test_a_patch_tests_identity_names_and_old_numbers() -> None:
    live = cluster_queue()
    step = queue_step(desired("8"), live)
    root = "/spec/resourceGroups/0/flavors/0"
    assert patch_of(step, live) == [
        {"op": "test", "path": "/metadata/uid", "value": "1"},
        {"op": "test", "path": f"{root}/name", "value": "a"},
        {"op": "test", "path": f"{root}/resources/0/name", "value": GPU},
        {"op": "test", "path": f"{root}/resources/0/nominalQuota", "value": 4},
        {"op": "replace", "path": f"{root}/resources/0/nominalQuota", "value": "8"},
    ]
    assert not is_done(step, live)
    assert is_done(step, cluster_queue(nominalQuota="8000m"))
    assert step.pin.generation == 3


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (cluster_queue(nominalQuota=5), "is 5, not 4"),
        (cluster_queue() | {"metadata": {"name": "q", "uid": "2"}}, "created again"),
        (cluster_queue(name="amd.com/gpu"), "flavors or resources were changed"),
    ],
)
def test_a_patch_of_another_state_is_stale(now: dict[str, Any], why: str) -> None:
    step = queue_step(desired("8"), cluster_queue())
    with pytest.raises(StalePatch, match=why):
        patch_of(step, now)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"lendingLimit": 9}, "lendingLimit of a/nvidia.com/gpu is 9"),
        ({"nominalQuota": -1}, "a/nvidia.com/gpu/nominalQuota is negative"),
        ({"name": "amd.com/gpu"}, "not in the order of coveredResources"),
    ],
)
def test_only_new_faults_of_a_cluster_queue_count(
    limits: dict[str, Any], why: str
) -> None:
    before, after = cluster_queue(), cluster_queue(**limits)
    (fault,) = faults_of(desired("8"), before, {"q": after})
    assert why in fault
    assert faults_of(desired("8"), after, {"q": after}) == []


def test_volcanos_rules_are_about_the_whole_tree() -> None:
    rules = QUEUE_FIELDS["VolcanoQueue"].rules
    root = volcano_queue("root", capability={GPU: "8"})
    child = volcano_queue("c", guarantee={"resource": {GPU: 3}}, deserved={GPU: "2"})
    assert rules(child, [root, child]) == [
        f"guarantee of {GPU} is 3, more than deserved 2"
    ]
    wide = volcano_queue("w", capability={GPU: "9"})
    assert rules(wide, [root, wide]) == [
        f"capability of {GPU} of w is above that of its parent root, 8"
    ]
    assert rules(root, [root, wide]) == rules(wide, [root, wide])


@pytest.mark.parametrize(
    ("kind", "field", "value", "fault"),
    [
        ("KaiQueue", "gpu/quota", "-1", ""),
        ("KaiQueue", "gpu/quota", "0.7", ""),
        ("KaiQueue", "gpu/quota", "-2", "-2 is below 0; -1 means unlimited"),
        ("KaiQueue", "gpu/overQuotaWeight", "-1", "-1 is below 0"),
        ("KaiQueue", "priority", "1.5", "'1.5' is not a whole number"),
        ("VolcanoQueue", "weight", "0", "0 is not between 1 and 2,147,483,647"),
        ("WorkloadPriorityClass", "value", "3000000000", "is not between"),
        ("WorkloadPriorityClass", "value", "-5", ""),
        ("ClusterQueue", "a/cpu/nominalQuota", "500m", ""),
        ("ClusterQueue", NOMINAL, "500m", "is a fraction"),
    ],
)
def test_a_value_is_checked_by_its_field(
    kind: str, field: str, value: str, fault: str
) -> None:
    fields = QUEUE_FIELDS[kind]
    assert fields.unknown(field, {}) == ""
    found = fields.fault(field, value, {})
    assert fault in found
    assert bool(fault) == bool(found)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("KaiQueue", "cpu/quota"),
        ("VolcanoQueue", "cpu/capability"),
        ("VolcanoQueue", "guarantee"),
        ("ClusterQueue", "nominalQuota"),
        ("ClusterQueue", f"a/{GPU}/stopPolicy"),
        ("WorkloadPriorityClass", "metadata"),
    ],
)
def test_other_fields_are_not_known(kind: str, field: str) -> None:
    assert QUEUE_FIELDS[kind].unknown(field, {}).startswith("must be")


def test_texts_are_not_compared_as_numbers() -> None:
    fields = QUEUE_FIELDS["WorkloadPriorityClass"]
    assert fields.same("value", "1k", "1000")
    assert not fields.same("description", "1k", "1000")


@pytest.mark.parametrize("kind", list(QUEUE_FIELDS))
@pytest.mark.parametrize("spec", [{}, {"resourceGroups": None}, {"resources": {}}])
def test_an_object_without_values_has_none(kind: str, spec: dict[str, Any]) -> None:
    live = {"metadata": {"name": "x"}, "spec": spec}
    values = QUEUE_FIELDS[kind].values(live, [GPU])
    assert set(values.values()) <= {None}
    assert QUEUE_FIELDS[kind].rules(live, [live]) == []
    assert QUEUE_FIELDS[kind].used(live, f"a/{GPU}") in (None, "0")
