"""How objects stand to what is wanted; managed fields as a real server wrote them."""

from typing import Any

from scheduler_view.changes.rules.drift import DriftStatus, standing_of
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import (
    MANAGER,
    OWNER,
    OWNER_LABEL,
    QUOTA,
)
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.stored_manifest import kept

GPU = "requests.nvidia.com/gpu"
KEY = ObjectKey(QUOTA, "team-a", "gpu-ledger")
OURS = {OWNER_LABEL: OWNER}


def body(**hard: str) -> dict[str, Any]:
    meta = {"name": KEY.name, "namespace": KEY.namespace, "labels": OURS}
    return {"kind": QUOTA, "metadata": meta, "spec": {"hard": {GPU: "4"} | hard}}


def entry(manager: str, when: str, *keys: str) -> dict[str, Any]:
    fields: Any = {"f:spec": {"f:hard": {f"f:{key}": {} for key in keys}}}
    return {
        "manager": manager,
        "operation": "Update",
        "time": when,
        "fieldsV1": fields,
    }


def live(hard: dict[str, str], *entries: dict[str, Any], **meta: Any) -> dict[str, Any]:
    found = {"name": KEY.name, "namespace": KEY.namespace, "uid": "u", "labels": OURS}
    return {
        "kind": QUOTA,
        "metadata": {**found, "managedFields": list(entries), **meta},
        "spec": {"hard": hard},
    }


def standing(wanted: Any, found: Any) -> DriftStatus:
    result = standing_of(KEY, wanted, found)
    assert result is not None
    return result


def test_what_is_as_wanted_is_in_sync() -> None:
    mine = entry(MANAGER, "2026-11-01T10:00:00Z", GPU)
    assert standing(body(), live({GPU: "4"}, mine)).state == DriftState.IN_SYNC


def test_other_peoples_keys_are_no_drift() -> None:
    mine = entry(MANAGER, "2026-11-01T10:00:00Z", GPU)
    theirs = entry("argocd", "2026-11-01T11:00:00Z", "requests.cpu")
    found = live({GPU: "4", "requests.cpu": "10"}, mine, theirs)
    assert standing(body(), found).state == DriftState.IN_SYNC


def test_who_changed_it_and_when_is_named() -> None:
    edit = entry("kubectl-edit", "2026-11-02T12:00:00Z", GPU)
    old = entry("kubectl-label", "2026-11-03T12:00:00Z", "pods")
    found = standing(body(), live({GPU: "16"}, edit, old))
    assert found.state == DriftState.DIFFERS
    assert (found.who, found.when) == ("kubectl-edit", "2026-11-02T12:00:00Z")
    change = found.changes[0]
    assert (change.field, change.before, change.after) == (
        f"spec.hard.{GPU}",
        "4",
        "16",
    )
    assert found.message == (
        f"{GPU} is 16, wanted 4. Changed by kubectl-edit at 2026-11-02T12:00:00Z."
    )


def test_a_removed_key_and_a_removed_object_differ() -> None:
    assert standing(body(), live({})).changes[0].after is None
    gone = standing(body(), None)
    assert gone.state == DriftState.DIFFERS
    assert gone.changes


def test_an_object_of_this_name_that_is_anothers_is_shown_as_theirs() -> None:
    tracked = {"annotations": {"argocd.argoproj.io/tracking-id": "x"}, "labels": {}}
    found = standing(body(), live({GPU: "8"}, **tracked))
    assert (found.state, found.who) == (DriftState.OTHER, "Argo CD")


def test_what_nobody_asked_for() -> None:
    left = standing(None, live({GPU: "4"}))
    assert left.state == DriftState.DIFFERS
    foreign = standing(None, live({GPU: "4"}, labels={}))
    assert foreign.state == DriftState.NOT_MANAGED
    assert standing_of(KEY, None, live({"pods": "4"}, labels={})) is None
    assert standing_of(KEY, None, None) is None


def test_nothing_secret_of_a_pod_is_kept() -> None:
    container = {
        "name": "main",
        "image": "private/secret",
        "env": [{"name": "TOKEN", "value": "secret"}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    manifest = {
        "metadata": {"name": "a", "uid": "u", "annotations": {"note": "secret"}},
        "spec": {"containers": [container], "volumes": [{"name": "secret"}]},
        "status": {},
    }
    assert "secret" not in str(kept("Pod", manifest))


def test_pods_without_gpus_are_not_kept() -> None:
    pod: dict[str, Any] = {
        "metadata": {"name": "a", "uid": "u"},
        "spec": {"containers": [{"name": "main"}]},
    }
    assert kept("Pod", pod) is None
    pod["spec"]["resourceClaims"] = [{"name": "gpu"}]
    assert kept("Pod", pod) is not None
