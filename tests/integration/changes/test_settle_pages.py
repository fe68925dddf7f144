"""A quota that differs in its cluster: adopt or restore, each to the end (T29)."""

import re
from typing import Any

import pytest
from django.test import Client

from accounting.access.models.teams import Binding, BindingKind, Team
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.models import Drift
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.models import QuotaTarget
from tests.control_plane.admin import quota_path
from tests.integration.changes.office import EPOCH, Office, quota
from tests.integration.conftest import SignIn
from tests.page_html import html_of

RESOURCE = "nvidia.com/gpu"
KEY = f"requests.{RESOURCE}"


@pytest.fixture
def desk(desk: Office) -> Office:
    """Quotas of three teams, applied; vision has a second namespace."""
    desk.world.admin.make_namespace("vision-lab")
    Binding.objects.create(
        kind=BindingKind.NAMESPACE,
        glob="vision-lab",
        team=Team.objects.get(slug="vision"),
        position=99,
        valid_from=EPOCH,
    )
    desk.applied(quota(24))
    return desk


def limits(desk: Office) -> tuple[str | None, ...]:
    """What the cluster has for vision, prod and lab."""
    places = ("vision-prod", "vision-lab")
    return tuple(
        desk.hard(place).get(KEY) if desk.has_quota(place) else None for place in places
    )


def edit(desk: Office, namespace: str, gpus: int) -> None:
    """`kubectl edit`."""
    path = quota_path(namespace, "gpu-ledger")
    desk.world.admin.edit(path, {"spec": {"hard": {KEY: str(gpus)}}})
    observe_once(desk.cluster, now=desk.now)


def settle(client: Client, verb: str) -> ChangeSet:
    """Press a button beside the quota; the change set that it makes."""
    fields = {"cluster": "north", "team": "vision", "resource": RESOURCE, "tier": ""}
    answer = client.post("/quotas/settle", fields | {"verb": verb})
    assert answer.status_code == 302
    return ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])


def press(
    desk: Office, client: Client, change: ChangeSet, verb: str, **more: Any
) -> str:
    """Press a button of the change's page, and let the worker work; the page then."""
    change.refresh_from_db()
    client.post(f"/changes/{change.pk}/{verb}", {"version": change.version, **more})
    desk.work()
    change.refresh_from_db()
    page = html_of(client.get(f"/changes/{change.pk}"))
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def states(desk: Office) -> set[str]:
    """How vision's objects stand."""
    observe_once(desk.cluster, now=desk.now)
    rows = Drift.objects.filter(namespace__startswith="vision-", name="gpu-ledger")
    return set(rows.values_list("state", flat=True))


def test_what_is_there_is_adopted_namespace_by_namespace(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    assert limits(desk) == ("12", "12")
    edit(desk, "vision-prod", 20)
    assert states(desk) == {"in_sync", "differs"}
    change = settle(ana, "adopt")
    assert change.reason == "Keep what was changed in the cluster by kubectl-edit"
    desk.work()
    press(desk, ana, change, "apply")
    assert change.state == "applied", change.error
    target = QuotaTarget.objects.get(team__slug="vision")
    assert (target.gpus, target.split) == (32, {"vision-prod": 20, "vision-lab": 12})
    assert limits(desk) == ("20", "12")
    assert states(desk) == {"in_sync"}


def test_what_is_wanted_is_restored_once_a_person_takes_the_field(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    edit(desk, "vision-lab", 2)
    change = settle(ana, "restore")
    desk.work()
    change.refresh_from_db()
    assert change.state == "planned", change.error
    blocked = change.steps.get(namespace="vision-lab")
    assert "conflict with kubectl-edit" in blocked.blocked
    press(desk, ana, change, "apply")
    assert limits(desk) == ("12", "2")  # nobody's field is taken unasked
    press(desk, ana, change, "force", force=[str(blocked)])
    press(desk, ana, change, "apply")
    assert change.state == "applied", change.error
    assert limits(desk) == ("12", "12")
    assert states(desk) == {"in_sync"}


def test_an_object_that_was_removed_is_restored(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    desk.world.admin.delete(quota_path("vision-lab", "gpu-ledger"))
    assert states(desk) == {"in_sync", "differs"}
    change = settle(ana, "restore")
    desk.work()
    press(desk, ana, change, "apply")
    assert limits(desk) == ("12", "12")
    assert states(desk) == {"in_sync"}


@pytest.mark.parametrize("verb", ["restore", "adopt"])
def test_a_new_namespace_of_the_team_gets_no_part(
    desk: Office, sign_in: SignIn, verb: str
) -> None:
    ana = sign_in("ana")
    edit(desk, "vision-lab", 2)
    desk.world.admin.make_namespace("vision-new")
    Binding.objects.create(
        kind=BindingKind.NAMESPACE,
        glob="vision-new",
        team=Team.objects.get(slug="vision"),
        position=100,
        valid_from=EPOCH,
    )
    change = settle(ana, verb)
    desk.work()
    change.refresh_from_db()
    blocked = change.steps.exclude(blocked="").values_list("namespace", flat=True)
    if verb == "restore":
        press(desk, ana, change, "force", force=["ResourceQuota vision-lab/gpu-ledger"])
    assert list(blocked) == []
    press(desk, ana, change, "apply")
    assert change.state == "applied", change.error
    assert limits(desk) == (("12", "12") if verb == "restore" else ("12", "2"))
    assert not desk.has_quota("vision-new")
    assert QuotaTarget.objects.get(team__slug="vision").split.keys() == {
        "vision-prod",
        "vision-lab",
    }


def test_a_difference_in_two_namespaces_shows_each(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    edit(desk, "vision-prod", 99)
    edit(desk, "vision-lab", 5)
    page = html_of(ana.get("/quotas?cluster=north"))
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert f"vision-prod: {KEY} is 99, wanted 12. Changed by kubectl-edit" in text
    assert f"vision-lab: {KEY} is 5, wanted 12. Changed by kubectl-edit" in text
    # of 24, 17 are held: no namespace has more left than the quota
    assert "7 left: 7 in vision-prod, 5 in vision-lab" in text


def objects(*places: str) -> list[str]:
    """What a person selects: kubectl still manages these numbers, too."""
    return [f"ResourceQuota {place}/gpu-ledger" for place in places]


def test_adopting_nothing_everywhere_is_a_quota_of_0(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    for place in ("vision-prod", "vision-lab"):
        edit(desk, place, 0)
    change = settle(ana, "adopt")
    desk.work()
    press(desk, ana, change, "apply")
    assert change.state == "applied", change.error
    assert QuotaTarget.objects.get(team__slug="vision").gpus == 0
    assert limits(desk) == ("0", "0")
    desk.applied(quota(8), forced=objects("vision-prod", "vision-lab"))
    assert limits(desk) == ("4", "4")


def test_adopting_leaves_namespaces_without_a_quota_without_one(
    desk: Office, sign_in: SignIn
) -> None:
    desk.world.admin.make_namespace("vision-new")
    Binding.objects.create(
        kind=BindingKind.NAMESPACE,
        glob="vision-new",
        team=Team.objects.get(slug="vision"),
        position=100,
        valid_from=EPOCH,
    )
    edit(desk, "vision-prod", 20)
    ana = sign_in("ana")
    change = settle(ana, "adopt")
    desk.work()
    press(desk, ana, change, "apply")
    assert change.state == "applied", change.error
    assert limits(desk) == ("20", "12")
    desk.applied(quota(64), forced=objects("vision-prod"))
    assert limits(desk) == ("40", "24")
    assert not desk.has_quota("vision-new")
