"""Change sets over the API: who may ask, approve and apply; versions, keys and refusals.

What the cluster does with them is shown in `tests/integration/changes`.
"""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from accounting.access.models.people import Person
from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import ChangeSet, ChangeStep
from scheduler_view.quotas.models import QuotaTarget, Tier
from tests.integration.api.conftest import CSV, Ask, problem
from tests.integration.conftest import SignIn
from tests.page_html import html_of

EDIT = {"kind": "quota", "team": "vision", "resource": "nvidia.com/gpu", "gpus": 8}
REASON = "Agreed with the lead. OPS-4812"
JSON = "application/json"


def body(*edits: dict[str, Any], **more: Any) -> dict[str, Any]:
    name = Cluster.objects.order_by("name").values_list("name", flat=True)[0]
    found = {"cluster": name, "edits": list(edits or (EDIT,)), "reason": REASON}
    return found | more


def post(client: Any, path: str, values: object, **headers: str) -> Any:
    address = f"/api/v1/change-sets{path}"
    return client.post(address, values, content_type=JSON, headers=headers)


def made(client: Any, *edits: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = post(client, "", body(*edits), **headers)
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    assert answer.headers["ETag"] == f'"{found["version"]}"'
    return found


def planned(number: int) -> None:
    """As the worker leaves it."""
    ChangeSet.objects.filter(pk=number).update(state="planned", version=7)


def test_a_draft_is_made_read_and_replaced(ask: Ask) -> None:
    ana = ask("ana")
    one = made(ana)
    assert (one["state"], one["author"], one["edits"][0]["gpus"]) == ("draft", "ana", 8)
    assert one["edits"][0]["version"] == 0  # there was no quota
    address = f"/api/v1/change-sets/{one['id']}"
    assert ana.get(address).json() == one
    assert ana.get("/api/v1/change-sets").json()["rows"][0]["id"] == one["id"]
    values = body(EDIT | {"gpus": 9})
    del values["cluster"]
    for headers, status in (
        ({}, 428),
        ({"If-Match": '"99"'}, 412),
        ({"If-Match": "x"}, 400),
        ({"If-Match": '"1"'}, 200),
        ({"If-Match": '"1"'}, 412),
    ):
        answer = ana.put(address, values, content_type=JSON, headers=headers)
        assert answer.status_code == status
        if status > 200:
            problem(answer)
    assert ana.get(address).json()["edits"][0]["gpus"] == 9


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"gpus": 0.5}, "#/edits/0/gpus"),
        ({"gpus": -1}, "#/edits/0/gpus"),
        ({"gpus": "1500m"}, "#/edits/0/gpus"),
        ({"resource": "requests.cpu"}, "#/edits/0/resource"),
        ({"resource": "x" * 500}, "#/edits/0/resource"),
        ({"team": "nobody"}, "#/edits/0/team"),
        ({"tier": "nothing"}, "#/edits/0/tier"),
        ({"colour": "red"}, "#/edits/0/colour"),
        ({"kind": "pod"}, "#/edits/0/kind"),
        ({"rule": "mine"}, "#/edits/0/rule"),
        ({"weights": {"a": -1}}, "#/edits/0/weights"),
        ({"weights": [1]}, "#/edits/0/weights"),
        ({"version": "1"}, "#/edits/0/version"),
    ],
)
def test_bad_edits_name_the_member(
    ask: Ask, change: dict[str, Any], pointer: str
) -> None:
    answer = post(ask("ana"), "", body(EDIT | change))
    assert answer.status_code == 400
    assert [fault["pointer"] for fault in problem(answer)["errors"]] == [pointer]
    assert not ChangeSet.objects.exists()


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        ({"name": "system-batch", "value": 1}, "name"),
        ({"name": "batch", "value": 2_000_000_000}, "value"),
        ({"name": "batch"}, "value"),
        ({"name": "batch", "value": 1.5}, "value"),
        ({"name": "batch", "value": 1, "preempts": "no"}, "preempts"),
        ({"name": "gone", "remove": True}, "name"),
    ],
)
def test_bad_tiers_name_the_member(ask: Ask, edit: dict[str, Any], field: str) -> None:
    answer = post(ask("ana"), "", body({"kind": "tier"} | edit))
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["pointer"] == f"#/edits/0/{field}"


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "short"},
        {"reason": "x" * 201},
        {"starts_at": "2020-01-01T00:00:00Z"},
        {"ends_at": "2020-01-01T00:00:00Z"},
        {"edits": []},
        {"edits": {}},
        {"cluster": "nowhere"},
        {"force": "all"},
    ],
)
def test_bad_bodies_are_refused(ask: Ask, change: dict[str, Any]) -> None:
    answer = post(ask("ana"), "", body() | change)
    assert answer.status_code == 400
    assert problem(answer)["errors"]


def test_the_same_quota_twice_is_refused(ask: Ask) -> None:
    answer = post(ask("ana"), "", body(EDIT, EDIT | {"gpus": 3}))
    assert "it is for the same object as edit 1" in problem(answer)["detail"]


def test_a_key_makes_one_of_many_requests(ask: Ask) -> None:
    ana, key = ask("ana"), {"Idempotency-Key": "k-1"}
    first = made(ana, **key)
    assert made(ana, **key)["id"] == first["id"]
    assert ChangeSet.objects.count() == 1
    other = post(ana, "", body(EDIT | {"gpus": 9}), **key)
    assert other.status_code == 422
    problem(other)
    assert post(ana, "", body(EDIT | {"team": "x"}), **{"Idempotency-Key": "k-2"})
    made(ana, **{"Idempotency-Key": "k-2"})  # a failed one leaves no key
    long = post(ana, "", body(), **{"Idempotency-Key": "k" * 201})
    assert long.status_code == 400


def test_steps_need_the_version_and_the_state(ask: Ask) -> None:
    ana = ask("ana")
    number = made(ana)["id"]
    for verb in ("plan", "approve", "apply"):
        answer = post(ana, f"/{number}/{verb}", {})
        assert answer.status_code == 428
    asked = post(ana, f"/{number}/plan", {}, **{"If-Match": '"1"'})
    assert asked.status_code == 202
    assert asked.json()["is_planning"]
    planned(number)
    approved = post(ana, f"/{number}/approve", {}, **{"If-Match": '"7"'})
    assert (approved.status_code, approved.json()["state"]) == (200, "approved")
    applied = post(ana, f"/{number}/apply", {}, **{"If-Match": '"8"'})
    assert applied.status_code == 202
    again = post(ana, f"/{number}/approve", {}, **{"If-Match": '"9"'})
    assert again.status_code == 409
    assert "only a planned one" in problem(again)["detail"]
    undone = post(ana, f"/{number}/undo", {"reason": REASON})
    assert undone.status_code == 409
    given_up = post(
        ana, f"/{number}/discard", {"reason": REASON}, **{"If-Match": '"9"'}
    )
    assert given_up.json()["state"] == "discarded"


def test_one_that_waits_for_a_token_is_ended_on_its_page_and_over_rest(
    ask: Ask, sign_in: SignIn
) -> None:
    ana, browser = ask("ana"), sign_in("ana")
    waits = {"state": "applying", "error": "Waits for a token: no", "version": 7}
    for author, verb, button in (
        ("ana", "discard", "Discard"),
        ("bo", "decline", "Decline…"),
    ):
        number = made(ana)["id"]
        rows = ChangeSet.objects.filter(pk=number)
        rows.update(**waits, author_name=author, lease_until="2099-01-01T00:00Z")
        assert button in html_of(browser.get(f"/changes/{number}"))
        how: dict[str, str] = {"If-Match": '"7"'}
        busy = post(ana, f"/{number}/{verb}", {"reason": REASON}, **how)
        assert busy.status_code == 409
        assert "a worker is trying" in problem(busy)["detail"]
        rows.update(lease_until=None)
        answer = post(ana, f"/{number}/{verb}", {"reason": REASON}, **how)
        assert answer.json()["state"] == {"discard": "discarded"}.get(verb, "declined")
        page = html_of(browser.get(f"/changes/{number}"))
        assert f"{answer.json()['state'].title()} by ana" in page
    rows.update(state="applying", error="PolicyServer is down", version=7)
    assert button not in html_of(browser.get(f"/changes/{number}"))
    assert post(ana, f"/{number}/{verb}", {"reason": REASON}, **how).status_code == 409


def test_above_the_limit_a_second_admin_approves(ask: Ask) -> None:
    number = made(ask("ana"))["id"]
    planned(number)
    ChangeSet.objects.update(needs_second=True)
    answer = post(ask("ana"), f"/{number}/approve", {}, **{"If-Match": '"7"'})
    assert answer.status_code == 409
    assert "another administrator" in problem(answer)["detail"]
    second = get_user_model().objects.create_user("bea")
    Person.objects.create(user=second, role="admin")
    answer = post(ask("bea"), f"/{number}/approve", {}, **{"If-Match": '"7"'})
    assert answer.json()["approved_by"] == "bea"


def test_two_change_sets_of_one_quota_name_each_other(
    ask: Ask, sign_in: SignIn
) -> None:
    ana, luis = ask("ana"), ask("luis")
    other = {"team": "search"}
    first = made(ana)["id"]
    second = made(luis, EDIT | {"resource": "nvidia.com/mig-1g.10gb"})["id"]
    third = made(ana, EDIT | other)["id"]
    fourth = made(ana, EDIT | {"gpus": 3}, EDIT | other)["id"]

    def overlaps(client: Any, number: int) -> list[tuple[int, list[str]]]:
        found = client.get(f"/api/v1/change-sets/{number}").json()["overlaps"]
        return [(one["id"], one["objects"]) for one in found]

    vision, search = ["the quota of vision"], ["the quota of search"]
    assert overlaps(ana, first) == [(second, vision), (fourth, vision)]
    assert overlaps(ana, fourth) == [(first, vision), (second, vision), (third, search)]
    assert overlaps(luis, fourth) == [(first, vision), (second, vision)]
    page = " ".join(html_of(sign_in("ana").get(f"/changes/{first}")).split())
    assert f'<a href="/changes/{second}">CS-{second}</a> (draft, by luis) also' in page
    ChangeSet.objects.filter(pk=second).update(state="declined")
    assert overlaps(ana, first) == [(fourth, vision)]
    ChangeSet.objects.filter(pk=first).update(state="applied")
    assert overlaps(ana, first) == []


def test_what_is_blocked_is_left_out(ask: Ask) -> None:
    ana = ask("ana")
    edits = [EDIT, EDIT | {"team": "search"}, EDIT | {"team": "language"}]
    number = made(ana, *edits)["id"]
    split = [["vision", "nvidia.com/gpu", "", {"vision-prod": 8}]]
    ChangeSet.objects.filter(pk=number).update(plan={"splits": split})
    none = post(ana, f"/{number}/leave-out", {}, **{"If-Match": '"1"'})
    assert none.status_code == 409
    assert "no edit of" in problem(none)["detail"]
    ChangeStep.objects.create(
        change_set_id=number,
        position=0,
        kind="ResourceQuota",
        namespace="vision-prod",
        name="gpu-ledger",
        action="change",
        blocked="conflict with kubectl-edit",
    )
    planned(number)
    assert post(ana, f"/{number}/leave-out", {}).status_code == 428
    mia = post(ask("mia"), f"/{number}/leave-out", {}, **{"If-Match": '"7"'})
    assert mia.status_code in (403, 404)
    left = post(ana, f"/{number}/leave-out", {}, **{"If-Match": '"7"'})
    assert (left.status_code, left.json()["state"]) == (200, "draft")
    assert [one["team"] for one in left.json()["edits"]] == ["search", "language"]
    after = {"If-Match": left.headers["ETag"]}
    for given, code in (({"edit": 2}, 409), ({"edit": -1}, 400), ({"edit": 1}, 200)):
        answer = post(ana, f"/{number}/leave-out", given, **after)
        assert answer.status_code == code, answer.content
    assert [one["team"] for one in answer.json()["edits"]] == ["search"]


def test_a_blocked_plan_is_not_approved(ask: Ask) -> None:
    number = made(ask("ana"))["id"]
    planned(number)
    ChangeStep.objects.create(
        change_set_id=number,
        position=0,
        kind="ResourceQuota",
        namespace="a",
        name="gpu-ledger",
        action="change",
        blocked="conflict with kubectl-edit",
    )
    answer = post(ask("ana"), f"/{number}/approve", {}, **{"If-Match": '"7"'})
    assert "kubectl-edit" in problem(answer)["detail"]


def test_leads_ask_for_their_teams_and_decide_nothing(ask: Ask) -> None:
    luis = ask("luis")
    own = made(luis)
    assert post(luis, "", body(EDIT | {"team": "search"})).status_code == 403
    tier = {"kind": "tier", "name": "batch", "value": 1}
    assert post(luis, "", body(tier)).status_code == 403
    for verb in ("plan", "approve", "apply"):  # as on its page
        answer = post(luis, f"/{own['id']}/{verb}", {}, **{"If-Match": '"1"'})
        assert answer.status_code == 403
    assert post(luis, f"/{own['id']}/undo", {"reason": REASON}).status_code == 403
    others = made(ask("ana"))["id"]
    assert post(luis, f"/{others}/plan", {}, **{"If-Match": '"1"'}).status_code == 403


def test_what_is_about_others_is_not_found(ask: Ask) -> None:
    hidden = made(ask("ana"), EDIT | {"team": "search"})["id"]
    shared = made(ask("ana"), EDIT, EDIT | {"team": "search"})["id"]
    shown = made(ask("ana"))["id"]
    for name, numbers in (
        ("omar", []),
        ("mia", [shown, shared]),
        ("luis", [shown, shared]),
        ("fin", [shown, shared, hidden]),
    ):
        client = ask(name)
        rows = client.get("/api/v1/change-sets").json()["rows"]
        assert [row["id"] for row in rows] == numbers
        answer = client.get(f"/api/v1/change-sets/{hidden}")
        assert answer.status_code == (200 if hidden in numbers else 404)
        answer = post(client, f"/{hidden}/plan", {}, **{"If-Match": '"1"'})
        assert answer.status_code == (403 if hidden in numbers else 404)
        answer = post(client, f"/{shared}/plan", {}, **{"If-Match": '"1"'})
        assert answer.status_code == (403 if shared in numbers else 404)


def test_quotas_and_tiers_are_lists(ask: Ask) -> None:
    cluster = Cluster.objects.order_by("name")[0]
    for slug in ("vision", "search"):
        QuotaTarget.objects.create(
            cluster=cluster,
            team=Team.objects.get(slug=slug),
            resource="nvidia.com/gpu",
            gpus=8,
            split={f"{slug}-prod": 8},
            version=1,
        )
    Tier.objects.create(
        cluster=cluster, name="batch", value=10, class_name="batch-v1", version=1
    )
    rows = ask("luis").get("/api/v1/quotas").json()["rows"]
    assert [(row["team"], row["gpus"]) for row in rows] == [("vision", 8)]
    assert rows[0]["peak_30_days"] > 0
    assert len(ask("ana").get("/api/v1/quotas").json()["rows"]) == 2
    assert ask("omar").get("/api/v1/tiers").json()["rows"] == []
    (tier,) = ask("luis").get("/api/v1/tiers").json()["rows"]
    assert (tier["name"], tier["class_name"]) == ("batch", "batch-v1")
    text = ask("ana").get("/api/v1/quotas", headers=CSV).content.decode()
    assert text.startswith("cluster,team,resource,key,tier,gpus,")


def test_the_record_says_who_and_why(ask: Ask) -> None:
    number = made(ask("ana"))["id"]
    connection.check_constraints()  # as a commit does: the chain is made then
    rows = ask("ana").get(f"/api/v1/audit?what=changeset&object={number}").json()
    (row,) = rows["rows"]
    assert (row["actor"], row["action"], row["reason"]) == ("ana", "insert", REASON)
    assert row["address"] == "/api/v1/change-sets"
    assert row["after"]["state"] == "draft"
    text = (
        ask("ana").get("/api/v1/audit?what=changeset", headers=CSV).getvalue().decode()
    )
    assert text.startswith("id,at,actor,action,what,object,reason,")
    wrong = ask("ana").get("/api/v1/audit?what=shoe")
    assert wrong.status_code == 400
    assert "changeset" in problem(wrong)["errors"][0]["allowed"]
    assert ask("ana").get("/api/v1/audit?object=x").status_code == 400
