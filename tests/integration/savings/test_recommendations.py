"""Recommendations: savings from stored findings, decisions, measured savings, draft quotas.

Sums are in `tests/unit/savings/test_recommend.py`; who may open what:
`tests/integration/access`. Not over REST: decisions.
"""

import re
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounting.access.models.people import Membership, Person
from accounting.access.reads.billing_settings import billing_remembered, midnight
from accounting.access.scope import EVERYTHING
from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster, NodeFact
from accounting.metering.models.pod import Pod, PodHold, Workload
from scheduler_view.changes.models import ChangeSet
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.savings.models import RecommendationDecision, WasteDay, WasteFinding
from scheduler_view.savings.reads.recommendation_row import RecommendationRow
from scheduler_view.savings.reads.recommendations import recommendation_rows
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.recommend import EFFORTS
from tests.integration.conftest import SignIn
from tests.integration.savings.fleet import HOUR, START, Fleet, make_fleet
from tests.integration.savings.test_pages import text
from tests.page_html import html_of

pytestmark = pytest.mark.django_db
LAST = date(2026, 11, 3)
DAY_MS = 86_400_000


@pytest.fixture
def fleet() -> Fleet:
    """28 measured days; work of vision left 2 GPUs idle on each, at 2.50 an hour."""
    fleet = make_fleet(START + 24 * HOUR)
    work = Workload.objects.create(
        cluster=fleet.cluster, namespace=fleet.namespace, kind="Job", name="sweep"
    )
    for n in range(28):
        day = LAST - timedelta(days=n)
        WasteDay.objects.create(
            cluster=fleet.cluster, day=day, digest=str(n), computed_at=START
        )
        _found(fleet, work, day, gpus=2)
    return fleet


def _found(fleet: Fleet, work: Workload, day: date, gpus: int) -> None:
    WasteFinding.objects.create(
        cluster=fleet.cluster,
        day=day,
        rule="idle",
        team=fleet.teams["vision"],
        workload=work,
        start_ms=0,
        end_ms=DAY_MS,
        gpu_ms=gpus * DAY_MS,
        raw=gpus * DAY_MS * Decimal("2.50"),
        currency="USD",
    )


def person(
    name: str, role: str = "none", team: str = "", fleet: Fleet | None = None
) -> Client:
    """A client of a new person; leads `team`."""
    user = get_user_model().objects.create_user(name)
    Person.objects.create(user=user, role=role)
    if team and fleet:
        Membership.objects.create(user=user, team=fleet.teams[team], role="lead")
    client = Client()
    client.force_login(user)
    return client


def only() -> RecommendationRow:
    """The only recommendation."""
    [row] = recommendation_rows(EVERYTHING, 2)
    return row


def test_a_saving_is_the_range_of_four_weeks(fleet: Fleet) -> None:
    # 2 GPUs x 24 h x 2.50 = 120 a day, 3,600 a month. The newest week has only half.
    WasteFinding.objects.filter(day__gt=LAST - timedelta(days=7)).update(
        gpu_ms=DAY_MS, raw=DAY_MS * Decimal("2.50")
    )
    row = only()
    assert (row.low, row.high) == (Decimal("1800.00"), Decimal("3600.00"))
    assert (row.confidence, row.effort, row.state) == ("high", "small", "open")
    assert row.gpus == Decimal("1.75")
    assert fleet.cluster.name == row.row.cluster


def test_a_lead_decides_with_a_reason_and_others_may_not(fleet: Fleet) -> None:
    lead = person("lena", team="vision", fleet=fleet)
    token = only().token
    lead.post("/recommendations/decide", {"subject": token, "state": "dismissed"})
    assert only().is_open, "a dismissal needs a reason"
    assert "Enter a reason of 10 to 200" in text(lead.get("/recommendations"))
    reason = "The model is loaded for the demo on Friday"
    lead.post(
        "/recommendations/decide",
        {"subject": token, "state": "dismissed", "reason": reason},
    )
    row = only()
    assert (row.state, row.reason, row.owner) == ("dismissed", reason, "lena")
    assert "No recommendation in this state" in text(lead.get("/recommendations"))
    assert reason in text(lead.get("/recommendations?state=dismissed"))
    other = person("otto", team="search", fleet=fleet)
    body = {"subject": token, "state": "accepted"}
    assert other.post("/recommendations/decide", body).status_code == 404
    assert "sweep" not in text(other.get("/recommendations?state=all"))
    finance = person("fay", role="finance")
    assert "sweep" in text(finance.get("/recommendations?state=all"))
    assert finance.post("/recommendations/decide", body).status_code == 404
    lead.post("/recommendations/decide", {"subject": token, "state": "open"})
    assert only().is_open
    assert not RecommendationDecision.objects.exists()


def test_a_saving_is_measured_after_the_decision(fleet: Fleet) -> None:
    # 120 a day before. Accepted 10 days before the last one; since then 1 GPU is idle: 60 a day.
    # Saved: 60 x 30 = 1,800 a month.
    lead = person("lena", team="vision", fleet=fleet)
    lead.post("/recommendations/decide", {"subject": only().token, "state": "accepted"})
    WasteFinding.objects.filter(day__gt=LAST - timedelta(days=10)).update(
        gpu_ms=DAY_MS, raw=DAY_MS * Decimal("2.50")
    )
    RecommendationDecision.objects.update(decided_at=START - timedelta(days=10))
    assert only().saved == Decimal("1800.00")
    assert "Measured: $1,800 a month" in text(lead.get("/recommendations"))
    lead.post("/recommendations/decide", {"subject": only().token, "state": "done"})
    assert RecommendationDecision.objects.get().raw_per_day == 120 * 3_600_000
    RecommendationDecision.objects.update(decided_at=START - timedelta(days=3))
    assert only().saved is None, "three days are too few"


def test_an_administrator_drafts_a_smaller_quota(fleet: Fleet) -> None:
    QuotaTarget.objects.create(
        cluster=fleet.cluster,
        team=fleet.teams["vision"],
        resource="nvidia.com/gpu",
        gpus=8,
        version=5,
    )
    admin = person("ada", role="admin")
    assert "Draft a quota of 6 instead of 8 GPUs" in text(admin.get("/recommendations"))
    answer = admin.post("/recommendations/draft", {"subject": only().token})
    made = ChangeSet.objects.get()
    assert answer.headers["Location"] == f"/changes/{made.pk}"
    assert made.state == "draft"
    [edit] = made.edits
    assert (edit["team"], edit["gpus"], edit["version"]) == ("vision", 6, 5)
    lead = person("lena", team="vision", fleet=fleet)
    assert "Draft a quota" not in text(lead.get("/recommendations"))
    body = {"subject": only().token}
    assert lead.post("/recommendations/draft", body).status_code == 403
    assert ChangeSet.objects.count() == 1


def test_rest_lists_them_for_leads(fleet: Fleet) -> None:
    lead = person("lena", team="vision", fleet=fleet)
    [row] = lead.get("/api/v1/recommendations").json()["rows"]
    assert (row["workload"], row["saving_low"]) == ("sweep", "3600.000000")
    assert row["state"] == "open"


def test_more_recommendations_than_a_page_has(fleet: Fleet) -> None:
    for n in range(60):
        work = Workload.objects.create(
            cluster=fleet.cluster,
            namespace=fleet.namespace,
            kind="Job",
            name=f"s{n}-sweep",
        )
        _found(fleet, work, LAST, gpus=2)
    admin = person("root", "admin")
    first = admin.get("/recommendations?state=all")
    assert first.status_code == 200
    assert "state=all&amp;page=2" in first.content.decode()
    assert admin.get("/recommendations?state=all&page=2").status_code == 200


def run_of(
    fleet: Fleet,
    name: str,
    gpus: int,
    *days: int,
    ended: bool = True,
    kind: str = "Job",
    ended_ms: int = DAY_MS,
) -> None:
    """Work that left GPUs idle on some days before the last, and is over."""
    work = Workload.objects.create(
        cluster=fleet.cluster, namespace=fleet.namespace, kind=kind, name=name
    )
    pod = Pod.objects.create(
        cluster=fleet.cluster,
        uid=name,
        namespace=fleet.namespace,
        name=name,
        workload=work,
    )
    PodHold.objects.create(
        pod=pod,
        node=fleet.node,
        resource="nvidia.com/gpu",
        units=gpus,
        bound_ms=0,
        ended_ms=ended_ms if ended else None,
    )
    for day in days:
        _found(fleet, work, LAST - timedelta(days=day), gpus)


def by_name() -> dict[str, RecommendationRow]:
    return {one.row.workload: one for one in recommendation_rows(EVERYTHING, 2)}


def test_work_that_is_over_has_no_recommendation(fleet: Fleet) -> None:
    run_of(fleet, "once-dpst", 4, 3)
    run_of(fleet, "lasts", 4, 3, ended=False)
    run_of(fleet, "video-bcdfg", 4, 3)
    run_of(fleet, "video-x9kqz", 4, 3)
    run_of(fleet, "stopped-bcdf", 4, 10)
    run_of(fleet, "stopped-x9kq", 4, 17)
    late = to_ms(midnight(LAST - timedelta(days=1)))
    run_of(fleet, "notebook", 4, 3, kind="StatefulSet", ended_ms=late)
    run_of(fleet, "stopped-notebook", 4, 3, kind="StatefulSet", ended_ms=late - 1)
    run_of(fleet, "nightly", 4, 3, kind="CronJob", ended_ms=late - 1)
    run_of(fleet, "old-notebook", 4, 10, kind="StatefulSet")
    assert (
        set(by_name())
        == {
            "sweep",  # its holds are not known
            "lasts",
            "video-bcdfg",  # others like it run again
            "video-x9kqz",
            "notebook",  # it held GPUs on the last two measured days, and was found last week
            "nightly",  # it runs again, and was found last week
        }
    )
    page = text(person("root", "admin").get("/recommendations?state=all"))
    assert "once-dpst" not in page
    assert "old-notebook" not in page
    assert "stopped-notebook" not in page


def test_no_more_is_read_than_recommendations_need(fleet: Fleet) -> None:
    """No finding of a rule without one, no nodes, and holds of work that may have ended."""
    run_of(fleet, "lasts", 4, 3, ended=False)
    node = NodeFact.objects.filter(node=fleet.node).get()
    WasteFinding.objects.filter(day=LAST).update(node=node.node)
    with CaptureQueriesContext(connection) as asked:
        assert set(by_name()) == {"sweep", "lasts"}
    read = [one["sql"] for one in asked.captured_queries]
    assert not [sql for sql in read if "accounting_nodefact" in sql]
    [findings] = [sql for sql in read if "scheduler_view_wastefinding" in sql]
    assert not [rule for rule in set(WasteRule) - EFFORTS.keys() if rule in findings]
    [holds] = [sql for sql in read if "accounting_podhold" in sql]
    assert "max(" not in holds.lower(), "when the last one ended is read of few"


def test_a_month_of_few_days_is_said_to_be_scaled(fleet: Fleet) -> None:
    assert only().measured_days == 28
    root = person("root", "admin")
    assert "Scaled from" not in text(root.get("/recommendations"))
    WasteDay.objects.filter(day__lte=LAST - timedelta(days=4)).delete()
    WasteFinding.objects.filter(day__lte=LAST - timedelta(days=4)).delete()
    assert "Scaled from 4 measured days" in text(root.get("/recommendations"))
    [row] = root.get("/api/v1/recommendations").json()["rows"]
    assert row["measured_days"] == 4


def test_the_chosen_state_is_marked_and_keeps_the_team(fleet: Fleet) -> None:
    root = person("root", "admin")
    found = root.get("/recommendations?state=done&team=vision").content.decode()
    [chosen] = [
        tag
        for tag in re.findall(r"<a[^>]*>", found)
        if "aria-current" in tag and "state=" in tag
    ]
    assert 'class="tool"' in chosen, "which is the class that marks it"
    assert "?state=done&amp;team=vision" in chosen
    assert "?state=all&amp;team=vision" in found
    assert 'href="/recommendations?team=vision"' in found


def test_a_decision_about_work_that_is_over_stays(fleet: Fleet) -> None:
    run_of(fleet, "once-dpst", 4, 3, ended=False)
    lead = person("lena", team="vision", fleet=fleet)
    token = by_name()["once-dpst"].token
    lead.post("/recommendations/decide", {"subject": token, "state": "done"})
    PodHold.objects.update(ended_ms=DAY_MS)
    assert by_name()["once-dpst"].state == "done"


def test_weeks_that_differ_tenfold_claim_no_saving(fleet: Fleet) -> None:
    """sweep: 120 a day in three weeks; in the newest 12 at first, then 11.90."""
    newest = WasteFinding.objects.filter(day__gt=LAST - timedelta(days=7))
    newest.update(raw=2 * DAY_MS * Decimal("0.25"))
    assert only().is_steady
    newest.update(raw=2 * DAY_MS * Decimal("0.248"))
    row = only()
    assert not row.is_steady
    admin = person("root", "admin")
    page = admin.get("/recommendations")
    assert "Not claimed $357 to $3,600 by week" in text(page)
    assert page.context["totals"] == []
    assert "1 row whose weeks differ too much" in text(page)
    [of_rest] = admin.get("/api/v1/recommendations").json()["rows"]
    assert of_rest["is_steady"] is False
    run_of(fleet, "steady", 1, *range(28), ended=False)
    shown = admin.get("/recommendations").context["page"].lines
    assert [one["row"].workload for one in shown] == ["steady", "sweep"]


def test_work_of_one_family_is_one_row_and_decided_together(fleet: Fleet) -> None:
    """Two runs in different weeks: 4 GPUs on a day of a week of seven, 240 / 7 x 30 a month."""
    run_of(fleet, "video-bcdfg", 4, 3)
    run_of(fleet, "video-x9kqz", 4, 10)
    lead = person("lena", team="vision", fleet=fleet)
    answer = lead.get("/recommendations")
    (line,) = [
        one for one in answer.context["page"].lines if "video" in one["row"].workload
    ]
    assert line["family"].name == "video"
    assert line["family"].high == Decimal("1028.57")
    assert "Vision · video · Job in lab, waste 2 runs" in text(answer)
    assert line["family"].saving.found == 2, "weeks of the family, not of one run"
    assert "Medium 2 of 4 weeks, small effort" in text(answer)
    tokens = line["family"].tokens
    assert len(tokens) == 2
    lead.post("/recommendations/decide", {"subject": tokens, "state": "accepted"})
    found = by_name()
    assert {found[n].state for n in ("video-bcdfg", "video-x9kqz")} == {"accepted"}
    assert found["sweep"].is_open
    other = person("otto", team="search", fleet=fleet)
    refused = other.post(
        "/recommendations/decide", {"subject": tokens, "state": "done"}
    )
    assert refused.status_code == 404


def test_the_sentence_sums_what_does_not_overlap(fleet: Fleet) -> None:
    """3,600 of sweep; 60 a day of steady, 1,800; a smaller size may overlap, and is left out."""
    run_of(fleet, "steady", 1, *range(28), ended=False)
    run_of(fleet, "batch", 1, *range(28), ended=False)
    WasteFinding.objects.filter(workload__name="batch").update(rule="right_size")
    admin = person("root", "admin")
    page = admin.get("/recommendations")
    (total,) = page.context["totals"]
    assert total.low.amount == total.high.amount == Decimal(5400)
    assert [line.name for line in total.lines] == ["sweep", "steady"]
    words = text(page)
    assert "2 changes would save $5,400 a month." in words
    assert "The largest is sweep of Vision, up to 66.7% of it." in words
    assert words.count("Not in the sum: may be in another row, too") == 1, "batch"
    assert (
        "1 row whose weeks differ too much, or whose saving may be in another" in words
    )
    admin.post(
        "/recommendations/decide",
        {"subject": total.largest.tokens, "state": "accepted"},
    )
    RecommendationDecision.objects.update(
        decided_at=midnight(LAST - timedelta(days=13)), raw_per_day=3 * DAY_MS * 60
    )
    saved = admin.get("/recommendations").context["saved"]
    row = by_name()["sweep"]
    assert row.saved is not None
    assert [one.amount for one in saved] == [row.saved]
    assert "1 decided change saves" in text(admin.get("/recommendations"))


def test_changes_of_one_team_are_one_click_away(fleet: Fleet) -> None:
    other = Workload.objects.create(
        cluster=fleet.cluster, namespace=fleet.namespace, kind="Job", name="index"
    )
    for n in range(28):
        _found(fleet, other, LAST - timedelta(days=n), gpus=1)
    WasteFinding.objects.filter(workload=other).update(team=fleet.teams["search"])
    admin = person("root", "admin")
    assert admin.get("/recommendations").context["of_teams"] == [
        ("vision", "Vision", 1),
        ("search", "Search", 1),
    ]
    page = admin.get("/recommendations?team=search")
    assert [one["row"].workload for one in page.context["page"].lines] == ["index"]
    assert len(page.context["of_teams"]) == 2, "the way to the others stays"
    lead = person("lena", team="vision", fleet=fleet)
    assert [slug for slug, *_ in lead.get("/recommendations").context["of_teams"]] == [
        "vision"
    ]


def test_small_savings_are_folded_into_one_row(fleet: Fleet) -> None:
    run_of(fleet, "tiny", 1, 3, ended=False)
    WasteFinding.objects.filter(workload__name="tiny").update(
        raw=HOUR // timedelta(milliseconds=1) * Decimal("2.50")
    )  # 2.50 in a week of seven days: 10.71 a month
    admin = person("root", "admin")
    answer = admin.get("/recommendations")
    shown = [one["row"].workload for one in answer.context["page"].lines]
    assert shown == ["sweep"]
    assert "1 more: each saves less than $50" in text(answer)
    every = admin.get("/recommendations?state=all").context["page"].lines
    assert {one["row"].workload for one in every} == {"sweep", "tiny"}


def test_another_cluster_asks_no_more_statements(fleet: Fleet) -> None:
    """Its newest measured day is two weeks earlier, and so are its weeks."""
    with billing_remembered(), CaptureQueriesContext(connection) as of_one:
        before = only()
    other = Cluster.objects.create(name="other")
    for kept in (WasteDay, WasteFinding):
        for one in kept.objects.all():
            one.pk, one.cluster = None, other
            one.day -= timedelta(days=14)
            one.save()
    with billing_remembered(), CaptureQueriesContext(connection) as of_two:
        rows = recommendation_rows(EVERYTHING, 2)
    assert len(of_two) == len(of_one)
    assert {row.row.cluster for row in rows} == {fleet.cluster.name, "other"}
    assert {row.weeks for row in rows} == {before.weeks}


def test_a_decision_leads_back_to_the_list_of_the_team(fleet: Fleet) -> None:
    lead = person("lena", team="vision", fleet=fleet)
    page = html_of(lead.get("/recommendations?team=vision"))
    [action] = re.findall(r'action="(/recommendations/decide[^"]*)"', page)
    given = {"subject": only().token, "state": "accepted"}
    answer = lead.post(action, given)
    assert answer.headers["Location"] == "/recommendations?team=vision"


def test_without_findings_there_is_nothing_to_recommend(sign_in: SignIn) -> None:
    WasteFinding.objects.all().delete()
    assert "Nothing to recommend" in text(sign_in("ana").get("/recommendations"))
