"""T25, T27, T28 and T29, each case as it is written, through drafts, plans and applies.

On a simulated API server, whose answers `integration/clusters/client` compares with those
of a real one. With a real scheduler and real pods: `integration/changes`. T26 and
T30 have their own files.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounting.metering.models.cluster import Node
from accounting.metering.models.pod import Namespace, Pod, PodHold
from portal.demo.kube_api.server import serving
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.users import User
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.clusters.client.kinds import patched, written
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.clusters.rules.schedulers.queue_fields import SentAs
from tests.control_plane.admin import quota_path
from tests.control_plane.server import ADMIN
from tests.control_plane.world import GPU_KEY, simulated_world
from tests.integration.changes.conftest import office_of
from tests.integration.changes.office import Office, quota, said, steps, tier

pytestmark = pytest.mark.django_db
RESOURCE = "nvidia.com/gpu"


@pytest.fixture
def office(tmp_path: Path, db: None) -> Iterator[Office]:
    """Team vision with one namespace."""
    del db
    with serving(Store(), {ADMIN: User("admin", is_admin=True)}) as api:
        yield office_of(simulated_world(api.url, tmp_path, f"t-{uuid.uuid4().hex[:8]}"))


def test_t25a_limits_become_requests_and_a_live_one_is_named(office: Office) -> None:
    office.world.admin.make_quota(
        office.world.name, "theirs", {"limits.nvidia.com/gpu": "8"}
    )
    made = office.applied(quota(8, resource="limits.nvidia.com/gpu"))
    assert office.hard() == {GPU_KEY: "8"}
    assert "limits.nvidia.com/gpu is not enforced" in said(made, "warnings")


def test_t25b_one_resource_however_it_is_spelled(office: Office) -> None:
    for spelling in (GPU_KEY, "nvidia_com_gpu", RESOURCE):
        assert (
            office.draft(quota(1, resource=spelling)).edits[0]["resource"] == RESOURCE
        )
    with pytest.raises(EditsRefused, match="for the same object"):
        office.draft(quota(1, resource=GPU_KEY), quota(2, resource="nvidia_com_gpu"))


def test_t25c_a_fraction_is_refused_in_the_draft(office: Office) -> None:
    with pytest.raises(EditsRefused, match="fraction"):
        office.draft({**quota(1), "gpus": "0.5"})


def test_t25d_mig_is_not_covered_by_a_quota_of_gpus(office: Office) -> None:
    office.world.admin.make_node("mig-node", **{"nvidia.com/mig-1g.10gb": 7})
    made = office.planned(quota(4))
    assert "nvidia.com/mig-1g.10gb is not limited" in said(made, "warnings")
    covered = office.planned(quota(4), quota(7, resource="nvidia.com/mig-1g.10gb"))
    assert "is not limited" not in said(covered, "warnings")


@pytest.mark.parametrize(
    ("item", "warning"),
    [
        ({"type": "Container", "max": {RESOURCE: "4"}}, "gets 4"),
        ({"type": "Container", "max": {RESOURCE: "4"}, "default": {RESOURCE: "0"}}, ""),
        ({"type": "Pod", "max": {RESOURCE: "4"}}, "rejects pods that request no"),
    ],
)
def test_t27_a_limit_range_is_predicted(
    office: Office, item: dict[str, object], warning: str
) -> None:
    office.world.admin.create(
        f"/api/v1/namespaces/{office.world.name}/limitranges",
        {"metadata": {"name": "ranges"}, "spec": {"limits": [item]}},
    )
    message = said(office.planned(quota(4)), "warnings")
    assert warning in message
    assert bool(warning) is ("LimitRange" in message)


def test_t28_a_changed_tier_is_a_new_class_and_says_who_keeps_the_old_number(
    office: Office,
) -> None:
    office.applied(tier("batch", 1000))
    node = Node.objects.create(cluster=office.cluster, name="n1")
    place = Namespace.objects.create(cluster=office.cluster, name=office.world.name)
    for number in range(20):
        pod = Pod.objects.create(
            cluster=office.cluster,
            uid=f"uid-{number}",
            namespace=place,
            name=f"train-{number}",
            priority_class="batch-v1",
        )
        PodHold.objects.create(
            pod=pod, node=node, resource=RESOURCE, units=1, bound_ms=1_790_848_800_000
        )
    made = office.planned(tier("batch", 2000, preempts=False))
    assert ("PriorityClass batch-v2", "create", "waiting") in steps(made)
    assert "20 running GPU pods keep" in said(made), said(made)
    assert "1000" in said(made)
    assert "do not preempt others; they can still be preempted" in said(made)
    office.apply(office.approve(made))
    assert office.priority_class("batch-v1")["value"] == 1000
    assert office.priority_class("batch-v2")["preemptionPolicy"] == "Never"


def test_t28_what_kubernetes_would_refuse_is_refused(office: Office) -> None:
    office.applied(tier("interactive", 5000, is_default=True))
    second = office.planned(tier("batch", 1000, is_default=True))
    assert second.state == "draft"  # to be mended, and planned again
    assert "default" in second.error
    for name, value in (("batch", 2_000_000_000), ("system-batch", 10)):
        with pytest.raises(EditsRefused):
            office.draft(tier(name, value))


def test_t29a_keys_of_others_stay_and_a_key_that_goes_is_shown(office: Office) -> None:
    office.applied(quota(4), quota(7, resource="nvidia.com/mig-1g.10gb"))
    path = quota_path(office.world.name, "gpu-ledger")
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpu-ledger", "namespace": office.world.name},
        "spec": {"hard": {"requests.cpu": "64"}},
    }
    office.world.admin.apply(path, body, "gitops")
    made = office.planned(quota(6), quota(None, resource="nvidia.com/mig-1g.10gb"))
    changes = made.steps.get().changes
    assert [f"spec.hard.{GPU_KEY}", "4", "6"] in changes
    assert ["spec.hard.requests.nvidia.com/mig-1g.10gb", "7", None] in changes
    office.apply(office.approve(made))
    assert office.hard() == {GPU_KEY: "6", "requests.cpu": "64"}


def test_t29b_another_owner_is_named_and_not_forced(office: Office) -> None:
    office.applied(quota(4))
    path = quota_path(office.world.name, "gpu-ledger")
    office.world.admin.edit(path, {"spec": {"hard": {GPU_KEY: "5"}}})
    made = office.planned(quota(6))
    assert "conflict with kubectl-edit" in made.steps.get().blocked
    assert office.hard() == {GPU_KEY: "5"}


def test_t29c_a_list_of_kueue_is_never_applied() -> None:
    """A queue's list of groups is one unit: to apply one quota would drop the others."""
    for kind in ("LocalQueue", "ClusterQueue"):
        with pytest.raises(ValueError, match="read-only for GPU Ledger"):
            written(kind)
    assert QUEUE_FIELDS["ClusterQueue"].sent_as == SentAs.PATCH
    with pytest.raises(ValueError, match="read-only for GPU Ledger"):
        patched("LocalQueue", "kueue.x-k8s.io/v1beta2")
