"""The manifests of deploy/rbac on a real API server: what they allow, and what must fail.

Every refusal is the real server's 403, and its words are what the portal shows.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from accounting.metering.rules.units.resources import kubernetes_resource
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, Forbidden
from scheduler_view.clusters.client.kinds import (
    CLAIM,
    EVENT,
    KAI_POD_GROUP,
    KINDS,
    READ_IF_ALLOWED,
    SLICE,
    VOLCANO_POD_GROUP,
)
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.schedulers import QUEUE_OBJECTS
from scheduler_view.clusters.tasks.observe import KINDS as STORED
from tests.control_plane.admin import GPU, Admin, RefusedByServer, quota_path
from tests.control_plane.rbac import MANIFESTS, apply_manifests, kubectl, token_of
from tests.control_plane.server import ControlPlane
from tests.control_plane.world import GPU_KEY, World, priority_class, quota
from tests.processes import wait_until

pytestmark = pytest.mark.control_plane
LIMITS = "/api/v1/namespaces/gpu-ledger/configmaps/gpu-ledger-policy"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture(scope="module")
def guarded(whole_cluster: ControlPlane) -> ControlPlane:
    """A control plane with the manifests, when the policy has come into force."""
    apply_manifests(whole_cluster)
    return whole_cluster


@pytest.fixture
def pusher(guarded: ControlPlane, real: World) -> ClusterClient:
    del guarded
    return door_as(real, "pusher")


@pytest.fixture
def reader(guarded: ControlPlane, real: World) -> ClusterClient:
    del guarded
    return door_as(real, "reader")


@pytest.fixture
def policy(
    guarded: ControlPlane, real: World, pusher: ClusterClient
) -> Iterator[Callable[..., None]]:
    """Sets limits of the policy; they are as shipped afterwards."""

    marks = count(
        90_000
    )  # a limit that is another one each time shows what is in force

    def sets(**limits: str) -> None:
        limits = {"highestPreemptingPriority": str(next(marks)), **limits}
        real.admin.edit(LIMITS, {"data": limits})
        wait_until(lambda: _is_in_force(pusher, real.name, limits), 30)

    yield sets
    kubectl(guarded, "apply", "-f", str(MANIFESTS / "policy.yaml"))
    shipped = real.admin.get(LIMITS)["data"]
    wait_until(lambda: _is_in_force(pusher, real.name, shipped), 30)


def _is_in_force(pusher: ClusterClient, name: str, limits: Mapping[str, str]) -> bool:
    """Whether dry runs at and just above the limit of preemption are answered by it."""
    most = int(limits["highestPreemptingPriority"])
    tier = partial(priority_class, f"{name}-probe-v1")
    return _passes(pusher, tier(most)) and not _passes(pusher, tier(most + 1))


def _passes(pusher: ClusterClient, body: dict[str, object]) -> bool:
    try:
        pusher.apply(body, dry_run=True)
    except Forbidden:
        return False
    return True


def door_as(real: World, role: str) -> ClusterClient:
    client = real.client(role)
    Path(client.access.token_file).write_text(token_of(real.admin, role))
    return client


def refusal(call: Callable[[], object]) -> str:
    """The server's words when it says 403."""
    with pytest.raises(Forbidden) as caught:
        call()
    assert caught.value.code == 403
    return caught.value.message


def test_the_pusher_does_its_work(real: World, pusher: ClusterClient) -> None:
    live = pusher.apply(quota(real.name, {GPU_KEY: "4"}))
    pusher.apply(quota(real.name, {GPU_KEY: "6"}), uid=live.uid, dry_run=True)
    pusher.apply(quota(real.name, {GPU_KEY: "6"}), uid=live.uid)
    pusher.apply(quota(real.name, {}), uid=live.uid)
    pusher.delete(QUOTA, "gpu-ledger", real.name, uid=live.uid)
    tier = f"{real.name}-v1"
    made = pusher.apply(priority_class(tier, 100_000, description="a"))
    pusher.apply(priority_class(tier, 100_000, description="b"))
    pusher.delete(CLASS, tier, uid=made.uid)


@pytest.mark.parametrize("name", ["foreign", "gpu-ledger"])
def test_a_foreign_quota_is_out_of_reach(
    real: World, pusher: ClusterClient, name: str
) -> None:
    real.admin.make_quota(real.name, name, {GPU_KEY: "2"})
    uid = real.admin.get(quota_path(real.name, name))["metadata"]["uid"]
    body = quota(real.name, {GPU_KEY: "9"}, name)
    for dry_run in (True, False):
        message = refusal(lambda d=dry_run: pusher.apply(body, force=True, dry_run=d))  # type: ignore[misc]
        assert "not managed by GPU Ledger" in message
    refusal(lambda: pusher.delete(QUOTA, name, real.name, uid=uid))
    live = real.admin.get(quota_path(real.name, name))
    assert live["spec"]["hard"] == {GPU_KEY: "2"}


def test_only_quotas_of_our_name_are_made(real: World, pusher: ClusterClient) -> None:
    message = refusal(lambda: pusher.apply(quota(real.name, {GPU_KEY: "1"}, "other")))
    assert "begins with gpu-ledger, not other" in message


@pytest.mark.parametrize("key", ["pods", "requests.cpu", "limits.nvidia.com/gpu", GPU])
def test_only_keys_of_gpus_are_set(
    real: World, pusher: ClusterClient, key: str
) -> None:
    message = refusal(lambda: pusher.apply(quota(real.name, {GPU_KEY: "1", key: "1"})))
    assert message.endswith(f"may only set GPU keys of a quota, not {key}")


def test_other_peoples_keys_in_our_quota_are_kept_from_us(
    real: World, pusher: ClusterClient
) -> None:
    pusher.apply(quota(real.name, {GPU_KEY: "1"}))
    theirs = quota(real.name, {"requests.cpu": "10"})
    real.admin.apply(quota_path(real.name, "gpu-ledger"), theirs, "argocd")
    pusher.apply(quota(real.name, {GPU_KEY: "2"}))
    both = quota(real.name, {GPU_KEY: "2", "requests.cpu": "99"})
    message = refusal(lambda: pusher.apply(both, force=True))
    assert "not requests.cpu" in message


@pytest.mark.parametrize(
    "name",
    [
        "nvidia_com_gpu",
        "nvidia_com_gpu_shared",
        "nvidia_com_mig_1g_10gb",
        "nvidia_com_mig_1g_10gb_me",
        "nvidia_com_mig_1c_3g_40gb",
        "amd_com_gpu",
        "amd_com_cpx_nps4",
        "habana_ai_gaudi",
        "gpu_intel_com_i915",
        "gpu_intel_com_xe",
    ],
)
def test_every_gpu_that_the_portal_knows_may_be_set(
    real: World, pusher: ClusterClient, name: str
) -> None:
    key = f"requests.{kubernetes_resource(name)}"
    pusher.apply(quota(real.name, {key: "1"}), dry_run=True)


def test_device_classes_may_be_set(real: World, pusher: ClusterClient) -> None:
    key = "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    pusher.apply(quota(real.name, {key: "1"}), dry_run=True)


def test_the_label_may_not_be_dropped(real: World, pusher: ClusterClient) -> None:
    body = quota(real.name, {GPU_KEY: "1"})
    pusher.apply(body)
    del body["metadata"]["labels"]
    assert "carry its label" in refusal(lambda: pusher.apply(body))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("finalizers", ["example.com/keep"], "may not change finalizers"),
        (
            "ownerReferences",
            [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}],
            "may not change owners",
        ),
    ],
)
def test_finalizers_and_owners_stay_as_they_are(
    real: World, pusher: ClusterClient, field: str, value: list[object], said: str
) -> None:
    plain = quota(real.name, {GPU_KEY: "1"})
    tier = priority_class(f"{real.name}-v1", 5)
    for body in (plain, tier):
        other = {**body, "metadata": {**body["metadata"], field: value}}
        assert said in refusal(partial(pusher.apply, other))
    live = pusher.apply(plain)
    changed = {**plain, "metadata": {**plain["metadata"], field: value}}
    assert said in refusal(lambda: pusher.apply(changed, uid=live.uid))
    kept = {"metadata": {"finalizers": ["example.com/keep"]}}
    real.admin.edit(quota_path(real.name, "gpu-ledger"), kept)
    pusher.apply(quota(real.name, {GPU_KEY: "2"}), uid=live.uid)  # those of others stay
    real.admin.edit(
        quota_path(real.name, "gpu-ledger"), {"metadata": {"finalizers": []}}
    )


def test_a_high_priority_is_refused(real: World, pusher: ClusterClient) -> None:
    message = refusal(lambda: pusher.apply(priority_class(f"{real.name}-v1", 100_001)))
    assert message.endswith("may set priorities up to 100000, not 100001")


def test_only_versions_of_tiers_are_created(real: World, pusher: ClusterClient) -> None:
    for name in (real.name, "cluster-critical", f"{real.name}-v0"):
        message = refusal(partial(pusher.apply, priority_class(name, 5)))
        assert message.endswith(f"such as batch-v1, not {name}")
    path = f"/apis/scheduling.k8s.io/v1/priorityclasses/{real.name}"
    real.admin.apply(
        path, priority_class(real.name, 5), "helm"
    )  # taken over by its label
    pusher.apply(priority_class(real.name, 5, description="ours now"), force=True)


def test_no_tier_becomes_the_default_above_its_limit(
    real: World, pusher: ClusterClient, policy: Callable[..., None]
) -> None:
    tier = f"{real.name}-v1"
    live = pusher.apply(priority_class(tier, 1_000))
    made = priority_class(tier, 1_000, globalDefault=True)
    said = "up to 0 the default of the cluster, not 1000: highestDefaultPriority in"
    assert said in refusal(lambda: pusher.apply(made, uid=live.uid))
    assert said in refusal(
        lambda: pusher.apply(
            {**made, "metadata": {**made["metadata"], "name": f"{real.name}-v2"}}
        )
    )
    policy(highestDefaultPriority="1000")
    pusher.apply(made, uid=live.uid)
    policy(highestDefaultPriority="0")
    pusher.apply({**made, "description": "stays as it was"}, uid=live.uid)
    real.admin.delete(f"/apis/scheduling.k8s.io/v1/priorityclasses/{tier}")


def test_tiers_above_the_limit_of_preemption_only_wait_first(
    real: World, pusher: ClusterClient, policy: Callable[..., None]
) -> None:
    policy(highestPreemptingPriority="500")
    said = "let tiers up to 500 preempt, not 501: highestPreemptingPriority in"
    for more in ({}, {"preemptionPolicy": "PreemptLowerPriority"}):
        body = priority_class(f"{real.name}-v1", 501, **more)
        assert said in refusal(partial(pusher.apply, body))
    pusher.apply(priority_class(f"{real.name}-v1", 500))
    pusher.apply(priority_class(f"{real.name}-v2", 501, preemptionPolicy="Never"))


def test_a_foreign_class_is_out_of_reach(real: World, pusher: ClusterClient) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    made = real.admin.create(path, {"metadata": {"name": real.name}, "value": 5})
    uid = made["metadata"]["uid"]
    refusal(lambda: pusher.delete(CLASS, real.name, uid=uid))
    refusal(lambda: pusher.apply(priority_class(real.name, 5), force=True))


def test_a_namespace_may_keep_us_out(real: World, pusher: ClusterClient) -> None:
    change = {"metadata": {"labels": {"gpu-ledger/managed": "false"}}}
    real.admin.edit(f"/api/v1/namespaces/{real.name}", change)
    message = refusal(lambda: pusher.apply(quota(real.name, {GPU_KEY: "1"})))
    assert message.endswith(
        f"namespace {real.name} is labelled gpu-ledger/managed=false"
    )


@pytest.mark.parametrize("role", ["reader", "pusher"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/secrets"),
        ("GET", "/api/v1/namespaces/{name}/configmaps"),
        ("POST", "/api/v1/namespaces/{name}/pods"),
        ("DELETE", "/api/v1/namespaces/{name}/pods/a"),
        ("POST", "/api/v1/namespaces"),
        ("DELETE", "/api/v1/namespaces/{name}"),
        ("POST", "/api/v1/namespaces/{name}/limitranges"),
        ("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses"),
        ("DELETE", "/api/v1/namespaces/{name}/resourcequotas"),
        (
            "POST",
            "/api/v1/namespaces/gpu-ledger/serviceaccounts/gpu-ledger-pusher/token",
        ),
        ("DELETE", f"{POLICIES}/gpu-ledger-pusher"),
        ("GET", "/api/v1/namespaces/gpu-ledger/configmaps/gpu-ledger-policy"),
    ],
)
def test_nothing_else_is_allowed(
    guarded: ControlPlane, real: World, role: str, method: str, path: str
) -> None:
    del guarded
    user = Admin(real.url, token_of(real.admin, role), real.ca_file)
    body = {"metadata": {"name": "x"}, "spec": {}} if method == "POST" else None
    with pytest.raises(RefusedByServer, match=f"gpu-ledger-{role}") as no:
        user.call(method, path.format(name=real.name), body)
    assert no.value.code == 403


def test_the_reader_looks_and_writes_nothing(
    real: World, reader: ClusterClient
) -> None:
    for kind in KINDS:  # others of schedulers are optional: deploy/rbac/schedulers
        is_optional = (
            kind in (*QUEUE_OBJECTS, VOLCANO_POD_GROUP, KAI_POD_GROUP, *READ_IF_ALLOWED)
        ) and kind not in ("LocalQueue", "KaiQueue")
        assert reader.may("list", kind) != is_optional
    for kind in STORED:
        reader.list(kind)
        assert reader.may("watch", kind)
    reader.list(EVENT)
    assert not reader.may("watch", EVENT)  # listed now and then
    for kind in (CLAIM, SLICE):  # which GPUs a claim was given
        reader.list(kind)
        assert not reader.may("watch", kind)
    for call in (
        lambda: reader.apply(quota(real.name, {GPU_KEY: "1"})),
        lambda: reader.apply(quota(real.name, {GPU_KEY: "1"}), dry_run=True),
        lambda: reader.apply(priority_class(real.name, 5)),
        lambda: reader.delete(CLASS, real.name, uid="x"),
    ):
        assert "gpu-ledger-reader" in refusal(call)


def test_without_its_limits_the_policy_lets_nothing_through(
    guarded: ControlPlane, real: World, pusher: ClusterClient
) -> None:
    real.admin.delete(LIMITS)
    try:
        wait_until(lambda: not _may_push(real, pusher), 30)
    finally:
        kubectl(guarded, "apply", "-f", str(MANIFESTS / "policy.yaml"))
    wait_until(lambda: _may_push(real, pusher), 30)


def _may_push(real: World, pusher: ClusterClient) -> bool:
    try:
        pusher.apply(quota(real.name, {GPU_KEY: "1"}), dry_run=True)
    except ClusterError:
        return False
    return True
