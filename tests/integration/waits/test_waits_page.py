"""What waits, why, and who holds it on the pages of quotas: for the team and for admins."""

import re
from datetime import timedelta

import pytest

from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.waits.models import UnitWait, WaitRecord
from tests.control_plane.admin import Admin, class_path
from tests.integration.changes.office import Office
from tests.integration.conftest import SignIn
from tests.integration.quotas.test_quota_pages import text
from tests.page_html import html_of

WORDS = "0/12 nodes are available: 12 Insufficient nvidia.com/gpu."


def say(admin: Admin, namespace: str, name: str) -> None:
    """What the scheduler says of a pod."""
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"conditions": [said | {"message": WORDS}]}
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
    admin.call("PATCH", path, {"status": status}, "application/merge-patch+json")


@pytest.fixture
def desk(desk: Office) -> Office:
    """Quotas of three teams; a pod of search has the only node, one of vision and search wait."""
    admin = desk.world.admin
    admin.make_node("only", nvidia_com__gpu=2)
    admin.make_pod("search-prod", "search-holds", 2, nodeName="only")
    only = {"kubernetes.io/hostname": "only"}
    for team in ("vision", "search"):
        admin.make_pod(f"{team}-prod", f"{team}-train", 2, nodeSelector=only)
        say(admin, f"{team}-prod", f"{team}-train")
    observe_once(desk.cluster, now=desk.now)
    return desk


def test_what_waits_stands_with_the_schedulers_words(
    desk: Office, sign_in: SignIn
) -> None:
    del desk
    luis, ana = sign_in("luis"), sign_in("ana")
    page = text(luis.get("/teams/vision/quota"))
    assert "Pending work" in page
    assert "vision-train Pod in vision-prod on north" in page
    assert "2 GPUs" in page
    assert "Not enough free GPUs on matching nodes" in page
    assert WORDS in page
    assert "A pod of search: 2 GPUs" in page
    assert "A pod of search ends" in page
    assert "search-holds" not in page, "another team's pod"
    assert "search-train" not in page
    assert "search-train" not in text(luis.get("/quotas/pending"))
    assert 'hx-get="/quotas/pending"' in html_of(ana.get("/quotas"))
    whole = text(ana.get("/quotas/pending"))
    assert "vision-train" in whole
    assert "search-train" in whole
    assert re.search("search-prod/search-holds ?: 2 GPUs, Search", whole)


def test_the_holder_of_lower_priority_is_named(desk: Office, sign_in: SignIn) -> None:
    """Whatever else holds: the one that holds enough and comes after it."""
    admin = desk.world.admin
    name = f"{desk.world.name}-urgent"
    policy = {"value": 9000, "preemptionPolicy": "Never"}
    admin.create(
        class_path(),
        {"metadata": {"name": name}, **policy},
    )
    only = {"kubernetes.io/hostname": "only"}
    admin.make_pod(
        "vision-prod", "urgent", 2, nodeSelector=only, priorityClassName=name
    )
    say(admin, "vision-prod", "urgent")
    desk.ahead = timedelta(minutes=2)
    observe_once(desk.cluster, now=desk.now)
    lower = "Lower-priority work holds the GPUs it needs ?: "
    assert re.search(
        lower + "A pod of search: 2 GPUs",
        text(sign_in("luis").get("/teams/vision/quota")),
    )
    ana = sign_in("ana")
    assert re.search(
        lower + "search-prod/search-holds", text(ana.get("/quotas/pending"))
    )
    (row,) = [
        r for r in ana.get("/api/v1/waiting").json()["rows"] if r["name"] == "urgent"
    ]
    assert [one["pod"] for one in row["lower_holders"]] == ["search-prod/search-holds"]
    UnitWait.objects.filter(name="urgent").update(
        since=desk.now() - timedelta(hours=5), cause_since=desk.now()
    )
    page = text(ana.get(f"/queues/{row_number('urgent')}"))
    assert "This cause was first observed at" in page, "not since it waits"
    assert re.search(lower + "search-prod/search-holds", page)


def test_holders_are_enough_only_if_nothing_else_keeps_the_work(
    desk: Office, sign_in: SignIn
) -> None:
    del desk
    ana, path = sign_in("ana"), f"/queues/{row_number('vision-train')}"
    said = "Each line is enough: if all its pods end"
    assert said in text(ana.get(path))
    wait = UnitWait.objects.get(name="vision-train")
    held = {"change": "end_pod", "pod": "search-prod/search-holds"}
    wait.content["not_enough"] = [{**held, "remains": [{"cause": "node_mismatch"}]}]
    wait.save()
    page = text(ana.get(path))
    assert "The pod search-prod/search-holds ends; then" in page
    assert said not in page
    assert "It also needs what is listed under" in page


def row_number(name: str) -> int:
    return WaitRecord.objects.get(name=name).pk
