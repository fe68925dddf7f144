"""Pages that the database cuts: no row is read before it is asked for, and none is missed.

That pages together are the whole list: `test_lists`.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from accounting.access.models.teams import Binding, Team
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod, PodHold
from accounting.organization.actions.teams import save_team
from accounting.prices.models.price import UnitPrice
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import QuotaEdit, edit_fields
from scheduler_view.clusters.models import Preemption
from scheduler_view.what_if.models import WhatIfRun
from tests.integration.api.conftest import Ask, problem
from tests.integration.api.test_lists import all_pages
from tests.story import Story

KEYSETS = (
    *("holds", "gpu-holders?from=2026-11-20", "audit", "teams", "bindings", "prices"),
    *("change-sets", "preemptions", "what-ifs"),
)
SETS = 1_001
GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def many(story: Story, django_db_blocker: DjangoDbBlocker) -> None:
    """Change sets and preemptions of one moment, more than a page of either."""
    with django_db_blocker.unblock():
        write_many(story)


def write_many(story: Story) -> None:
    """Write them into the transaction that the module's tests share."""
    at = timezone.now() - timedelta(hours=1)
    ChangeSet.objects.bulk_create(
        ChangeSet(
            cluster=story.cluster,
            author_name="ana",
            reason="tests",
            made_at=at,
            edits=[edit_fields(QuotaEdit(("speech", "vision")[n % 2], GPU, 4))],
        )
        for n in range(SETS)
    )
    other = Cluster.objects.create(name="south")
    Preemption.objects.bulk_create(
        Preemption(
            cluster=(story.cluster, other)[n % 2],
            pod_uid=f"uid-{n}",
            namespace="nobodys",
            pod=f"pod-{n}",
            at=at,
        )
        for n in range(7)
    )
    for n in range(3):
        request = {"cluster": "north", "scenarios": [{"name": f"more {n}"}]}
        WhatIfRun.objects.create(
            cluster=story.cluster, request=request, requested_at=at
        )
        save_team(
            slug="vision",
            name=f"Vision {n}",
            department="",
            cost_centre="",
            actor="ana",
        )
    connection.check_constraints()  # as a commit does: changes are on record then


def first(client: Client, address: str, limit: int) -> tuple[list[object], str]:
    mark = "&" if "?" in address else "?"
    page = client.get(f"/api/v1/{address}{mark}limit={limit}").json()
    return page["rows"], page["next"]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("address", KEYSETS)
def test_a_page_reads_its_rows_and_one_more(ask: Ask, address: str) -> None:
    client = ask("ana")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        rows, cursor = first(client, address, 2)
    assert len(rows) == 2
    assert any(query["sql"].rstrip().endswith("LIMIT 3") for query in asked)
    mark = "&" if "?" in address else "?"
    page = client.get(f"/api/v1/{address}{mark}limit=2&cursor={cursor}").json()
    assert page["rows"]
    assert not [row for row in page["rows"] if row in rows]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("address", KEYSETS)
def test_a_cursor_that_is_not_ours_is_refused(ask: Ask, address: str) -> None:
    client = ask("ana")
    _, cursor = first(client, address, 1)
    mark = "&" if "?" in address else "?"
    for given, words in (
        (f"{cursor[:-2]}xx", "not a valid cursor"),
        ("0", "not a valid cursor"),
        (first(client, "usage?by=team", 1)[1], "other parameters"),
    ):
        answer = client.get(f"/api/v1/{address}{mark}limit=1&cursor={given}")
        assert answer.status_code == 400
        [error] = problem(answer)["errors"]
        assert error["parameter"] == "cursor"
        assert words in error["detail"]


def test_rows_that_come_and_go_neither_shift_nor_end_a_walk(ask: Ask) -> None:
    client = ask("ana")
    whole = client.get("/api/v1/teams").json()["rows"]
    rows, cursor = first(client, "teams", 2)
    assert rows == whole[:2]
    Team.objects.create(slug="aaa", name="Before the page")
    Team.objects.filter(slug=whole[0]["slug"]).update(name="Another name")
    page = client.get(f"/api/v1/teams?limit=2&cursor={cursor}")
    assert page.status_code == 200
    assert page.json()["rows"] == whole[2:4]


@pytest.mark.usefixtures("many")
def test_change_sets_go_back_to_the_first(ask: Ask) -> None:
    """Lists of pages end at a thousand; a walk does not."""
    client = ask("ana")
    found = [row["id"] for row in all_pages(client, "/api/v1/change-sets", 400)]
    assert len(found) == SETS
    assert found == sorted(found, reverse=True)
    address = "/api/v1/change-sets?team=vision"
    assert len(all_pages(client, address, 400)) == SETS // 2
    file = client.get(f"{address}&format=csv").getvalue().decode().splitlines()
    assert len(file) == SETS // 2 + 1
    assert client.get("/api/v1/change-sets?cluster=south").json()["rows"] == []


@pytest.mark.usefixtures("many")
def test_preemptions_of_one_moment_come_once_each(ask: Ask) -> None:
    client = ask("ana")
    whole = client.get("/api/v1/preemptions").json()["rows"]
    assert len(whole) == 7
    assert all_pages(client, "/api/v1/preemptions", 2) == whole
    of_one = client.get("/api/v1/preemptions?cluster=south").json()["rows"]
    assert {row["cluster"] for row in of_one} == {"south"}
    assert client.get("/api/v1/preemptions?team=vision").json()["rows"] == []
    assert ask("luis").get("/api/v1/preemptions").json()["rows"] == []


def test_rows_alike_in_all_but_their_number_come_once_each(
    ask: Ask, story: Story
) -> None:
    """Two prices of one model, rules of one position, holds of one pod and time."""
    client = ask("ana")
    price = UnitPrice.objects.exclude(model="NVIDIA-A10").first()
    assert price is not None
    for tier in ("gold", "iron"):
        price.pk, price.tier = None, tier
        price.save(force_insert=True)
    rule = Binding.objects.first()
    assert rule is not None
    team = Team.objects.exclude(pk=rule.team_id)[0]
    for glob in ("one-*", "two-*"):
        Binding.objects.create(
            position=rule.position,
            kind=rule.kind,
            glob=glob,
            team=team,
            valid_from=datetime(2026, 1, 1, tzinfo=UTC),
            valid_to=None,
        )
    hold = PodHold.objects.first()
    assert hold is not None
    for n in range(2):
        pod = Pod.objects.get(pk=hold.pod_id)
        pod.pk, pod.uid = None, f"{pod.uid}-{n}"
        pod.save(force_insert=True)
        hold.pk, hold.pod = None, pod
        hold.save(force_insert=True)
    for address in ("prices", "bindings", "holds"):
        whole = client.get(f"/api/v1/{address}").json()["rows"]
        assert all_pages(client, f"/api/v1/{address}", 1) == whole, address
