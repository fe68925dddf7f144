"""Objects as they were, and how their fields go back to their managers."""

import copy
from typing import Any

from scheduler_view.clusters.rules.former import (
    NO_MANAGERS,
    Former,
    as_stored,
    from_stored,
    is_given_back,
    leaves,
    manager_operations,
    managers_after,
    value_operations,
    whole_body,
    without_us,
)

GPU = "requests.nvidia.com/gpu"
PATH = ("spec", "hard", GPU)
LABEL = ("metadata", "labels", "app.kubernetes.io/managed-by")


def entry(manager: str, *keys: str, operation: str = "Update", time: str = "t0") -> Any:
    """What a manager set in `spec.hard`."""
    hard: dict[str, Any] = {".": {}} | {f"f:{key}": {} for key in keys}
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:hard": hard}},
    }


def quota(hard: dict[str, str], *managed: Any, **meta: Any) -> dict[str, Any]:
    given = {"name": "gpu-ledger", "namespace": "a", "uid": "u", "resourceVersion": "7"}
    return {
        "kind": "ResourceQuota",
        "metadata": given | {"managedFields": list(managed)} | meta,
        "spec": {"hard": hard},
    }


BEFORE = quota({GPU: "12", "pods": "9"}, entry("kubectl-create", GPU, "pods"))
TAKEN = quota(
    {GPU: "6", "pods": "9"},
    entry("kubectl-create", "pods"),
    entry("gpu-ledger", GPU, operation="Apply", time="t1"),
)
FORMER = Former(BEFORE, (PATH,), (PATH,))


def test_values_are_tested_before_they_are_set() -> None:
    assert value_operations(FORMER, TAKEN) == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": f"/spec/hard/{GPU.replace('/', '~1')}", "value": "6"},
        {
            "op": "replace",
            "path": f"/spec/hard/{GPU.replace('/', '~1')}",
            "value": "12",
        },
    ]
    assert value_operations(FORMER, BEFORE) == []


def test_a_missing_container_is_made_once_and_a_missing_value_removed() -> None:
    labels = {LABEL[2]: "gpu-ledger"}
    before = quota({}, labels=labels | {"team": "a"})
    paths = (LABEL, ("metadata", "labels", "team"))
    made = value_operations(Former(before, paths, paths), quota({}))
    assert [(one["op"], one["path"]) for one in made] == [
        ("test", "/metadata/uid"),
        ("add", "/metadata/labels"),
        ("add", "/metadata/labels/app.kubernetes.io~1managed-by"),
        ("add", "/metadata/labels/team"),
    ]
    gone = value_operations(Former(quota({}), paths, paths), before)
    assert [(one["op"], one["path"]) for one in gone[1:]] == [
        ("test", "/metadata/labels"),
        ("remove", "/metadata/labels"),
    ]
    other = before | {"metadata": before["metadata"] | {"labels": labels | {"b": "c"}}}
    (_, _, last) = value_operations(Former(quota({}), paths, paths), other)
    assert last["path"] == "/metadata/labels/app.kubernetes.io~1managed-by"


def test_managers_are_as_before_with_their_times() -> None:
    assert managers_after(FORMER, TAKEN) == BEFORE["metadata"]["managedFields"]
    (_, version, written) = manager_operations(FORMER, TAKEN)
    assert (version["op"], version["value"]) == ("test", "7")
    assert written["value"] == BEFORE["metadata"]["managedFields"]


def test_a_manager_keeps_what_it_has_set_since() -> None:
    live = copy.deepcopy(TAKEN)
    live["metadata"]["managedFields"] += [entry("kubectl-edit", "services", time="t2")]
    live["metadata"]["managedFields"][0] = entry("kubectl-create", time="t3")
    found = {one["manager"]: one for one in managers_after(FORMER, live)}
    assert set(found) == {"kubectl-create", "kubectl-edit"}
    hard = found["kubectl-create"]["fieldsV1"]["f:spec"]["f:hard"]
    assert hard == {".": {}, f"f:{GPU}": {}}
    assert found["kubectl-create"]["time"] == "t3"


def test_a_field_that_another_has_taken_is_left_to_it() -> None:
    live = quota({GPU: "20"}, entry("kubectl-edit", GPU))
    assert managers_after(FORMER, live) == live["metadata"]["managedFields"]


def test_without_any_manager_of_before_nobody_owns_it() -> None:
    bare = quota({GPU: "12"})
    former = Former(bare, (PATH,), (PATH,))
    alone = quota({GPU: "12"}, entry("gpu-ledger", GPU, operation="Apply"))
    assert manager_operations(former, alone)[-1]["value"] == NO_MANAGERS
    assert is_given_back(former, bare)
    assert not is_given_back(former, alone)
    assert not is_given_back(former, None)


def test_a_removed_object_is_made_again_with_what_others_had_set() -> None:
    before = quota(
        {GPU: "4", "pods": "9"}, labels={"team": "a"}, annotations={"w": "n"}
    )
    before["status"] = {"used": {}}
    body = {
        "metadata": {"labels": {LABEL[2]: "gpu-ledger"}},
        "spec": {"hard": {GPU: "6"}},
    }
    found = whole_body(Former(before), body)
    assert found["spec"]["hard"] == {GPU: "6", "pods": "9"}
    assert found["metadata"] == {
        "name": "gpu-ledger",
        "namespace": "a",
        "labels": {"team": "a", LABEL[2]: "gpu-ledger"},
        "annotations": {"w": "n"},
    }
    assert "status" not in found
    assert set(leaves(found)) == {
        LABEL,
        PATH,
        ("metadata", "labels", "team"),
        ("metadata", "annotations", "w"),
        ("spec", "hard", "pods"),
    }


def test_an_earlier_takeover_is_taken_out_of_what_was_there() -> None:
    found = without_us(TAKEN, BEFORE)
    assert found["spec"] == BEFORE["spec"]
    assert found["metadata"] == BEFORE["metadata"]
    assert TAKEN["spec"]["hard"][GPU] == "6"  # unchanged


def test_it_is_stored_as_json_and_read_again() -> None:
    assert from_stored(as_stored(FORMER)) == FORMER
    assert from_stored(as_stored(None)) is None
