"""Everything that limits GPUs: both themes, a phone, a tree of queues, more rows than one page.

What the rows say: `tests/integration/quotas/test_limits_page.py`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from scheduler_view.clusters.models import Observation, ObservationRun
from scheduler_view.clusters.rules.stored_manifest import kept
from tests.browser.conftest import SignIn, beyond, turn_dark
from tests.story import Story

PHONE = 320
GPU = "nvidia.com/gpu"
ADDRESS = "/quotas/limits"


def quota(gpus: int) -> dict[str, Any]:
    return {"spec": {"hard": {f"requests.{GPU}": str(gpus)}}}


def cluster_queue(nominal: int, used: int, waiting: int = 0) -> dict[str, Any]:
    total = [{"name": GPU, "total": used}]
    flavor = {"name": "a100", "resources": [{"name": GPU, "nominalQuota": nominal}]}
    return {
        "spec": {"cohortName": "all", "resourceGroups": [{"flavors": [flavor]}]},
        "status": {
            "flavorsReservation": [{"name": "a100", "resources": total}],
            "pendingWorkloads": waiting,
        },
    }


OBJECTS: dict[tuple[str, str, str], dict[str, Any]] = {
    **{("ResourceQuota", f"lab-{n:02d}", "compute"): quota(n) for n in range(50)},
    ("ResourceQuota", "vision-prod", "compute"): quota(16),
    ("LimitRange", "vision-prod", "ranges"): {
        "spec": {"limits": [{"type": "Container", "max": {GPU: "4"}}]}
    },
    ("PriorityClass", "", "high-priority"): {"value": 1000, "globalDefault": True},
    ("PriorityClass", "", "system-node-critical"): {"value": 2_000_001_000},
    ("ClusterQueue", "", "vision"): cluster_queue(8, 4, waiting=3),
    ("ClusterQueue", "", "search"): cluster_queue(4, 8),
    ("LocalQueue", "vision-prod", "jobs"): {"spec": {"clusterQueue": "vision"}},
    ("VolcanoQueue", "", "root"): {"spec": {}},
    ("VolcanoQueue", "", "research"): {"spec": {"deserved": {GPU: "8"}}},
    ("KaiQueue", "", "department"): {"spec": {"resources": {"gpu": {"quota": -1}}}},
    ("KaiQueue", "", "night"): {
        "spec": {"parentQueue": "department", "resources": {"gpu": {"quota": 0.5}}}
    },
}


def fields_of(value: Any) -> dict[str, Any]:
    """As in `managedFields`."""
    if not isinstance(value, dict):
        return {}
    return {f"f:{name}": fields_of(inner) for name, inner in value.items()}


@pytest.fixture(scope="module")
def limits(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What kubectl made, as last observed; one kind may not be listed."""
    now = timezone.now()
    kinds = {kind for kind, *_ in OBJECTS}
    with django_db_blocker.unblock():
        runs = ObservationRun.objects.filter(cluster=story.cluster)
        runs = runs.filter(kind__in=(*kinds, "Cohort"))
        found = Observation.objects.filter(cluster=story.cluster, kind__in=kinds)
        runs.delete()  # of modules before this one
        found.delete()
        for (kind, namespace, name), parts in OBJECTS.items():
            fields = {f"f:{n}": fields_of(v) for n, v in parts.items() if n != "status"}
            entry = {"manager": "kubectl-create", "time": now.isoformat()}
            meta: dict[str, Any] = {"name": name, "namespace": namespace, "uid": name}
            meta["managedFields"] = [entry | {"fieldsV1": fields}]
            Observation.objects.create(
                cluster=story.cluster,
                kind=kind,
                namespace=namespace,
                name=name,
                uid=name,
                digest=name,
                manifest=kept(kind, {"metadata": meta, **parts}),
                changed_at=now,
            )
        for kind in (*kinds, "Cohort"):
            ObservationRun.objects.create(
                cluster=story.cluster,
                kind=kind,
                seen_at=None if kind == "Cohort" else now,
                tried_at=now,
                is_allowed=kind != "Cohort",
                error="forbidden" if kind == "Cohort" else "",
            )
        yield
        found.delete()
        runs.delete()
    connection.close()  # this one's own: after the browser there is another


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("name", ["ana", "luis"])
def test_all_limits_are_clean_and_fit_a_small_phone(
    sign_in: SignIn, violations: Callable[..., list[str]], name: str
) -> None:
    visit = sign_in(name)
    page = visit.open(ADDRESS)
    assert page.get_by_role("heading", name="Queues of schedulers").count() == 1
    assert violations(page) == []
    turn_dark(page)
    assert violations(page, only_colors=True) == []
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert visit.complaints == []


@pytest.mark.usefixtures("limits")
def test_the_second_page_of_quotas_keeps_the_other_tables(sign_in: SignIn) -> None:
    page = sign_in("ana").open(ADDRESS)
    page.get_by_role("navigation", name="Pages of quotas").get_by_text("Next").click()
    page.get_by_text("51–52 of 52").wait_for()
    assert page.get_by_role("row", name="vision-prod/compute").count() == 1
    assert page.get_by_role("row", name="lab-07/compute").count() == 0
    assert page.get_by_role("row", name="night").count() == 1


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("path", ["/quotas", "/tiers", "/teams/vision/quota"])
def test_pages_beside_it_name_what_others_set(
    sign_in: SignIn, violations: Callable[..., list[str]], path: str
) -> None:
    page = sign_in("ana").open(path)
    if path == "/tiers":
        assert page.get_by_role("row", name="high-priority").count() == 1
    else:
        assert page.get_by_text("does not manage").count() == 1
    assert violations(page) == []


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize(
    ("path", "table"),
    [
        (ADDRESS, "spaces"),
        (ADDRESS, "tree"),
        (ADDRESS, "classes"),
        ("/tiers", "others"),
    ],
)
def test_who_set_a_limit_is_on_the_screen_of_a_phone(
    sign_in: SignIn, path: str, table: str
) -> None:
    page = sign_in("ana", width=390, is_kept=True).open(path)
    assert beyond(page, table, "Set by") == 0
    assert beyond(page, table, "Actions") == 0
