"""A change set of several teams, read by people of one; names of change sets; declining.

Left out: what an admin does with change sets (`test_quota_pages`).
"""

import csv
import io
from typing import Any

import pytest
from django.db import connection

from accounting.kit.models.audit import AuditLink
from scheduler_view.changes.models import ChangeSet
from tests.integration.changes.office import Office, quota, tier
from tests.integration.conftest import SignIn
from tests.integration.quotas.test_quota_pages import REASON, act, text
from tests.page_html import html_of

NO = "Vision keeps its quota until the new nodes are in."


def ask_of(sign_in: SignIn, name: str, path: str) -> Any:
    """What the API answers to somebody in a browser's session."""
    answer = sign_in(name).get(
        f"/api/v1/{path}", headers={"Accept": "application/json"}
    )
    assert answer.status_code == 200, answer.content
    return answer.json()


def own_part(page: str) -> str:
    """What the page of a change says, without the frame around it."""
    return page[page.index("your teams") : page.index("Keyboard shortcuts Search")]


@pytest.mark.parametrize("name", ["luis", "mia"])
def test_a_shared_change_opens_with_the_own_lines_only(
    desk: Office, sign_in: SignIn, name: str
) -> None:
    del desk
    change = ChangeSet.objects.get()
    answer = sign_in(name).get(f"/changes/{change.pk}")
    assert answer.status_code == 200
    page = own_part(text(answer))
    assert "Vision may hold 24 GPUs" in page
    assert "ResourceQuota vision-prod/gpu-ledger" in page
    assert "1 quota added: 1 object created" in page
    assert "Vision gets a quota of 24 GPUs" in page
    assert "<title>Vision: no quota → 24 GPUs · CS-" in html_of(answer)
    shown = page.replace(f"CS-{change.pk}", "")
    for other in ("earch", "anguage", "urgent", "batch", "OPS-4812", "Committed"):
        assert other not in shown, other
    assert "The reason is shown to administrators and finance" in page


def test_the_api_cuts_a_shared_change_as_the_page_does(
    desk: Office, sign_in: SignIn
) -> None:
    del desk
    number = ChangeSet.objects.get().pk
    whole = ask_of(sign_in, "fin", f"change-sets/{number}")
    assert (len(whole["edits"]), len(whole["steps"]), whole["is_partial"]) == (
        5,
        5,
        False,
    )
    assert whole["title"] == "3 quotas of 3 teams, 2 tiers"
    part = ask_of(sign_in, "luis", f"change-sets/{number}")
    assert part["is_partial"]
    assert [edit["team"] for edit in part["edits"]] == ["vision"]
    assert [step["namespace"] for step in part["steps"]] == ["vision-prod"]
    assert {one["team"] for one in part["effects"]} == {"vision"}
    assert {one["namespace"] for one in part["warnings"]} <= {"vision-prod"}
    assert (part["reason"], part["steps_applied"]) == ("", 1)
    listed = ask_of(sign_in, "luis", "change-sets")["rows"]
    assert listed == [{key: part[key] for key in listed[0]}]
    for other in ("search", "language", "urgent", "OPS-4812"):
        assert other not in str(part)
    mine = sign_in("luis").get("/changes?csv=changes")
    (row,) = csv.DictReader(io.StringIO(mine.content.decode()))
    assert (row["title"], row["reason"]) == ("Vision: no quota → 24 GPUs", "")


def test_people_of_no_team_in_it_find_nothing(desk: Office, sign_in: SignIn) -> None:
    change = desk.applied(quota(13, "search"))
    for name in ("luis", "mia", "omar"):
        client = sign_in(name)
        assert client.get(f"/changes/{change.pk}").status_code == 404
        assert client.get(f"/api/v1/change-sets/{change.pk}").status_code == 404


def test_quota_page_and_its_links_agree(desk: Office, sign_in: SignIn) -> None:
    """Every change that a lead is shown can be opened, and both cards list the same."""
    desk.applied(quota(18), quota(20, "search"))
    luis = sign_in("luis")
    context = luis.get("/teams/vision/quota").context
    dots = {moment.change for moment in context["moments"]}
    cards = {row.id for row, *_ in context["changes"]}
    assert dots == cards == set(ChangeSet.objects.values_list("pk", flat=True))
    for number in dots | {row.version for row in context["rows"]}:
        assert luis.get(f"/changes/{number}").status_code == 200


def test_an_author_who_left_a_team_changes_nothing_of_it(
    desk: Office, sign_in: SignIn
) -> None:
    made = desk.draft(quota(18), quota(20, "search"))
    ChangeSet.objects.filter(pk=made.pk).update(author_name="luis")
    luis = sign_in("luis")
    page = text(luis.get(f"/changes/{made.pk}"))
    assert "Discard" not in page
    assert "Leave out" not in page
    fields = {"version": made.version, "edit": "0"}
    for verb in ("discard", "leave-out"):
        assert luis.post(f"/changes/{made.pk}/{verb}", fields).status_code == 403


def test_a_title_stays_before_and_after_it_is_applied(
    desk: Office, sign_in: SignIn
) -> None:
    made = desk.draft(quota(30))
    ana = sign_in("ana")

    def titles() -> set[str]:
        page = html_of(ana.get(f"/changes/{made.pk}"))
        heading = page.split("<h1>")[1].split(" <span")[0]
        named = page.split("<title>")[1].split(" · ")[0]
        listed = ask_of(sign_in, "ana", "change-sets")["rows"][0]["title"]
        assert f">{heading}</a>" in html_of(ana.get("/changes"))
        return {heading, named, listed}

    assert titles() == {"Vision: 24 → 30 GPUs"}
    desk.plan(made)
    assert titles() == {"Vision: 24 → 30 GPUs"}
    desk.apply(desk.approve(made))
    assert titles() == {"Vision: 24 → 30 GPUs"}
    act(ana, made, "undo", reason="It was a slip of the hand.")
    undo = ChangeSet.objects.get(undoes=made)
    page = html_of(ana.get(f"/changes/{undo.pk}"))
    assert f"<h1>Undo of CS-{made.pk}: Vision: 30 → 24 GPUs <span" in page
    mixed = desk.draft(quota(None), tier("batch", 2_000))
    row = ask_of(sign_in, "ana", f"change-sets/{mixed.pk}")
    assert row["title"] == (
        "Vision: 30 GPUs → no quota; Tier batch: priority 1,000 → 2,000"
    )


def asked_by_luis(sign_in: SignIn) -> ChangeSet:
    """A lead's request, as the form of his team's page sends it."""
    fields = {"what": "north|nvidia.com/gpu|", "gpus": "32", "reason": REASON}
    answer = sign_in("luis").post("/teams/vision/quota", fields)
    assert answer.status_code == 302, answer.content.decode()
    return ChangeSet.objects.get(pk=answer.headers["Location"].rsplit("/")[-1])


def test_a_request_is_declined_with_a_reason(desk: Office, sign_in: SignIn) -> None:
    del desk
    change, ana, luis = asked_by_luis(sign_in), sign_in("ana"), sign_in("luis")
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "Decline…" in page
    assert "Discard" not in page
    short = act(ana, change, "decline", reason="no")
    assert "10 to 200 characters" in text(short)
    assert change.state == "draft"
    act(ana, change, "decline", reason=NO)
    assert (change.state, change.ended_by, change.ended_reason) == (
        "declined",
        "ana",
        NO,
    )
    seen = text(luis.get(f"/changes/{change.pk}"))
    assert f"Declined by ana: {NO}" in seen
    assert "Expired" not in seen
    assert f"Declined: {NO}" in text(luis.get("/teams/vision/quota"))
    row = ask_of(sign_in, "luis", f"change-sets/{change.pk}")
    assert (row["state"], row["ended_by"], row["ended_reason"]) == (
        "declined",
        "ana",
        NO,
    )
    assert row["ended_at"]
    with connection.cursor() as cursor:  # the chain is sealed when a transaction ends
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    link = AuditLink.objects.order_by("-id").first()
    assert link is not None
    assert link.body["context"]["reason"] == NO
    assert link.body["context"]["actor"] == "ana"
    late = act(ana, change, "plan")
    assert "is Declined" in text(late)
    assert change.state == "declined"


def test_nobody_declines_their_own_and_nobody_discards_anothers(
    desk: Office, sign_in: SignIn
) -> None:
    change, ana = asked_by_luis(sign_in), sign_in("ana")
    refused = act(ana, change, "discard")
    assert "belongs to another person: decline it" in text(refused)
    assert change.state == "draft"
    act(sign_in("luis"), change, "discard")
    assert (change.state, change.ended_by) == ("discarded", "luis")
    assert "Discarded by luis" in text(ana.get(f"/changes/{change.pk}"))
    own = desk.draft(quota(30))
    page = text(ana.get(f"/changes/{own.pk}"))
    assert "Discard" in page
    assert "Decline…" not in page
    assert "is your own change: discard it" in text(act(ana, own, "decline", reason=NO))
    mine = asked_by_luis(sign_in)
    luis = sign_in("luis")
    assert luis.post(f"/changes/{mine.pk}/decline", {"version": 1}).status_code == 403


def test_the_api_declines_and_discards_alike(desk: Office, sign_in: SignIn) -> None:
    del desk
    change = asked_by_luis(sign_in)
    headers = {"If-Match": f'"{change.version}"', "Accept": "application/json"}

    def post(name: str, verb: str, reason: str = NO) -> Any:
        return sign_in(name).post(
            f"/api/v1/change-sets/{change.pk}/{verb}",
            {"reason": reason},
            content_type="application/json",
            headers=headers,
        )

    assert post("luis", "decline").status_code == 403
    assert post("ana", "discard").status_code == 409
    assert post("ana", "decline", "no").status_code == 400
    done = post("ana", "decline")
    assert (done.status_code, done.json()["state"]) == (200, "declined")
