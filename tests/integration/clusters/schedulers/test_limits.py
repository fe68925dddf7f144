"""A fresh cluster whose limits kubectl made: one observation lists them, adopting changes none.

Quotas, classes and queues are on a real API server; the status of queues is written as controllers
do.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounting.access.models.teams import Binding, BindingKind, Team
from scheduler_view.changes.models import ChangeSet
from scheduler_view.quotas.models import QueueTarget, QuotaTarget, Tier
from tests.control_plane.admin import GPU, class_path, quota_path
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.agreement import rest, somebody
from tests.integration.changes.office import EPOCH, quota, said
from tests.integration.clusters.schedulers.queues import QueueOffice, groups
from tests.integration.metering.support import report
from tests.page_html import html_of

pytestmark = pytest.mark.control_plane
KUBECTL = "kubectl-create"


def member(slug: str, namespace: str) -> None:
    """A namespace of a team, by a rule."""
    team, _ = Team.objects.get_or_create(slug=slug, defaults={"name": slug.title()})
    Binding.objects.create(
        kind=BindingKind.NAMESPACE,
        glob=namespace,
        team=team,
        position=Binding.objects.count(),
        valid_from=EPOCH,
    )


def make_quota(queues: QueueOffice, namespace: str, name: str, gpus: int) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "labels": {"app": "platform"}},
        "spec": {"hard": {GPU_KEY: str(gpus), "requests.cpu": "64"}},
    }
    queues.admin.create(quota_path(namespace), body, fieldManager=KUBECTL)


@pytest.fixture
def fresh(queues: QueueOffice) -> Iterator[QueueOffice]:
    """What the first platform engineer tries: quotas, a class and queues, all by kubectl."""
    name = queues.office.world.name
    for place, slug in ((f"{name}-v", "vision"), (f"{name}-s", "search")):
        queues.admin.make_namespace(place)
        member(slug, place)
    make_quota(queues, f"{name}-b", "gpu-quota", 6)
    make_quota(queues, name, "compute", 16)
    make_quota(queues, f"{name}-s", "gpu-ledger", 12)
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"high-{name}"},
        "value": 1000,
        "description": "first in line",
    }
    queues.admin.create(class_path(), body, fieldManager=KUBECTL)
    lender = queues.make_cluster_queue("lender", resourceGroups=groups(8, 0))
    taker = queues.make_cluster_queue("taker", resourceGroups=groups(4, 0))
    for queue, used, waiting in ((lender, "4", 2), (taker, "8", 0)):
        reserved = [{"name": "a100", "resources": [{"name": GPU, "total": used}]}]
        status = {"flavorsReservation": reserved, "pendingWorkloads": waiting}
        queues.write_status("ClusterQueue", queue, status)
    more = {"capability": {GPU: "8"}, "deserved": {GPU: "4"}, "weight": 3}
    queues.make("VolcanoQueue", name, spec=more)
    gpu = {"quota": 4, "limit": 8, "overQuotaWeight": 2}
    queues.make("KaiQueue", name, spec={"resources": {"gpu": gpu}})
    queues.make("WorkloadPriorityClass", f"high-{name}", value=100)
    queues.admin.create(
        f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{name}/localqueues",
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "jobs"},
            "spec": {"clusterQueue": lender},
        },
        fieldManager=KUBECTL,
    )
    yield queues
    queues.admin.delete(class_path(f"high-{name}"))


def objects(fresh: QueueOffice) -> dict[str, Any]:
    """All that limits, as others wrote it."""
    name = fresh.office.world.name
    paths = [
        quota_path(f"{name}-b", "gpu-quota"),
        quota_path(name, "compute"),
        quota_path(f"{name}-s", "gpu-ledger"),
        class_path(f"high-{name}"),
        fresh.path("ClusterQueue", f"{name}-lender"),
        fresh.path("ClusterQueue", f"{name}-taker"),
        fresh.path("VolcanoQueue", name),
        fresh.path("KaiQueue", name),
        fresh.path("WorkloadPriorityClass", f"high-{name}"),
    ]
    found = {}
    for path in paths:
        found[path] = fresh.admin.get(path)
    return found


def limits(found: dict[str, Any]) -> dict[str, Any]:
    """The same without metadata and what controllers write."""
    return {
        path: {n: part for n, part in one.items() if n not in ("metadata", "status")}
        for path, one in found.items()
    }


def as_written(found: dict[str, Any]) -> dict[str, Any]:
    """Limits, labels, annotations and managers: without versions and times."""
    for one in found.values():
        meta = one["metadata"]
        for part in ("resourceVersion", "generation"):
            meta.pop(part, None)
        for entry in meta["managedFields"]:
            entry.pop("time", None)
    return found


def by_name(fresh: QueueOffice, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows of this test: other namespaces and classes of the server outlive their tests."""
    name = fresh.office.world.name
    rows = [row for row in rows if name in f"{row['namespace']} {row['name']}"]
    return {
        f"{row['kind']} {row['name']} {row['part'] or ''}".strip(): row for row in rows
    }


def test_one_observation_lists_what_others_made(fresh: QueueOffice) -> None:
    name = fresh.office.world.name
    told = StringIO()
    with suppress(SystemExit):  # objects of other tests may differ
        call_command("observe", "--cluster", name, stdout=told, stderr=StringIO())
    assert f"{name}: " in told.getvalue()
    assert re.search(
        r"\d+ limits of GPUs that GPU Ledger does not manage", told.getvalue()
    )
    rows = report("limits", cluster=name)
    found = by_name(fresh, rows)
    for key, limit, namespace, team in (
        ("ResourceQuota gpu-quota", "6", f"{name}-b", "speech"),
        ("ResourceQuota compute", "16", name, "vision"),
        ("ResourceQuota gpu-ledger", "12", f"{name}-s", "search"),
        (f"PriorityClass high-{name}", "1000", None, None),
        (f"ClusterQueue {name}-lender a100", "8", None, None),
    ):
        row = found[key]
        assert (row["limit"], row["namespace"], row["team"]) == (limit, namespace, team)
        assert (row["set_by"], row["sync"]) == ("kubectl", "not_managed")
        assert (row["adopts"], row["change"]) == (True, 0)
    lender = found[f"ClusterQueue {name}-lender a100"]
    assert (lender["used"], lender["lent"], lender["above"]) == ("4", "4", "all")
    assert lender["text"] == (
        f"2 workloads are not admitted. 4 of its 8 are lent: {name}-taker 4 above their quota."
    )
    assert found[f"ClusterQueue {name}-taker a100"]["borrowed"] == "4"
    assert found["LocalQueue jobs"]["above"] == f"{name}-lender"
    with somebody() as client:
        assert rest(client, "limits", name) == rows
        page = html_of(client.get(f"/quotas/limits?cluster={name}&rows=250"))
        tiers = html_of(client.get("/tiers"))
        quotas = html_of(client.get("/quotas"))
        team = html_of(client.get("/teams/vision/quota"))
    for text in (f"{name}-b/gpu-quota", f"{name}/compute", f"high-{name}", "kubectl"):
        assert text in page
    assert f"high-{name}" in tiers
    theirs = [row for row in rows if row["limit"] and not row["change"]]
    theirs = [row for row in theirs if not row["kind"].endswith("PriorityClass")]
    ours = f"{name}/compute 16 by kubectl"
    for place, count in (
        (quotas, len(theirs)),
        (team, sum(row["team"] == "vision" for row in theirs)),
    ):
        assert "any number of GPUs" not in place
        said = " ".join(place.split())
        noun = "limit" if count == 1 else "limits"
        assert f"{count} {noun} of GPUs that GPU Ledger does not manage: " in said
        # the first three are named: other tests of this control plane leave quotas, too
        assert ours in said or (count > 3 and f" and {count - 3} more. " in said)


@pytest.fixture
def adopt(fresh: QueueOffice) -> Callable[..., ChangeSet]:
    """Press a button of the page; what it makes is planned, approved and applied."""

    def press(client: Client, **fields: str) -> ChangeSet:
        fields["cluster"] = fresh.office.cluster.name
        answer = client.post("/quotas/limits/adopt", fields)
        assert answer.status_code == 302
        number = answer.headers["Location"].rsplit("/")[-1]
        change = ChangeSet.objects.get(pk=number)
        fresh.office.work()
        change.refresh_from_db()
        assert change.state == "planned", change.error
        done = fresh.office.apply(fresh.office.approve(change))
        assert done.state == "applied", done.error
        return done

    return press


def test_adopting_all_changes_no_number(
    fresh: QueueOffice, adopt: Callable[..., ChangeSet]
) -> None:
    office, name = fresh.office, fresh.office.world.name
    fresh.look()
    before = objects(fresh)
    with somebody() as client:
        change = adopt(client, all="yes")
    assert change.reason.startswith("Adopt the limits as set in the cluster by kubectl")
    assert limits(objects(fresh)) == limits(before)
    numbers = {place: office.hard(place)[GPU_KEY] for place in (name, f"{name}-b")}
    assert numbers == {name: "16", f"{name}-b": "6"}
    assert not office.has_quota(f"{name}-v")  # vision's other namespace was not limited
    splits = dict(QuotaTarget.objects.values_list("team__slug", "split"))
    assert splits == {
        "vision": {name: 16},
        "speech": {f"{name}-b": 6},
        "search": {f"{name}-s": 12},
    }
    assert Tier.objects.get(name=f"high-{name}").class_name == f"high-{name}"
    fresh.look()
    found = by_name(fresh, report("limits", cluster=name))
    assert found[f"PriorityClass high-{name}"]["sync"] == "in_sync"
    assert found["ResourceQuota compute"]["text"] == (
        "The same as GPU Ledger's 16: it can be deleted."
    )
    assert not any(row["adopts"] for row in found.values())
    # A step keeps what an undo needs: labels and fields as they were.
    step = change.steps.get(name="gpu-ledger", namespace=f"{name}-s")
    assert step.before is not None
    assert step.before["metadata"]["labels"] == {"app": "platform"}
    assert step.before["spec"]["hard"][GPU_KEY] == "12"
    fresh.undone(change)
    assert as_written(objects(fresh)) == as_written(before)
    assert not office.has_quota()
    assert not QuotaTarget.objects.exists()
    assert not Tier.objects.exists()
    assert not QueueTarget.objects.exists()


def test_one_adopted_quota_is_raised_where_it_was(
    fresh: QueueOffice, adopt: Callable[..., ChangeSet]
) -> None:
    office, name = fresh.office, fresh.office.world.name
    fresh.look()
    with somebody() as client:
        one = adopt(client, kind="ResourceQuota", namespace=name, name="compute")
    assert f"it had 16 in {name}. In use now: 0" in said(one)
    office.applied(quota(20))
    assert office.hard()[GPU_KEY] == "20"
    assert not office.has_quota(f"{name}-v")
    fresh.look()
    found = by_name(fresh, report("limits", cluster=name))
    assert found["ResourceQuota compute"]["text"] == (
        "GPU Ledger allows 20 here; 16 applies, the lower one."
    )
    assert found["ResourceQuota compute"]["adopts"]
    removed = office.applied(quota(None))
    assert f"Quotas of others still limit it: 16 in {name}." in said(removed)
