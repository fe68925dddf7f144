"""`waiting`, `preemptions` and `queues` over the API: rows, filters, pages, and whose they are."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Namespace
from accounting.metering.models.queue import QueueSample
from scheduler_view.clusters.models import Preemption
from scheduler_view.waits.models import UnitWait
from tests.integration.api.conftest import CSV, Ask
from tests.integration.metering.support import report

RESOURCE = "nvidia.com/gpu"
MESSAGE = f"0/4 nodes are available: 4 Insufficient {RESOURCE}."
SINCE = datetime(2026, 10, 1, tzinfo=UTC)


def places(ask: Ask) -> tuple[Cluster, dict[str, str]]:
    """The story's cluster, and a namespace of each of two teams."""
    del ask
    cluster = Cluster.objects.order_by("name")[0]
    names = set(
        Namespace.objects.filter(cluster=cluster).values_list("name", flat=True)
    )
    found = {team: f"{team}-prod" for team in ("vision", "search")}
    assert set(found.values()) <= names
    return cluster, found


def waits(cluster: Cluster, namespace: str, name: str, held: str = "") -> None:
    """As the observer stores a pod for which another pod must end."""
    resource = {"resource": RESOURCE, "units": 2}
    blocker = resource | {
        "pod": held,
        "uid": "u",
        "unit": f"Job/{held}",
        "priority": 0,
        "priority_class": "",
        "is_own": False,
        "since_ms": 1_780_000_000_000,
        "idle_since_ms": None,
    }
    UnitWait.objects.create(
        cluster=cluster,
        kind="Pod",
        namespace=namespace,
        name=name,
        stage="unschedulable",
        cause="no_free_gpu",
        since=SINCE,
        cause_since=SINCE,
        changed_at=SINCE,
        digest="",
        content={
            "contributing": ["taint"],
            "overlays": [],
            "pods": {"wanted": 1, "bound": 0, "waiting": 1},
            "resource": RESOURCE,
            "units_per_pod": 2,
            "preemption": "no_victims",
            "blockers": [{"node": "n", "blockers": [blocker]}] if held else [],
            "blocker_sets": 1,
            "starts_if": [{"change": "end_pod", "pod": held}] if held else [],
            "evidence": [{"text": MESSAGE}],
            "facts": {},
            "priority": 0,
            "priority_class": "",
        },
    )


def rows(client: Any, address: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/{address}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


def test_what_waits_is_told_to_those_whose_it_is(ask: Ask) -> None:
    cluster, place = places(ask)
    own, theirs = f"{place['vision']}/x", f"{place['search']}/y"
    waits(cluster, place["vision"], "a", theirs)
    waits(cluster, place["search"], "b")
    waits(cluster, "nobodys", "c", own)
    holder = {
        "team": "search",
        "pod": "",
        "unit": "",
        "resource": RESOURCE,
        "units": 2,
        "priority_class": "",
        "is_own": False,
        "since": "2026-05-28T20:26:40Z",
        "idle_since": None,
        "cost_per_hour": None,
        "currency": None,
        "ending_since": None,
        "finalizers": [],
        "waits": False,
    }
    expected = {
        "cluster": cluster.name,
        "team": "vision",
        "namespace": place["vision"],
        "kind": "Pod",
        "name": "a",
        "requested": {RESOURCE: 2},
        "pods_wanted": 1,
        "pods_bound": 0,
        "pods_waiting": 1,
        "priority_class": "",
        "since": "2026-10-01T00:00:00Z",
        "stage": "unschedulable",
        "cause": "no_free_gpu",
        "details": [],
        "cause_since": "2026-10-01T00:00:00Z",
        "contributing": ["taint"],
        "overlays": [],
        "preemption": "no_victims",
        "holders": [[holder]],
        "starts_if": [{"change": "end_pod", "count": 1, "teams": ["search"]}],
        "not_enough": [],
        "message": MESSAGE,
        "reports": [{"about": "", "text": MESSAGE, "at": None}],
        "seen_at": None,
        "from_metrics": False,
        "lower_holders": [],
    }
    assert rows(ask("luis"), "waiting") == [expected], "names of another team's pods"
    (seen,) = [r for r in rows(ask("fin"), "waiting") if r["name"] == "a"]
    assert seen["starts_if"] == [{"change": "end_pod", "pod": theirs}]
    assert seen["holders"] == [[holder | {"pod": theirs, "unit": f"Job/{theirs}"}]]
    assert {r["team"] for r in rows(ask("fin"), "waiting")} == {
        "vision",
        "search",
        "unmapped",
    }
    assert [r["name"] for r in rows(ask("ana"), "waiting?team=unmapped")] == ["c"]
    assert rows(ask("omar"), "waiting") == []
    page = ask("ana").get("/api/v1/waiting?limit=2").json()
    assert len(page["rows"]) == 2
    rest = rows(ask("ana"), f"waiting?limit=2&cursor={page['next']}")
    assert len(rest) == 1
    text = ask("ana").get("/api/v1/waiting", headers=CSV).content.decode()
    assert text.splitlines()[0].startswith("cluster,team,namespace,kind,name")
    assert ask("ana").get("/api/v1/waiting?from=2026-01-01").status_code == 400
    assert report("waiting") == rows(ask("ana"), "waiting")


def test_who_was_pushed_out_is_told_to_those_whose_it_is(ask: Ask) -> None:
    cluster, place = places(ask)
    now = timezone.now()
    for name, namespace, days in (
        ("old", place["vision"], 31),
        ("a", place["vision"], 1),
        ("b", place["search"], 2),
        ("c", "nobodys", 3),
    ):
        Preemption.objects.create(
            cluster=cluster,
            pod_uid=f"uid-{name}",
            namespace=namespace,
            pod=name,
            at=now - timedelta(days=days),
            message="Preempted by pod x",
        )
    found = rows(ask("ana"), "preemptions")
    assert [(r["pod"], r["team"]) for r in found] == [
        ("a", "vision"),
        ("b", "search"),
        ("c", "unmapped"),
    ]
    assert [r["pod"] for r in rows(ask("luis"), "preemptions")] == ["a"]
    assert rows(ask("omar"), "preemptions") == []
    assert report("preemptions") == found


def test_queues_are_told_to_those_who_see_all_teams(ask: Ask) -> None:
    cluster, _ = places(ask)
    for field, value in (("quota", 4), ("used", 7), ("borrowing_limit", None)):
        QueueSample.objects.create(
            cluster=cluster,
            scheduler="kueue",
            queue="shared",
            resource=RESOURCE,
            field=field,
            part="a",
            value=value,
            at_ms=1_790_848_800_000,
        )
    [row] = rows(ask("fin"), f"queues?cluster={cluster.name}")
    assert (row["queue"], row["borrowed"], row["borrowing_limit"]) == (
        "shared",
        3,
        "unlimited",
    )
    assert report("queues") == [row]
    assert ask("luis").get("/api/v1/queues").status_code == 404
