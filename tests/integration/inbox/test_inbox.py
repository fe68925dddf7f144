"""What waits for a person: each kind, for whom, in which order, and that a row leaves when done.

Covers the page, REST, the command, the cards and the counts; requests of months and contests in all
their states: `months/test_waiting.py`; who may be the second person: `api/test_joining.py`.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from accounting.access.models.people import Membership, Person
from accounting.access.scope import scope_of
from accounting.core.interval import to_ms
from accounting.kit.inbox import Asker
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DataIssue
from accounting.months.models.close import CloseOverride
from accounting.months.models.contest import Contest, ContestStep
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.periods import next_to_close
from accounting.prices.models.price_draft import DraftState, PriceDraft
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.clusters.models import Drift
from scheduler_view.inbox.reads import KINDS, counts_by_place, done_rows, inbox_rows
from tests.inbox_rows import (
    ANSWERED,
    CHANGE,
    CLOSE,
    CONTEST,
    DRIFT,
    HOUR,
    MODEL,
    NAMESPACE,
    OVERRIDE,
    PRICES,
    REASON,
    change,
    contest,
    every_kind,
    issue,
    settled_month,
    user,
)
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def of_now(story: Story) -> Iterator[None]:
    """The end of the story, without what the story itself leaves to do."""
    with time_machine.travel(NOW, tick=False):
        DataIssue.objects.filter(
            code__in=("unpriced_gpu", "unmapped_namespace")
        ).delete()
        yield


def asker(name: str, at: datetime = NOW) -> Asker:
    person = user(name)
    return Asker(scope_of(person), person.pk, name, at)


def whats(name: str) -> list[str]:
    return [row.what for row in inbox_rows(asker(name))]


def test_each_kind_waits_for_those_who_can_do_it(story: Story, sign_in: SignIn) -> None:
    changes = every_kind(story)
    expected = {
        # the override lapses in 23 hours; then the oldest
        "ana": [OVERRIDE, CLOSE, MODEL, NAMESPACE, changes, DRIFT, PRICES, CONTEST],
        "fin": [CLOSE, CONTEST],
        "luis": [],
    }
    assert {name: whats(name) for name in expected} == expected
    for name, told in expected.items():
        rows = sign_in(name).get("/api/v1/inbox").json()["rows"]
        assert [row["what"] for row in rows] == told
        page = html_of(sign_in(name).get("/inbox"))
        shown = [one for one in told if f'<span class="what">{one}</span>' in page]
        assert shown == told
        assert page.count("btn primary") == min(1, len(told))
        assert ("Nothing waits for you" in page) == (not told)
    assert sign_in("mia").get("/inbox").status_code == 403
    assert sign_in("mia").get("/api/v1/inbox").status_code == 404


def test_every_button_leads_to_a_page_that_opens(story: Story, sign_in: SignIn) -> None:
    every_kind(story)
    ana = sign_in("ana")
    rows = ana.get("/api/v1/inbox").json()["rows"]
    assert len(rows) == len(KINDS)
    for row in rows:
        assert ana.get(row["url"]).status_code == 200, row["what"]
        assert resolve(row["url"].partition("?")[0])


def test_counts_are_those_of_the_rows(story: Story) -> None:
    """In one statement for all kinds, none for people who decide nothing."""
    every_kind(story)
    contest(story, "answered", "fin", "search")
    for name in ("omar", "mia", "luis", "fin", "ana"):
        person = asker(name)
        with CaptureQueriesContext(connection) as asked:
            counts = counts_by_place(person)
        assert len(asked) == (name not in ("omar", "mia")), name
        assert sum(counts.values()) == len(inbox_rows(asker(name))), name
    places = {place: n for place, n in counts_by_place(asker("ana")).items() if n}
    assert places == {
        "changes": 1,
        "quotas": 1,
        "months": 2,
        "contests": 1,
        "prices": 2,
        "attribution": 1,
    }


def test_what_is_done_leaves_and_is_in_the_history(
    story: Story, sign_in: SignIn
) -> None:
    every_kind(story)
    ChangeSet.objects.update(
        state=ChangeState.DECLINED,
        ended_by="ana",
        ended_at=NOW - HOUR,
        ended_reason=REASON,
    )
    Drift.objects.filter(name="gpu-ledger").update(state="in_sync")
    CloseOverride.objects.update(confirmed_by=user("ana"), confirmed_at=NOW)
    PriceDraft.objects.update(
        state=DraftState.SAVED, ended_by=user("ana"), ended_at=NOW - 2 * HOUR
    )
    DataIssue.objects.filter(subject__in=("scratch", "NVIDIA-A10")).update(
        resolved_at=NOW - 3 * HOUR
    )
    PeriodRevision.objects.update(closed_at=NOW - 4 * HOUR, closed_by=user("fin"))
    asked = Contest.objects.get()
    Contest.objects.update(state="answered")
    ContestStep.objects.create(
        contest=asked,
        act="answered",
        text=REASON,
        by=user("fin"),
        at=NOW,
        answer="reason",
    )
    assert whats("ana") == []
    assert whats("luis") == [ANSWERED]
    done = done_rows(scope_of(user("ana")), NOW)
    assert [(row.kind, row.outcome, row.by) for row in done] == [
        ("contest", "Answered", "fin"),
        ("override", "Confirmed", "ana"),
        ("change", "Declined", "ana"),
        ("price-list", "Saved", "ana"),
        ("namespace", "Has a team for all of its time", ""),
        ("model", "Has a price for all of its time", ""),
        ("close", "Closed", "fin"),
    ]
    page = html_of(sign_in("ana").get("/inbox"))
    for row in done:
        assert f'href="{row.url}"' in page
    mine = done_rows(scope_of(user("luis")), NOW)
    assert [(row.kind, row.by) for row in mine] == [
        ("contest", "fin"),
        ("change", "ana"),
    ]
    assert done_rows(scope_of(user("ana")), NOW + timedelta(days=91)) == []


def test_a_request_that_nobody_confirmed_lapses(story: Story) -> None:
    every_kind(story)
    later = NOW + 23 * HOUR
    with time_machine.travel(later, tick=False):
        assert OVERRIDE not in [row.what for row in inbox_rows(asker("ana", later))]
        [lapsed] = [
            row
            for row in done_rows(scope_of(user("ana")), later)
            if row.kind == "override"
        ]
    assert (lapsed.outcome, lapsed.by, lapsed.at) == ("Lapsed", "", later)


def test_a_month_waits_for_its_close_from_72_hours_after_its_end(
    story: Story,
) -> None:
    first = settled_month()
    for hours, expected in ((71, []), (72, [CLOSE])):
        at = first.ends_at + hours * HOUR
        assert [row.what for row in inbox_rows(asker("fin", at))] == expected
        assert inbox_rows(asker("luis", at)) == []
    later = settled_month("2026-11")
    assert whats("fin") == [CLOSE], "November waits for the close of October"
    later.closed_at, later.closed_by = NOW, user("ana")
    later.save()
    assert whats("fin") == [], "the first close skipped October for good"
    settled_month("2026-12")
    assert whats("fin") == ["Close December 2026"]
    assert next_to_close() == "2026-12"
    later.reopened_at, later.reopen_reason = NOW + HOUR, REASON
    later.reopened_by, later.reopen_confirmed_by = user("fin"), user("ana")
    later.save()
    settled_month("2026-11", revision=2)
    [row] = inbox_rows(asker("fin", NOW + 2 * HOUR))
    assert (row.what, row.since) == ("Close November 2026", NOW + HOUR)
    assert next_to_close() == "2026-11"


def test_the_author_of_a_change_is_not_asked_to_approve_it(story: Story) -> None:
    bea = get_user_model().objects.create_user("bea")
    Person.objects.create(user=bea, role="admin")
    ends = NOW + HOUR
    made = change(
        story, "ana", state="planned", needs_second=True, plan_expires_at=ends
    )
    assert whats("ana") == []
    [row] = inbox_rows(asker("bea"))
    assert (row.what, row.until) == (CHANGE.format(made.pk), ends)
    assert inbox_rows(asker("bea", ends)) == []  # the plan is no longer valid


def test_what_is_over_waits_for_nobody(story: Story) -> None:
    """It has a rule or a price by now, although its earlier time has none; or cannot have one."""
    Cluster.objects.update(data_end_ms=to_ms(NOW))
    issue(story, "unmapped_namespace", "scratch", severity="info")
    issue(story, "unpriced_gpu", "NVIDIA-A10", last_seen=NOW - 15 * HOUR)
    issue(story, "unpriced_gpu", "no model")
    assert whats("ana") == []
    DataIssue.objects.filter(subject="NVIDIA-A10").update(last_seen=NOW - HOUR / 2)
    assert whats("ana") == [MODEL]
    Cluster.objects.update(retired_at=NOW)  # no rule or price from now on ends it
    assert whats("ana") == []
    assert not any(counts_by_place(asker("ana")).values())


def test_a_lead_of_one_team_sees_nothing_of_another(
    story: Story, sign_in: SignIn
) -> None:
    lena = get_user_model().objects.create_user("lena")
    Person.objects.create(user=lena, role="none")
    Membership.objects.create(user=lena, team=story.teams["search"], role="lead")
    Membership.objects.create(user=lena, team=story.teams["vision"], role="viewer")
    every_kind(story)
    contest(story, "answered", "fin")
    assert whats("luis") == [ANSWERED]
    assert whats("lena") == []
    client = sign_in("lena")
    assert "Contest of Vision" not in html_of(client.get("/inbox"))
    assert "inbox-title" not in html_of(client.get("/teams/vision"))
    assert sign_in("luis").get("/api/v1/inbox?team=search").status_code == 404
    assert client.get("/teams/robotics").status_code == 404
    ChangeSet.objects.update(state="declined", ended_by="ana", ended_at=NOW)
    assert done_rows(scope_of(lena), NOW) == []


def test_cards_show_all_of_it_or_what_is_about_the_team(
    story: Story, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    assert "Nothing waits for you." in html_of(ana.get("/"))
    assert "inbox-title" not in html_of(ana.get("/teams/vision"))
    asked = every_kind(story)
    front = html_of(ana.get("/"))
    assert front.count('<span class="what">') == 5
    assert '<a href="/inbox">3 more</a>' in front
    of_team = html_of(ana.get("/teams/vision"))
    for what in (asked, CONTEST):
        assert f'<span class="what">{what}</span>' in of_team
    assert of_team.count('<span class="what">') == 2
    assert "€1,905.25" in of_team
    assert '<span class="what">' not in html_of(ana.get("/teams/search"))
    contest(story, "answered", "fin")
    assert ANSWERED in html_of(sign_in("luis").get("/teams/vision"))


def test_a_command_tells_what_waits_for_any_administrator(story: Story) -> None:
    every_kind(story)
    out = StringIO()
    call_command("report", "inbox", "--format", "json", stdout=out)
    rows = json.loads(out.getvalue())["rows"]
    assert {row["kind"] for row in rows} == {
        *("change", "difference", "override", "contest"),
        *("price-list", "namespace", "model", "close"),
    }
