"""Plans: the difference as steps, whose fields are whose (T29), order, pins.

Left out: what the API server answers; that is shown on a real one.
"""

from copy import deepcopy
from typing import Any

from scheduler_view.changes.rules.steps import (
    Action,
    DesiredObject,
    Observed,
    PlanStep,
    is_empty,
    matches,
    plan_steps,
)
from scheduler_view.changes.rules.warnings import namespace_warnings, object_warnings
from scheduler_view.clusters.rules.live_objects import Manifest, git_owner, pin_of
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.quotas.rules.quota_objects import (
    DesiredQuota,
    class_key_of,
    desired_class,
    desired_quotas,
    quota_key_of,
)
from scheduler_view.quotas.rules.tiers import TierSpec, TierState
from tests.unit.quotas.examples import priority_class, quota

GPU = "requests.nvidia.com/gpu"
VISION = quota_key_of("vision", "")


def body(hard: dict[str, str]) -> dict[str, Any]:
    target = [
        DesiredQuota(
            "t", key.removeprefix("requests."), "", int(value), {"vision": int(value)}
        )
        for key, value in hard.items()
    ]
    return desired_quotas(target, {})[VISION]


def seen(**live: Manifest | None) -> Observed:
    return Observed({VISION: live.get("quota")}, {"vision": "ns1"})


def one(
    wanted: dict[str, Any] | None, live: Manifest | None, *, force: bool = False
) -> PlanStep:
    (step,) = plan_steps([DesiredObject(VISION, wanted, force)], seen(quota=live))
    return step


def test_what_is_as_wanted_is_left_alone() -> None:
    step = one(body({GPU: "2"}), quota({GPU: "2000m"}))
    assert step.action == Action.KEEP
    assert is_empty([step])
    assert one(None, None).action == Action.KEEP


def test_a_changed_key_is_one_change() -> None:
    step = one(body({GPU: "48"}), quota({GPU: "56"}))
    assert step.action == Action.CHANGE
    assert [(c.field, c.before, c.after) for c in step.changes] == [
        (f"spec.hard.{GPU}", "56", "48")
    ]


def test_foreign_keys_are_untouched_and_our_omitted_ones_are_shown() -> None:
    live = quota(
        {GPU: "4", "requests.nvidia.com/mig-1g.10gb": "7", "requests.cpu": "10"},
        managers={
            "gpu-ledger": (GPU, "requests.nvidia.com/mig-1g.10gb"),
            "argocd-controller": ("requests.cpu",),
        },
    )
    step = one(body({GPU: "4"}), live)
    assert [(c.field, c.after) for c in step.changes] == [
        ("spec.hard.requests.nvidia.com/mig-1g.10gb", None)
    ]
    assert not step.blocked
    warned = object_warnings([step], seen(quota=live))
    assert "Argo CD" in warned[0].text


def test_another_owner_of_the_key_is_named() -> None:
    live = quota({GPU: "4"}, managers={"kubectl-edit": (GPU,)})
    step = one(body({GPU: "8"}), live)
    assert step.others == {f"spec.hard.{GPU}": ("kubectl-edit",)}
    text = object_warnings([step], seen(quota=live))[0].text
    assert "kubectl-edit" in text
    assert "with the value 4" in text


def test_an_object_without_our_label_is_not_touched_unless_ticked() -> None:
    live = quota({GPU: "4"}, labels={})
    assert "not managed by GPU Ledger" in one(body({GPU: "8"}), live).blocked
    assert "not managed by GPU Ledger" in one(None, live).blocked
    ticked = one(body({GPU: "4"}), live, force=True)
    assert not ticked.blocked
    assert ticked.action == Action.CHANGE  # the label


def test_removing_leaves_what_others_set() -> None:
    alone = one(None, quota({GPU: "4"}))
    assert (alone.action, alone.body) == (Action.REMOVE, None)
    shared = quota(
        {GPU: "4", "pods": "9"}, managers={"gpu-ledger": (GPU,), "kubectl": ("pods",)}
    )
    step = one(None, shared)
    assert step.action == Action.CHANGE
    assert step.body is not None
    assert step.body["spec"] == {"hard": {}}
    assert [(c.field, c.after) for c in step.changes] == [(f"spec.hard.{GPU}", None)]


def test_places_that_are_not_there_block() -> None:
    there = Observed({VISION: None}, {}, frozenset({"vision"}))
    (step,) = plan_steps([DesiredObject(VISION, body({GPU: "1"}))], there)
    assert step.blocked == "namespace vision is being deleted"
    (step,) = plan_steps([DesiredObject(VISION, body({GPU: "1"}))], Observed({}, {}))
    assert step.blocked == "namespace vision does not exist in this cluster"


def test_a_pod_does_not_move_the_pin_and_everything_else_does() -> None:
    live = quota({GPU: "4"}, used={GPU: "0"})
    pin = pin_of(live, "ns1")
    by_pod = deepcopy(live)
    by_pod["metadata"]["resourceVersion"] = "8"
    by_pod["status"]["used"][GPU] = "2"
    status = {"manager": "kube-controller-manager", "subresource": "status"}
    by_pod["metadata"]["managedFields"].append(status | {"fieldsV1": {"f:status": {}}})
    assert not pin.difference(pin_of(by_pod, "ns1"))

    edited = deepcopy(live)
    edited["spec"]["hard"][GPU] = "5"
    assert "changed" in pin.difference(pin_of(edited, "ns1"))
    taken = deepcopy(live)
    taken["metadata"]["managedFields"][0]["manager"] = "kubectl-edit"
    assert "managers" in pin.difference(pin_of(taken, "ns1"))
    again = deepcopy(live)
    again["metadata"]["uid"] = "u2"
    assert "created again" in pin.difference(pin_of(again, "ns1"))
    assert "was removed since" in pin.difference(pin_of(None, "ns1"))
    assert "namespace" in pin.difference(pin_of(live, "ns2"))
    assert "was created since" in pin_of(None, "ns1").difference(pin)


def test_defaults_go_before_classes_before_quotas_before_removals() -> None:
    old, new = TierSpec("a", 1), TierSpec("b", 2, is_default=True)
    tiers = {"b": TierState(new, ["b-v2", "b-v1"])}
    scoped = desired_quotas(
        [DesiredQuota("t", "nvidia.com/gpu", "b", 1, {"vision": 1})], tiers
    )
    ((quota_key, quota_body),) = scoped.items()
    values = quota_body["spec"]["scopeSelector"]["matchExpressions"][0]["values"]
    assert values == ["b-v1", "b-v2"]
    unset, make = class_key_of("a-v1"), class_key_of("b-v2")
    drop, gone = class_key_of("c-v1"), ObjectKey("ResourceQuota", "vision", "x")
    wanted = [
        DesiredObject(drop, None),
        DesiredObject(gone, None),
        DesiredObject(quota_key, quota_body),
        DesiredObject(make, desired_class("b-v2", new, is_current=True)),
        DesiredObject(unset, desired_class("a-v1", old, is_current=True)),
    ]
    objects: dict[ObjectKey, Manifest | None] = {
        drop: priority_class("c-v1", 3),
        gone: quota({GPU: "1"}, name="x"),
        unset: priority_class("a-v1", 1, is_default=True),
    }
    steps = plan_steps(wanted, Observed(objects, {"vision": "ns1"}))
    assert [step.key for step in steps] == [unset, make, quota_key, gone, drop]


def test_a_value_cannot_change_in_place() -> None:
    key = class_key_of("a-v1")
    wanted = DesiredObject(
        key, desired_class("a-v1", TierSpec("a", 2), is_current=True)
    )
    (step,) = plan_steps([wanted], Observed({key: priority_class("a-v1", 1)}, {}))
    assert "new version" in step.blocked


def test_applying_a_plan_leaves_nothing_to_plan() -> None:
    live = quota({GPU: "56"})
    step = one(body({GPU: "48"}), live)
    live["spec"]["hard"][GPU] = "48"
    assert matches(step.body, live)
    assert is_empty([one(body({GPU: "48"}), live)])


def test_namespaces_warn_of_keys_that_do_nothing_and_of_uncovered_ones() -> None:
    """T25 a and d."""
    foreign = quota({"limits.nvidia.com/gpu": "8", GPU: "2"}, name="theirs", labels={})
    found = namespace_warnings(
        "vision",
        {"nvidia.com/gpu": 4},
        [foreign],
        ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb"],
    )
    assert [warning.code for warning in found] == [
        "key_does_nothing",
        "tighter_quota",
        "uncovered_key",
    ]


def test_git_tools_are_recognised() -> None:
    live = quota({GPU: "4"}, managers={"argocd-controller": (GPU,)})
    assert git_owner(live) == "Argo CD"
    assert not git_owner(quota({GPU: "4"}))
