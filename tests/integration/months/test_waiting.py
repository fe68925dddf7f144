"""What waits for a person is counted where it is done, on every page (money.md M27, M30, M34).

Covers reopenings, overrides and contests, for each role; change sets: `test_quota_pages.py`.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from accounting.access.models.teams import Team
from accounting.months.actions.periods import confirm_reopening, request_reopening
from accounting.months.models.close import CloseOverride, ReopenRequest
from accounting.months.models.contest import Contest
from accounting.months.tasks.close import close_period
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

REASON = "A credit of the provider came late."
CAST = ("omar", "mia", "luis", "fin", "ana")


@pytest.fixture(autouse=True)
def right_after_the_story(story: Story, db: None) -> Iterator[None]:
    """The process clock does not move."""
    del story, db
    with time_machine.travel(NOW, tick=False):
        yield


def user(name: str) -> User:
    """A person of the cast."""
    return get_user_model().objects.get(username=name)


def told(sign_in: SignIn, entry: str) -> dict[str, str]:
    """Who is told at an entry of the navigation, and what; of a page that is about neither."""
    found = {}
    for name in CAST:
        html = html_of(sign_in(name).get("/account"))
        for link in re.findall(r'<a\s+class="nav-link".*?</a>', html, re.DOTALL):
            text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", link)).strip()
            if text.startswith(f"{entry},"):
                found[name] = text
    return found


def tab_of(sign_in: SignIn, name: str, path: str, tab: str) -> str:
    """What a tab says to a person."""
    html = html_of(sign_in(name).get(path))
    for inner in re.findall(r'<a class="tab" [^>]*>(.*?)</a>', html):
        text = re.sub(r"<[^>]+>", "", inner).strip()
        if text.partition(",")[0] == tab:
            return text
    raise AssertionError(f"no tab {tab}")


def text_of(sign_in: SignIn, name: str, path: str) -> str:
    """A page without tags."""
    html = html_of(sign_in(name).get(path))
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_reopening_waits_for_every_other_person_of_finance(sign_in: SignIn) -> None:
    close_period("2026-10")
    assert told(sign_in, "Billing") == {}
    asked = request_reopening("2026-10", REASON, user("fin"))
    assert told(sign_in, "Billing") == {"ana": "Billing, 1 waits for you"}
    assert tab_of(sign_in, "ana", "/bills", "Months") == "Months, 1 waits for you"
    assert tab_of(sign_in, "ana", "/bills", "Contests") == "Contests"
    assert told(sign_in, "Overview")["ana"] == "Overview, 3 wait for you"
    page = text_of(sign_in, "ana", "/months")
    assert "Waiting for you 1" in page
    assert "Open October 2026 again fin asks since" in page
    assert REASON in page
    page = html_of(sign_in("ana").get("/account"))
    assert "Menu, 3 wait for you" in page  # and a namespace and a model of the story
    assert "Waiting for you 1" not in text_of(sign_in, "fin", "/months")
    confirm_reopening(asked.pk, user("ana"))
    assert told(sign_in, "Billing") == {
        "fin": "Billing, 1 waits for you",
        "ana": "Billing, 1 waits for you",
    }, "it is to be closed again"


def test_a_request_that_has_lapsed_or_is_of_an_earlier_revision_waits_for_nobody(
    sign_in: SignIn,
) -> None:
    close_period("2026-10")
    asked = request_reopening("2026-10", REASON, user("fin"))
    ReopenRequest.objects.filter(pk=asked.pk).update(
        requested_at=NOW - timedelta(hours=24)
    )
    assert told(sign_in, "Billing") == {}
    ReopenRequest.objects.filter(pk=asked.pk).update(requested_at=NOW, revision=2)
    assert told(sign_in, "Billing") == {}


def test_overrides_wait_until_the_month_is_closed(sign_in: SignIn) -> None:
    for code, name in (("unpriced", "fin"), ("unpriced", "fin"), ("dark", "ana")):
        CloseOverride.objects.create(
            period="2026-10",
            revision=1,
            code=code,
            seen={},
            reason=REASON,
            requested_by=user(name),
            requested_at=NOW,
        )
    assert told(sign_in, "Billing") == {
        "fin": "Billing, 1 waits for you",
        "ana": "Billing, 1 waits for you",
    }
    page = text_of(sign_in, "ana", "/months")
    assert "Close October 2026 despite the check Prices fin asks" in page
    assert "Dark time" not in page.split("Next to close:")[0].split("Waiting for")[1]
    close_period("2026-10")
    assert told(sign_in, "Billing") == {}


def test_an_open_contest_waits_for_finance_and_an_answered_one_for_the_lead(
    sign_in: SignIn,
) -> None:
    for slug in ("vision", "search"):
        contest = Contest.objects.create(
            team=Team.objects.get(slug=slug),
            period="2026-10",
            revision=1,
            of="statement",
            title="The whole statement",
            currency="EUR",
        )
    assert told(sign_in, "Billing") == {
        "fin": "Billing, 2 wait for you",
        "ana": "Billing, 2 wait for you",
    }
    Contest.objects.update(state="answered")
    assert told(sign_in, "Billing") == {"luis": "Billing, 1 waits for you"}
    Contest.objects.exclude(pk=contest.pk).update(state="accepted")
    assert told(sign_in, "Billing") == {}
