"""Quotas and a tier, edited on their own pages, become one change set."""

import re
from datetime import timedelta

from scheduler_view.changes.models import ChangeSet
from tests.integration.changes.office import Office, quota
from tests.integration.conftest import SignIn
from tests.integration.quotas.test_quota_pages import act, edited, propose, text
from tests.page_html import html_of

TIER = {
    "cluster": "north",
    "tier": "batch",
    "name": "batch",
    "value": "2000",
    "preempts": "on",
    "is_default": "on",
    "description": "queued training",
}
OFFERED = re.compile(r'<option value="(\d*)"( selected)?>([^<]+)</option>')


def offered(answer: object) -> list[tuple[str, bool, str]]:
    """What edits may go into: number, chosen first, words."""
    page = html_of(answer)
    part = page.split('name="into"')[1].split("</select>")[0] if "into" in page else ""
    return [(number, bool(on), words) for number, on, words in OFFERED.findall(part)]


def test_two_quotas_and_a_tier_are_one_change_set(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    form = "/tiers/change?cluster=north&tier=batch"
    assert offered(ana.get("/quotas")) == offered(ana.get(form)) == []
    change = propose(ana, vision=16, search=20)
    desk.work()
    number = str(change.pk)
    expected = [
        (number, True, f"CS-{number} (planned, 2 edits)"),
        ("", False, "A new change set"),
    ]
    assert offered(ana.get("/quotas")) == offered(ana.get(form)) == expected
    answer = ana.post("/tiers/change", TIER | {"into": number})
    assert answer.headers["Location"] == f"/changes/{number}"
    change.refresh_from_db()
    kinds = [edit["kind"] for edit in change.edits]
    assert (kinds, change.state) == (["quota", "quota", "tier"], "draft")
    desk.work()
    page = text(ana.get(f"/changes/{number}"))
    assert "Tier batch has value 2,000" in page
    assert "PriorityClass batch-v2" in page
    act(ana, change, "apply")
    desk.work()
    assert desk.hard("vision-prod") == {"requests.nvidia.com/gpu": "16"}
    assert desk.priority_class("batch-v2")["value"] == 2000
    assert offered(ana.get("/quotas")) == []


def test_a_joined_edit_of_the_same_quota_replaces_the_earlier_in_sight(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16, search=20)
    fields = edited(ana.get("/quotas"), vision=14) | {"into": str(change.pk)}
    del fields["reason"]
    assert ana.post("/quotas/change", fields).status_code == 302
    change.refresh_from_db()
    assert [edit["gpus"] for edit in change.edits] == [20, 14]
    page = text(ana.get(f"/changes/{change.pk}"))
    assert "may hold 14 GPUs instead of 16, requested before" in page
    assert page.count("requested before") == 2  # said, and in the button's own name
    desk.work()
    act(ana, change, "leave-out", edit="1")
    assert [edit["gpus"] for edit in change.edits] == [20]
    assert change.plan_wanted_at is not None
    answer = act(ana, change, "leave-out", edit="0")
    assert "the only edit" in text(answer)
    assert len(change.edits) == 1


def test_what_is_no_longer_open_is_refused_and_the_numbers_are_kept(
    desk: Office, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    change = propose(ana, vision=16)
    fields = edited(ana.get("/quotas"), search=20) | {"into": str(change.pk)}
    desk.work()
    act(ana, change, "apply")
    desk.work()
    change.refresh_from_db()
    assert change.state == "applied"
    answer = ana.post("/quotas/change", fields)
    assert answer.status_code == 422
    page = text(answer)
    assert f"CS-{change.pk} is applied: edits can be added only to drafts" in page
    assert 'value="20"' in html_of(answer)
    refused = ana.post("/tiers/change", TIER | {"into": str(change.pk)})
    assert refused.status_code == 422
    assert "create a new change set" in text(refused)
    assert ChangeSet.objects.count() == 2


def test_only_ones_own_open_changes_of_the_cluster_are_offered(
    desk: Office, sign_in: SignIn
) -> None:
    ana, luis = sign_in("ana"), sign_in("luis")
    others = desk.planned({"kind": "tier", "name": "fast", "value": 9})
    loan = edited(ana.get("/quotas"), vision=30)
    ends = (desk.now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")
    ana.post("/quotas/change", loan | {"ends_at": ends})
    (number, chosen, words), (_, is_new, _) = offered(ana.get("/quotas"))
    assert "with times" in words
    assert (chosen, is_new) == (False, True)  # a loan is joined by choice only
    assert offered(luis.get("/quotas")) == []
    for into, said in (
        (str(others.pk), "is not one of your open changes"),
        ("999999", "is not one of your open changes"),
        (number, "has its own times"),
    ):
        fields = edited(ana.get("/quotas"), search=9) | {"into": into}
        answer = ana.post("/quotas/change", fields | {"ends_at": ends})
        assert answer.status_code == 422
        assert said in text(answer)
    odd = edited(ana.get("/quotas"), search=9) | {"into": "x"}
    assert ana.post("/quotas/change", odd).status_code == 422


def test_another_number_keeps_how_the_quota_is_divided(
    desk: Office, sign_in: SignIn
) -> None:
    weights = {"vision-prod": 3}
    desk.applied(quota(20, "vision", rule="weights", weights=weights))
    change = propose(sign_in("ana"), vision=16, search=9)
    rules = {e["team"]: (e["gpus"], e["rule"], e["weights"]) for e in change.edits}
    assert rules["vision"] == (16, "weights", weights)
    assert rules["search"] == (9, "evenly", {})
