"""Quotas, changes, tiers and the record: who sees what, and flows through the real actions.

Ana is an admin, Fin finance, Luis leads vision, Mia is in vision and speech, Omar in none.
The cluster is the demo's API server; the worker is called where one would run.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from accounting.access.models.people import OrganizationRole, Person
from accounting.access.models.teams import Team
from accounting.kit.models.audit import AuditLink
from scheduler_view.changes.actions import due_work
from scheduler_view.changes.models import ChangeSet
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.models import QuotaTarget
from tests.integration.changes.office import Office, quota, tier
from tests.integration.conftest import SignIn
from tests.integration.quotas.desk import GPUS
from tests.page_html import html_of

REASON = "Half of it is idle since the re-index ended. OPS-4812"
RESOURCE = "nvidia.com/gpu"


def edited(page: Any, **gpus: int | str) -> dict[str, Any]:
    """What a browser sends once the inputs of some teams hold other values."""
    names = re.findall(r'name="(q\|[^"]+)" value="(\d+)"', html_of(page))
    fields = dict(names)
    assert fields, "no inputs"
    for name in fields:
        team = name.split("|")[1]
        if team in gpus:
            fields[name] = str(gpus[team])
    return {"cluster": "north", "reason": REASON, **fields}


def propose(client: Client, **gpus: int | str) -> ChangeSet:
    """Edits of the quotas page become a change set."""
    answer = client.post("/quotas/change", edited(client.get("/quotas"), **gpus))
    assert answer.status_code == 302, answer.content.decode()[:2000]
    return ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])


def act(client: Client, change: ChangeSet, verb: str, **more: str) -> Any:
    """Press a button of the change's page."""
    change.refresh_from_db()
    answer = client.post(
        f"/changes/{change.pk}/{verb}", {"version": change.version, **more}, follow=True
    )
    change.refresh_from_db()
    return answer


def text(answer: Any) -> str:
    """A page without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_two_edits_are_planned_reviewed_applied_and_undone(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16, search=20)
    assert [edit["gpus"] for edit in change.edits] == [20, 16]
    assert "Planning" in text(ana.get(f"/changes/{change.pk}"))

    desk.work()
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "1 quota raised, 1 quota lowered: 2 objects changed" in page
    assert "requests.nvidia.com/gpu 24 16" in page
    assert "Running pods are not stopped" in page
    assert "Apply 2 changes" in page
    assert desk.hard("vision-prod") == {f"requests.{RESOURCE}": "24"}

    act(ana, change, "apply")
    desk.work()
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "2 applied" in page
    assert desk.hard("vision-prod") == {f"requests.{RESOURCE}": "16"}
    assert desk.hard("search-prod") == {f"requests.{RESOURCE}": "20"}

    led = act(ana, change, "undo", reason="It was a slip of the hand.")
    undo = ChangeSet.objects.get(undoes=change)
    assert led.redirect_chain[-1][0] == f"/changes/{undo.pk}"
    desk.work()
    act(ana, undo, "apply")
    desk.work()
    assert desk.hard("vision-prod") == {f"requests.{RESOURCE}": "24"}
    assert "restores the previous state" in text(ana.get(f"/changes/{change.pk}"))


def test_what_stays_is_no_edit(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    answer = ana.post("/quotas/change", edited(ana.get("/quotas")))
    assert answer.status_code == 422
    assert "No changes." in text(answer)
    assert ChangeSet.objects.count() == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("2.5", "Vision, GPUs: 2.5 is a fraction; quotas count full GPUs"),
        ("-3", "Vision, GPUs: -3 is negative"),
        (
            "many",
            "Vision, GPUs: &#x27;many&#x27; is not a number; use a number such as 8.",
        ),
        ("", "Vision, GPUs: the number is missing; use a number such as 8."),
    ],
)
def test_a_wrong_number_is_named_and_kept(
    desk: Office, sign_in: SignIn, typed: str, said: str
) -> None:
    ana = sign_in("ana")
    answer = ana.post("/quotas/change", edited(ana.get("/quotas"), vision=typed))
    assert answer.status_code == 422
    assert said in text(answer)
    if typed:
        assert f'value="{typed}"' in html_of(answer)
    assert REASON in html_of(answer)
    assert ChangeSet.objects.count() == 1


def test_a_reason_is_asked_for(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    fields = edited(ana.get("/quotas"), vision=8) | {"reason": "short"}
    answer = ana.post("/quotas/change", fields)
    assert answer.status_code == 422
    assert "at least 10 characters" in text(answer)


def test_an_edit_from_an_old_page_is_refused(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    old = edited(ana.get("/quotas"), vision=8)
    desk.applied(quota(40))
    answer = ana.post("/quotas/change", old)
    assert answer.status_code == 422
    assert "Reload the page" in text(answer)
    assert QuotaTarget.objects.get(team__slug="vision").gpus == 40


def test_a_quota_is_added_and_removed(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    row = QuotaTarget.objects.get(team__slug="language")
    fields = {
        "cluster": "north",
        "reason": REASON,
        f"r|language|{RESOURCE}||{row.version}|{row.gpus}": "yes",
        "new-team": "speech",
        "new-resource": RESOURCE,
        "new-tier": "",
        "new-gpus": "10",
    }
    answer = ana.post("/quotas/change", fields)
    change = ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])
    desk.work()
    act(ana, change, "apply")
    desk.work()
    assert desk.hard("speech-prod") == {f"requests.{RESOURCE}": "10"}
    assert not desk.has_quota("language-prod")


def test_a_conflict_is_shown_in_the_servers_words_and_can_be_ticked(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    desk.world.admin.edit(
        "/api/v1/namespaces/vision-prod/resourcequotas/gpu-ledger",
        {"spec": {"hard": {f"requests.{RESOURCE}": "22"}}},
    )
    change = propose(ana, vision=16)
    desk.work()
    page = ana.get(f"/changes/{change.pk}")
    assert "Cannot be applied" in text(page)
    assert "409:" in text(page)
    assert "Apply 1" not in text(page)
    assert "Copy patch for Git" in text(page)
    refused = act(ana, change, "apply")
    assert "cannot be changed" in text(refused)
    act(ana, change, "force", force="ResourceQuota vision-prod/gpu-ledger")
    desk.work()
    assert "Taken over" in text(ana.get(f"/changes/{change.pk}"))
    act(ana, change, "apply")
    desk.work()
    assert desk.hard("vision-prod") == {f"requests.{RESOURCE}": "16"}


def test_a_plan_that_grew_old_says_so(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16)
    desk.work()
    ChangeSet.objects.filter(pk=change.pk).update(
        plan_expires_at=desk.now() - timedelta(seconds=1)
    )
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "valid until" in text(act(ana, change, "apply"))
    due_work.expire(desk.cluster.pk, desk.now())
    noticed = text(ana.get(f"/changes/{change.pk}"))
    for one in (page, noticed):
        assert "Plan expired" in one
        assert "The plan was valid until" in one
        assert "The plan has expired. Plan again" in one
        assert "Apply 1" not in one
        assert "Available after the review" not in one
    assert desk.hard("vision-prod") == {f"requests.{RESOURCE}": "24"}


def test_a_cluster_that_changed_refuses_the_plan_and_the_rest_can_be_planned(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16, search=20)
    desk.work()
    desk.world.admin.edit(
        "/api/v1/namespaces/vision-prod/resourcequotas/gpu-ledger",
        {"spec": {"hard": {"pods": "50"}}},
    )
    act(ana, change, "apply")
    desk.work()
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "1 applied, 1 refused" in page
    assert "since this plan" in page
    assert "Plan remaining objects" in page


def test_a_cluster_that_is_away_is_named(
    desk: Office, sign_in: SignIn, tmp_path: Path
) -> None:
    away = tmp_path / "token"
    settings = {"server": "http://127.0.0.1:9", "token_file": str(away)}
    desk.cluster.kubernetes = {"reader": settings, "pusher": settings, "timeout_s": 1}
    desk.cluster.save(update_fields=["kubernetes"])
    ana = sign_in("ana")
    change = propose(ana, vision=16)
    desk.work()
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "north cannot be read" in page
    assert "Planning failed" in page
    assert "Plan again" in page


def test_two_clicks_apply_once(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16)
    desk.work()
    change.refresh_from_db()
    version = change.version
    first = ana.post(f"/changes/{change.pk}/apply", {"version": version}, follow=True)
    second = ana.post(f"/changes/{change.pk}/apply", {"version": version}, follow=True)
    assert "was changed since you read it" not in text(first)
    assert "was changed since you read it" in text(second)


def test_above_the_limit_another_admin_approves(desk: Office, sign_in: SignIn) -> None:
    desk.cluster.kubernetes = desk.cluster.kubernetes | {"second_approver_above": 4}
    desk.cluster.save(update_fields=["kubernetes"])
    fin = get_user_model().objects.get(username="fin")
    Person.objects.filter(user=fin).update(role=OrganizationRole.ADMIN)
    ana, other = sign_in("ana"), sign_in("fin")
    change = propose(ana, vision=16)
    desk.work()
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "an administrator other than ana must approve it" in page
    assert "Apply 1" not in page
    assert "another administrator must approve it" in text(act(ana, change, "approve"))
    act(other, change, "approve")
    assert change.approved_by == "fin"
    act(ana, change, "apply")
    desk.work()
    assert desk.hard("vision-prod") == {f"requests.{RESOURCE}": "16"}


def test_the_page_asks_again_only_while_something_moves(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16)
    page = html_of(ana.get(f"/changes/{change.pk}"))
    found = re.search(r'hx-get="([^"]+)"', page[page.index('id="change"') :])
    assert found
    address = found.group(1)
    fragment = {"HX-Request": "true"}
    assert ana.get(address, headers=fragment).status_code == 204
    desk.work()
    answer = ana.get(address, headers=fragment)
    assert answer.status_code == 200
    assert "<html" not in html_of(answer)
    assert "hx-get" not in html_of(answer)


def test_a_lead_asks_and_an_admin_decides(desk: Office, sign_in: SignIn) -> None:
    luis, ana = sign_in("luis"), sign_in("ana")
    assert "Request change" in text(luis.get("/teams/vision/quota"))
    fields = {"what": f"north|{RESOURCE}|", "gpus": "32", "reason": REASON}
    answer = luis.post("/teams/vision/quota", fields)
    change = ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])
    assert (change.state, change.plan_wanted_at) == ("draft", None)
    page = text(luis.get(f"/changes/{change.pk}"))
    assert "An administrator plans the change and decides" in page
    for verb in ("plan", "approve", "apply", "undo", "again", "force"):
        assert luis.post(f"/changes/{change.pk}/{verb}").status_code == 403
    act(ana, change, "plan")
    desk.work()
    assert "Apply 1 change" in text(ana.get(f"/changes/{change.pk}"))
    assert "Apply 1 change" not in text(luis.get(f"/changes/{change.pk}"))


def test_a_lead_asks_for_no_other_team(desk: Office, sign_in: SignIn) -> None:
    fields = {"what": f"north|{RESOURCE}|", "gpus": "32", "reason": REASON}
    assert sign_in("luis").post("/teams/search/quota", fields).status_code == 404
    assert sign_in("mia").post("/teams/vision/quota", fields).status_code == 403
    wrong = fields | {"new-team": "search"}  # nothing of a page says whose quota it is
    sign_in("luis").post("/teams/vision/quota", wrong)
    assert [edit["team"] for edit in ChangeSet.objects.latest("pk").edits] == ["vision"]
    assert ChangeSet.objects.count() == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"gpus": ""}, "Enter a number, for example 32."),
        (
            {"gpus": "2.5"},
            "2.5 is not a whole number. Enter a number such as 32.",
        ),
        ({"gpus": "many"}, "many is not a whole number."),
        ({"gpus": "24"}, "The quota is already 24. Enter a different number."),
        ({"what": ""}, "Choose a resource."),
        (
            {"what": "north|cpu|"},
            "This resource is not available. Select one from the list.",
        ),
        ({"reason": "short"}, "at least 10 characters"),
        ({"ends_at": "2020-01-01T10:00"}, "Ends: is in the past"),
    ],
)
def test_a_request_says_what_to_mend_beside_the_field(
    desk: Office, sign_in: SignIn, wrong: dict[str, str], said: str
) -> None:
    del desk
    fields = {"what": f"north|{RESOURCE}|", "gpus": "32", "reason": REASON}
    answer = sign_in("luis").post("/teams/vision/quota", fields | wrong)
    assert answer.status_code == 422
    page = text(answer)
    assert said in page
    shown = page[page.index("Request change An administrator") :]
    for machine in ("nvidia.com/gpu, gpus", "is no quantity", "edit 1"):
        assert machine not in shown
    assert ChangeSet.objects.count() == 1


def test_a_request_shows_the_numbers_of_now_and_comes_second(
    desk: Office, sign_in: SignIn
) -> None:
    desk.applied(quota(8, tier="batch"))
    page = html_of(sign_in("luis").get("/teams/vision/quota"))
    assert (
        f'<option value="north|{RESOURCE}|">GPUs: quota 24, in use 17</option>' in page
    )
    assert f'<option value="north|{RESOURCE}|batch">GPUs, tier batch: quota 8' in page
    assert page.index("Quotas of Vision") < page.index('id="ask"')
    assert page.index('id="ask"') < page.index("Quota history")
    assert 'id="ask"' not in html_of(sign_in("mia").get("/teams/vision/quota"))


def test_admins_are_told_what_waits_for_them(desk: Office, sign_in: SignIn) -> None:
    def badge(name: str) -> str:
        found = re.search(
            r'Quotas<span class="vh">, </span><span\s+class="badge warn count"[^>]*>(\d+)',
            html_of(sign_in(name).get("/quotas")),
        )
        return found.group(1) if found else ""

    fields = {"what": f"north|{RESOURCE}|", "gpus": "32", "reason": REASON}
    assert badge("ana") == ""
    sign_in("luis").post("/teams/vision/quota", fields)
    assert [badge(name) for name in ("ana", "fin", "luis")] == ["1", "", ""]
    page = text(sign_in("ana").get("/changes"))
    assert "Waiting for you 1" in page
    assert "Vision: 24 → 32 GPUs" in page
    assert "Waiting for you 1" not in text(sign_in("fin").get("/changes"))
    change = ChangeSet.objects.latest("pk")
    act(sign_in("ana"), change, "plan")
    desk.work()
    assert badge("ana") == "1"  # planned, and still neither applied nor declined
    act(sign_in("ana"), change, "apply")
    desk.work()
    change.refresh_from_db()
    assert (change.state, badge("ana")) == ("applied", "")


@pytest.mark.parametrize("name", ["fin", "luis", "mia", "omar"])
def test_only_admins_change(desk: Office, sign_in: SignIn, name: str) -> None:
    client = sign_in(name)
    fields = {"cluster": "north", "reason": REASON, "new-team": "vision"}
    assert client.post("/quotas/change", fields).status_code == 403
    assert client.post("/tiers/change", fields).status_code == 403
    number = ChangeSet.objects.get().pk
    wanted = 404 if name == "omar" else 403  # it changes quotas of their teams as well
    for verb in ("plan", "apply", "undo", "discard"):
        assert client.post(f"/changes/{number}/{verb}").status_code == wanted
    assert 'name="q|' not in html_of(client.get("/quotas"))


def test_members_see_their_quotas_and_changes_only(
    desk: Office, sign_in: SignIn
) -> None:
    own = desk.applied(quota(26))
    foreign = desk.applied(quota(13, "search"))
    luis = sign_in("luis")
    page = html_of(luis.get("/quotas"))
    assert "/teams/vision/quota" in page
    assert "/teams/search" not in page
    assert "Committed" not in page
    assert luis.get(f"/changes/{own.pk}").status_code == 200
    assert luis.get(f"/changes/{foreign.pk}").status_code == 404
    listed = html_of(luis.get("/changes"))
    assert f"/changes/{own.pk}" in listed
    assert f"/changes/{foreign.pk}" not in listed


def test_committed_stands_against_capacity(desk: Office, sign_in: SignIn) -> None:
    page = html_of(sign_in("fin").get("/quotas"))
    assert f"{sum(GPUS.values())} committed, 96 there" in page
    assert 'name="q|' not in page


def test_what_differs_in_the_cluster_is_named_and_restored_or_kept(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    page = text(ana.get("/quotas"))  # what is applied is looked at at once
    assert "In sync" in page
    assert "Not compared yet" not in page
    path = "/api/v1/namespaces/vision-prod/resourcequotas/gpu-ledger"
    desk.world.admin.edit(path, {"spec": {"hard": {f"requests.{RESOURCE}": "22"}}})
    observe_once(desk.cluster, now=desk.now)
    page = text(ana.get("/quotas"))
    assert "Differs in cluster" in page
    assert f"requests.{RESOURCE}" in page or f"{RESOURCE} is 22, wanted 24" in page
    fields = {"cluster": "north", "team": "vision", "resource": RESOURCE, "tier": ""}
    for name, status in (("fin", 403), ("luis", 403)):
        answer = sign_in(name).post("/quotas/settle", fields | {"verb": "restore"})
        assert answer.status_code == status
    kept = ana.post("/quotas/settle", fields | {"verb": "adopt"})
    change = ChangeSet.objects.get(pk=kept.headers["Location"].rsplit("/")[-1])
    assert change.edits[0]["gpus"] == 22
    back = ana.post("/quotas/settle", fields | {"verb": "restore"})
    change = ChangeSet.objects.get(pk=back.headers["Location"].rsplit("/")[-1])
    desk.work()
    assert f"requests.{RESOURCE} 22 24" in text(ana.get(f"/changes/{change.pk}"))
    assert ana.post("/quotas/settle", fields | {"verb": "x"}).status_code == 404


def test_a_silent_cluster_is_said_with_the_age_of_what_is_shown(
    desk: Office, sign_in: SignIn, tmp_path: Path
) -> None:
    observe_once(desk.cluster, now=desk.now)
    settings = {"server": "http://127.0.0.1:9", "token_file": str(tmp_path / "token")}
    desk.cluster.kubernetes = {"reader": settings, "pusher": settings, "timeout_s": 1}
    observe_once(desk.cluster, now=desk.now)
    page = text(sign_in("ana").get("/quotas"))
    assert "north could not be read at" in page
    assert "is as of" in page


def test_a_row_is_shown_as_yaml(desk: Office, sign_in: SignIn) -> None:
    page = text(sign_in("mia").get("/quotas/yaml?cluster=north&team=vision"))
    assert "kind: ResourceQuota" in page
    assert "requests.nvidia.com/gpu: &#x27;24&#x27;" in page


def test_yaml_names_a_tier_that_is_not_there(desk: Office, sign_in: SignIn) -> None:
    vision = Team.objects.get(slug="vision")
    QuotaTarget.objects.create(
        cluster=desk.cluster,
        team=vision,
        resource=RESOURCE,
        tier="gone",
        gpus=2,
        split={"vision-prod": 2},
        version=1,
    )
    page = text(sign_in("mia").get("/quotas/yaml?cluster=north&team=vision"))
    assert "No object is sent for quotas of gone: north has no such tier." in page
    assert "requests.nvidia.com/gpu: &#x27;24&#x27;" in page


def test_states_to_filter_by_are_written_as_on_their_badges(sign_in: SignIn) -> None:
    page = text(sign_in("ana").get("/changes"))
    assert "Partly applied" in page
    assert "Partly Applied" not in page


def test_a_team_sees_how_its_quota_was_changed(desk: Office, sign_in: SignIn) -> None:
    change = desk.applied(quota(18))
    page = sign_in("mia").get("/teams/vision/quota")
    assert "24 of nvidia.com/gpu on" in html_of(page)
    assert f'href="/changes/{change.pk}" aria-label="CS-{change.pk}: 18"' in (
        html_of(page)
    )


def test_a_tier_is_changed_by_a_new_class(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    assert "batch-v1" in text(ana.get("/tiers"))
    fields = {
        "cluster": "north",
        "tier": "batch",
        "name": "batch",
        "value": "2000",
        "preempts": "on",
        "is_default": "on",
        "description": "queued training",
        "reason": REASON,
    }
    answer = ana.post("/tiers/change", fields)
    change = ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])
    desk.work()
    assert "PriorityClass batch-v2" in text(ana.get(f"/changes/{change.pk}"))
    act(ana, change, "apply")
    desk.work()
    assert desk.priority_class("batch-v2")["value"] == 2000
    page = text(ana.get("/tiers"))
    assert "earlier: batch-v1" in page


def test_a_wrong_tier_is_named(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    fields = {"cluster": "north", "reason": REASON, "value": "1"}
    answer = ana.post("/tiers/change", fields | {"name": "system-mine"})
    assert answer.status_code == 422
    assert "names starting with system-" in text(answer)
    answer = ana.post("/tiers/change", fields | {"name": "x", "value": "2000000000"})
    assert answer.status_code == 422
    assert ChangeSet.objects.count() == 1


def test_a_set_of_tiers_becomes_one_change(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    change = desk.planned(tier("batch", 1_000, remove=True))
    assert change.state == "planned"
    fields = {
        "cluster": "north",
        "set": "critical-normal-scavenger",
        "reason": REASON,
    }
    assert "scavenger" in text(ana.get("/tiers/change", fields))
    answer = ana.post("/tiers/change", fields)
    made = ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])
    assert [e["name"] for e in made.edits] == ["critical", "normal", "scavenger"]


def test_the_record_names_who_what_and_why(desk: Office, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16)
    desk.work()
    act(ana, change, "apply")
    desk.work()
    with connection.cursor() as cursor:  # the chain is sealed when a transaction ends
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    fin = sign_in("fin")
    page = text(fin.get("/audit?what=quotatarget&actor=ana"))
    assert "gpus: 24 → 16" in page
    assert "OPS-4812" in page
    whole = fin.get("/audit?actor=ana")
    applied = next(one for one in whole.context["groups"] if one.states)
    assert applied.change == change.pk
    assert applied.states.endswith("→ applied")
    assert "Quota of Vision changed" in applied.summary
    assert len(applied.lines) > 3  # folded beneath one row
    assert f"CS-{change.pk} Vision: 24 → 16 GPUs" in text(whole)
    change_lines = text(fin.get("/audit?what=changeset"))
    assert "state: applying → applied" in change_lines
    assert "lease_until" not in change_lines  # a worker's own, in the chain only
    assert AuditLink.objects.filter(body__row__has_key="lease_until").exists()
    nothing = fin.get("/audit?actor=nobody")
    assert "No audit entries match these filters" in text(nothing)
    odd = fin.get("/audit?what=x&first=31.10.&object=one")
    assert "is not a date" in text(odd)
    file = fin.get("/audit?what=quotatarget&csv=audit")
    assert file.headers["Content-Type"].startswith("text/csv")
    assert "OPS-4812" in file.getvalue().decode()


def test_a_reason_is_escaped_and_its_links_work(desk: Office, sign_in: SignIn) -> None:
    reason = "<script>alert(1)</script> see https://wiki.example/a?b=1&c=2 OPS-7"
    ana = sign_in("ana")
    fields = edited(ana.get("/quotas"), vision=8) | {"reason": reason}
    where = ana.post("/quotas/change", fields).headers["Location"]
    page = html_of(ana.get(where))
    assert "<script>alert" not in page
    assert 'href="https://wiki.example/a?b=1&amp;c=2"' in page
    assert '<span class="badge mute">OPS-7</span>' in page


@pytest.mark.parametrize(
    "address",
    [
        "/changes?state=no-such-state",
        "/quotas?cluster=no-such-cluster&q=%01",
        "/quotas/yaml?cluster=no-such-cluster&team=vision",
        "/tiers/change?cluster=no-such-cluster",
        "/audit?actor=%01&what=no-such-kind",
        "/changes?page=99999999999999999999",
        "/changes?team=no-such-team",
    ],
)
def test_odd_addresses_are_answered(sign_in: SignIn, address: str) -> None:
    assert sign_in("ana").get(address).status_code in (200, 404)
