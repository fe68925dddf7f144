"""The page of everything that limits GPUs: who sees what, its pages of rows, what is not known.

Ana is an admin, Luis leads vision. The objects are stored as the observation stores them.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

import pytest

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.models import Observation, ObservationRun
from scheduler_view.clusters.rules.stored_manifest import kept
from scheduler_view.quotas.models import QuotaTarget
from tests.integration.conftest import SignIn
from tests.integration.metering.support import report, run
from tests.page_html import html_of
from tests.story import Story

GPU = "nvidia.com/gpu"
SEEN = datetime(2026, 11, 20, 8, tzinfo=UTC)
ADDRESS = "/quotas/limits"


def write(kind: str, name: str, namespace: str = "", **parts: Any) -> None:
    """An object that kubectl made, as last observed."""
    cluster = Cluster.objects.get(name="north")
    field = next(iter(parts))
    managed = {
        "manager": "kubectl-create",
        "time": "2026-11-20T07:00:00Z",
        "fieldsV1": {f"f:{field}": _fields(parts[field])},
    }
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": name,
        "managedFields": [managed],
    }
    Observation.objects.create(
        cluster=cluster,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=name,
        resource_version="1",
        digest="",
        manifest=kept(kind, {"metadata": meta, **parts}),
        changed_at=SEEN,
    )
    ObservationRun.objects.update_or_create(
        cluster=cluster, kind=kind, defaults={"seen_at": SEEN, "tried_at": SEEN}
    )


def _fields(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    return {f"f:{name}": _fields(one) for name, one in value.items()}


def quota(namespace: str, gpus: object = 4, name: str = "compute", **more: Any) -> None:
    spec = {"hard": {f"requests.{GPU}": str(gpus)}, **more}
    write("ResourceQuota", name, namespace, spec=spec)


def cluster_queue(name: str, nominal: int, used: int, waiting: int = 0) -> None:
    resources = [{"name": GPU, "nominalQuota": nominal}]
    flavor = {"name": "a100", "resources": resources}
    total = [{"name": GPU, "total": used}]
    write(
        "ClusterQueue",
        name,
        spec={"cohortName": "all", "resourceGroups": [{"flavors": [flavor]}]},
        status={
            "flavorsReservation": [{"name": "a100", "resources": total}],
            "pendingWorkloads": waiting,
        },
    )


@pytest.fixture
def limits(story: Story, db: None) -> None:
    """Quotas of two teams, a LimitRange, two classes, and queues that lend."""
    del story, db
    quota("vision-prod", 16)
    quota("search-prod", 12)
    quota("vision-prod", "1500m", "half")
    quota(
        "vision-prod",
        2,
        "high-only",
        scopeSelector={
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
            ]
        },
    )
    write(
        "LimitRange",
        "ranges",
        "vision-prod",
        spec={"limits": [{"type": "Container", "max": {GPU: "4"}}]},
    )
    write("PriorityClass", "high", value=1000, globalDefault=True)
    write("PriorityClass", "system-node-critical", value=2_000_001_000)
    cluster_queue("vision-queue", 8, 4, waiting=3)
    cluster_queue("search-queue", 4, 8)
    for namespace, queue in (
        ("vision-prod", "vision-queue"),
        ("search-prod", "search-queue"),
    ):
        write("LocalQueue", "jobs", namespace, spec={"clusterQueue": queue})
    write("KaiQueue", "search-kai", spec={"resources": {"gpu": {"quota": 8}}})


def words(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text)


def rows(client: Any) -> dict[str, dict[str, Any]]:
    found = client.get("/api/v1/limits").json()["rows"]
    return {
        f"{row['kind']} {row['namespace'] or ''}/{row['name']}": row for row in found
    }


def test_admins_see_all_with_a_sentence(limits: None, sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get(ADDRESS))
    text = " ".join(page.split())
    assert "11 objects</strong> limit GPUs" not in text  # they are counted below
    assert (
        "4 quotas, 1 LimitRange, 2 priority classes, 3 queues. GPU Ledger sets "
        "<strong>0</strong> of them. Set by others: 10 by kubectl."
    ) in text
    assert "search-prod/compute" in page
    assert "3 workloads are not admitted. 4 of its 8 are lent: search-queue 4" in page
    assert "1500m is not a whole number of GPUs." in page
    assert "It is Kubernetes&#x27; own." in page
    assert "each container without a request gets 4" in page
    assert "adopt its classes first" in page


def test_leads_see_their_own_and_no_names_of_others(
    limits: None, sign_in: SignIn
) -> None:
    luis = sign_in("luis")
    page = html_of(luis.get(ADDRESS))
    found = rows(luis)
    for text in (page, str(found)):
        assert not {"search-prod", "search-queue", "search-kai"} & set(words(text))
        assert "Adopt" not in text
    assert set(found) == {
        "ResourceQuota vision-prod/compute",
        "ResourceQuota vision-prod/half",
        "ResourceQuota vision-prod/high-only",
        "LimitRange vision-prod/ranges",
        "PriorityClass /high",
        "PriorityClass /system-node-critical",
        "Cohort /all",
        "ClusterQueue /vision-queue",
        "LocalQueue vision-prod/jobs",
    }
    assert found["ClusterQueue /vision-queue"]["text"] == (
        "3 workloads are not admitted. 4 of its 8 are lent: other queues 4 above their quota."
    )
    lines = luis.get(f"{ADDRESS}?csv=limits").content.decode()
    assert "search" not in lines
    assert lines.count("\n") == len(found) + 1
    assert (
        luis.post(f"{ADDRESS}/adopt", {"cluster": "north", "all": "yes"}).status_code
        == 403
    )


def test_nobody_says_that_nothing_is_limited(limits: None, sign_in: SignIn) -> None:
    assert QuotaTarget.objects.count() == 0
    for name, address in (
        ("ana", "/quotas"),
        ("luis", "/quotas"),
        ("luis", "/teams/vision/quota"),
    ):
        page = html_of(sign_in(name).get(address))
        assert "any number of GPUs" not in page
        assert "vision-prod/compute 16 by kubectl" in page
    assert report("quotas") == []
    found = run("report", "limits")
    assert re.search(
        r"ResourceQuota +vision-prod +compute +vision .* 16 .* kubectl", found
    )


def test_before_an_observation_nothing_is_claimed(
    story: Story, sign_in: SignIn
) -> None:
    del story
    ana = sign_in("ana")
    assert "was not observed yet: its limits are not known" in html_of(ana.get(ADDRESS))
    for address in ("/quotas", "/teams/vision/quota"):
        page = html_of(ana.get(address))
        assert "any number of GPUs" not in page
        assert "are not known before" in page
    ObservationRun.objects.create(
        cluster=Cluster.objects.get(name="north"),
        kind="ResourceQuota",
        seen_at=SEEN,
        tried_at=SEEN,
    )
    assert "No quota and no LimitRange of GPUs" in html_of(ana.get(ADDRESS))
    assert "Teams can use any number of GPUs" in html_of(ana.get("/quotas"))


def test_kinds_that_may_not_be_listed_are_named_with_the_role(
    limits: None, sign_in: SignIn
) -> None:
    for kind in ("ResourceQuota", "Cohort", "WorkloadPriorityClass"):
        ObservationRun.objects.update_or_create(
            cluster=Cluster.objects.get(name="north"),
            kind=kind,
            defaults={
                "tried_at": SEEN,
                "error": "forbidden",
                "code": 403,
                "is_allowed": False,
            },
        )
    page = " ".join(html_of(sign_in("ana").get(ADDRESS)).split())
    assert "does not let GPU Ledger list ResourceQuota:" in page
    assert "kubectl apply -f deploy/rbac/reader.yaml" in page
    assert "list Cohort, WorkloadPriorityClass:" in page
    assert "kubectl apply -f deploy/rbac/schedulers/kueue.yaml" in page
    assert "deploy/rbac" not in html_of(sign_in("luis").get(ADDRESS))


def test_fifty_rows_a_page(limits: None, sign_in: SignIn) -> None:
    for number in range(47):
        quota(f"lab-{number:02d}")
    ana = sign_in("ana")
    first = html_of(ana.get(ADDRESS))
    assert "1–50 of 52" in first
    assert "vision-prod/ranges" not in first
    assert "vision-prod/ranges" in html_of(ana.get(f"{ADDRESS}?namespaces=2"))
    found = html_of(ana.get(f"{ADDRESS}?q=lab-07"))
    assert "lab-07/compute" in found
    assert "lab-08" not in found
    assert "Namespace lab-07 has no team: add a rule to Attribution." in found


def test_a_quota_over_hundreds_of_namespaces_names_three(
    story: Story, sign_in: SignIn
) -> None:
    QuotaTarget.objects.create(
        cluster=story.cluster,
        team=story.teams["vision"],
        resource=GPU,
        gpus=1004,
        split={f"lab-{number:03d}": 2 for number in range(502)},
        version=1,
    )
    for address in ("/quotas", "/teams/vision/quota"):
        page = html_of(sign_in("ana").get(address))
        assert "lab-000 2, lab-001 2, lab-002 2, 998 in 499 more" in page
        assert "lab-003" not in page


def test_adopting_what_cannot_be_adopted_says_why(
    limits: None, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    place = {"cluster": "north", "kind": "ResourceQuota", "namespace": "vision-prod"}
    page = html_of(ana.post(f"{ADDRESS}/adopt", {**place, "name": "half"}, follow=True))
    assert "There is nothing to adopt. 1500m is not a whole number of GPUs." in page
    assert ana.post(f"{ADDRESS}/adopt", {**place, "name": "none"}).status_code == 404
    assert not ChangeSet.objects.exists()


def test_the_lowest_of_two_quotas_is_adopted(limits: None, sign_in: SignIn) -> None:
    quota("vision-prod", 10, "tighter")
    ana = sign_in("ana")
    answer = ana.post(f"{ADDRESS}/adopt", {"cluster": "north", "all": "yes"})
    change = ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])
    edits = {edit["team"]: edit for edit in change.edits if edit["kind"] == "quota"}
    assert edits["vision"]["weights"] == {"vision-prod": 10}
    assert (edits["vision"]["gpus"], edits["vision"]["rule"]) == (10, "listed")
    assert edits["search"]["weights"] == {"search-prod": 12}
    tiers = [edit for edit in change.edits if edit["kind"] == "tier"]
    assert [(one["name"], one["class_name"]) for one in tiers] == [("high", "high")]
    assert change.forced == ["PriorityClass high"]
    page = html_of(ana.get(ADDRESS))
    assert page.count(f"CS-{change.pk} in progress") == len(change.edits) + 1
    again = ana.post(
        f"{ADDRESS}/adopt", {"cluster": "north", "all": "yes"}, follow=True
    )
    assert "There is nothing to adopt." in html_of(again)


def test_fields_of_a_wrong_type_are_named_and_nothing_else_is_lost(
    limits: None, sign_in: SignIn
) -> None:
    good = {"name": GPU, "nominalQuota": 8}
    write(
        "ClusterQueue",
        "torn",
        spec={
            "cohortName": ["all"],
            "resourceGroups": [
                "a100",
                {"flavors": [{"name": "a100", "resources": [good, "x"]}]},
                {"flavors": "h100"},
            ],
        },
        status={"flavorsReservation": 5, "pendingWorkloads": "many"},
    )
    capability = {GPU: "8", "cpu": {}}
    deserved: list[str] = []
    spec = {"capability": capability, "deserved": deserved, "weight": 10**30}
    write("VolcanoQueue", "torn", spec=spec, status="Open")
    write("KaiQueue", "torn", spec={"resources": {"gpu": {"quota": "1e999"}}})
    write("Cohort", "torn", spec={"parentName": 5, "resourceGroups": {}})
    write("LocalQueue", "torn", "vision-prod", spec={"clusterQueue": {"a": "b"}})
    write("PriorityClass", "torn", value="high", globalDefault="yes")
    write("WorkloadPriorityClass", "torn", value=None, description=[])
    write("ResourceQuota", "torn", "vision-prod", spec={"hard": [GPU], "scopes": "a"})
    write("LimitRange", "torn", "vision-prod", spec={"limits": {"max": {GPU: "4"}}})
    ana = sign_in("ana")
    page = " ".join(html_of(ana.get(ADDRESS)).split())
    found = rows(ana)
    queue = found["ClusterQueue /torn"]
    assert (queue["limit"], queue["part"]) == ("8", "a100")
    assert queue["text"] == (
        'Not read: spec.cohortName is a list, not a text; spec.resourceGroups[0] is "a100", '
        'not an object; spec.resourceGroups[1].flavors[0].resources[1] is "x", not an '
        'object; spec.resourceGroups[2].flavors is "h100", not a list; '
        "status.flavorsReservation is 5, not a list; 1 more field has a wrong type."
    )
    for place, text in {
        "VolcanoQueue /torn": "spec.capability.cpu is an object, not a quantity; "
        "spec.deserved is a list, not an object; ",
        "KaiQueue /torn": 'spec.resources.gpu.quota is "1e999", not a quantity',
        "Cohort /torn": "spec.parentName is 5, not a text",
        "LocalQueue vision-prod/torn": "spec.clusterQueue is an object, not a text",
        "PriorityClass /torn": 'value is "high", not a whole number; '
        'globalDefault is "yes", not true or false.',
        "WorkloadPriorityClass /torn": "description is a list, not a text",
        "ResourceQuota vision-prod/torn": "spec.hard is a list, not an object",
        "LimitRange vision-prod/torn": "spec.limits is an object, not a list",
    }.items():
        assert text in found[place]["text"]
        assert escape(text) in page
    assert found["PriorityClass /torn"]["why_not"] == "It has no value."
    assert "vision-prod/compute" in page
    for address in ("/quotas", "/quotas/queues", "/teams/vision/quota", "/tiers"):
        assert ana.get(address, follow=True).status_code in (200, 404)
    ana.post(f"{ADDRESS}/adopt", {"cluster": "north", "all": "yes"})
    change = ChangeSet.objects.get()
    adopted = {edit["name"] for edit in change.edits if edit["kind"] == "queue"}
    assert {"torn", "vision-queue"} <= adopted


def test_namespaces_that_left_the_team_are_not_adopted(
    limits: None, sign_in: SignIn
) -> None:
    QuotaTarget.objects.create(
        cluster=Cluster.objects.get(name="north"),
        team=Team.objects.get(slug="vision"),
        resource=GPU,
        gpus=9,
        split={"vision-old": 4, "search-prod": 3, "vision-lab": 2},
        version=1,
    )
    place = {"cluster": "north", "kind": "ResourceQuota", "namespace": "vision-prod"}
    sign_in("ana").post(f"{ADDRESS}/adopt", {**place, "name": "compute"})
    (edit,) = ChangeSet.objects.get().edits
    assert "search-prod" not in edit["weights"]
    assert "vision-old" not in edit["weights"]
    assert edit["weights"]["vision-prod"] == 16
    assert edit["gpus"] == sum(edit["weights"].values())


def test_what_a_change_set_adopts_already_leads_there(
    limits: None, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    place = {"cluster": "north", "kind": "ResourceQuota", "namespace": "vision-prod"}
    first = ana.post(f"{ADDRESS}/adopt", {**place, "name": "compute"})
    again = ana.post(f"{ADDRESS}/adopt", {**place, "name": "compute"})
    assert again.headers["Location"] == first.headers["Location"]
    page = html_of(ana.get(again.headers["Location"]))
    assert f"CS-{ChangeSet.objects.get().pk} already adopts this." in page
