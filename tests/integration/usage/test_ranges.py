"""The range of a page: typed, picked, stepped, and always one in its address.

Covers what a page does with words; which words mean what: `test_typed_range.py`.
"""

from collections.abc import Iterator
from datetime import timedelta
from html import escape

import pytest
import time_machine

from accounting.kit.tags import units
from accounting.metering.models.cluster import Source
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of

LATER = NOW + timedelta(days=10)


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("words=october", "/teams?from=2026-10-01&to=2026-11-01"),
        ("words=last+week", "/teams?range=last-week"),
        ("words=last+3+weeks", "/teams?from=2026-10-31&to=2026-11-21"),
        ("first=2026-11-02&last=2026-11-04", "/teams?from=2026-11-02&to=2026-11-05"),
        ("first=2026-11-02&last=", "/teams?from=2026-11-02&to=2026-11-03"),
        # one form was sent from a page that had a range already
        (
            "words=Q3&first=2026-11-01&last=2026-11-20&range=today&page=3",
            "/teams?from=2026-07-01&to=2026-10-01",
        ),
        (
            "sort=team&team=vision&words=week+46",
            "/teams?sort=team&team=vision&from=2026-11-09&to=2026-11-16",
        ),
    ],
)
def test_what_is_typed_or_picked_becomes_one_range(
    sign_in: SignIn, typed: str, address: str
) -> None:
    answer = sign_in("ana").get(f"/teams?{typed}")
    assert (answer.status_code, answer.headers["Location"]) == (302, address)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("words=soon", '"soon" is not a range. Try October, Q3,'),
        ("words=3%2F11%2F2026", "may be 2026-11-03 or 2026-03-11"),
        ("words=last+99+years", "a page shows at most 1,830"),
        ("range=never", '"never" is not a valid range.'),
        ("from=2026-13-01&to=2026-11-01", 'The address has from="2026-13-01"'),
        ("from=2026-11-01", 'and to="", which is not a range'),
        ("first=x&last=y", '"x..y" is not a range'),
        ("first=2026-11-05&last=2026-11-01", "is before the first (2026-11-05)"),
        ("words=%3Cscript%3E", '"<script>" is not a range'),
    ],
)
def test_what_is_not_a_range_is_said_in_its_own_words(
    sign_in: SignIn, query: str, said: str
) -> None:
    answer = sign_in("ana").get(f"/teams?{query}")
    assert answer.status_code == 200
    page = html_of(answer)
    assert escape(said) in page
    assert "This is the month to date." in page
    assert answer.context["state"].preset == "month-to-date"


def test_the_failed_text_stays_in_its_field(sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get("/teams?words=next+week&sort=team"))
    field = page[page.index('<input id="range-words"') :].split(">", 1)[0]
    assert 'value="next week"' in field
    assert 'aria-invalid="true"' in field
    assert "from=2026-10-01&amp;to=2026-11-01, or" not in page  # it was not an address


def test_nothing_typed_leaves_the_field_empty(sign_in: SignIn) -> None:
    page = html_of(sign_in("ana").get("/teams?from=x&to=y"))
    field = page[page.index('<input id="range-words"') :].split(">", 1)[0]
    assert 'value=""' in field
    assert "aria-invalid" not in field


@pytest.mark.parametrize(
    ("query", "earlier", "later"),
    [
        # the month to date: October, and nothing after the newest day
        ("", "Oct 2026", ""),
        ("from=2026-11-01&to=2026-11-21", "Oct 2026", ""),
        ("range=this-week", "9\u201315 Nov 2026", ""),
        ("range=last-week", "2\u20138 Nov 2026", "16\u201320 Nov 2026"),
        ("range=last-month", "Sept 2026", "1\u201320 Nov 2026"),
        ("range=quarter-to-date", "1 Jul \u2013 30 Sept 2026", ""),
        ("range=last-7-days", "7\u201313 Nov 2026", ""),
        ("range=yesterday", "18 Nov 2026", "20 Nov 2026"),
        (
            "from=2026-10-20&to=2026-11-13",
            "26 Sept \u2013 19 Oct 2026",
            "13\u201320 Nov 2026",
        ),
        ("from=2026-12-01&to=2027-01-01", "Nov 2026", ""),
    ],
)
def test_earlier_and_later_stay_in_the_calendar(
    sign_in: SignIn, query: str, earlier: str, later: str
) -> None:
    client = sign_in("ana")
    state = client.get(f"/teams?{query}").context["state"]
    assert units.days(client.get(state.back_url).context["state"].days) == earlier
    assert bool(state.forward_url) == bool(later)
    if later:
        after = client.get(state.forward_url).context["state"]
        assert units.days(after.days) == later
        assert after.days.last <= after.today


def test_stepping_back_and_forth_ends_where_it_began(sign_in: SignIn) -> None:
    client = sign_in("ana")
    for address in ("/teams", "/teams?range=this-week", "/teams?range=today"):
        start = client.get(address).context["state"]
        back = client.get(start.back_url).context["state"]
        assert client.get(back.forward_url).context["state"].days == start.days
    assert back.forward_url == "/teams?range=today"


@pytest.mark.parametrize(
    ("query", "later"),
    [
        ("from=2026-10-01&to=2026-11-01", "month-to-date"),
        ("from=2026-10-04&to=2026-11-01", "last-28-days"),
    ],
)
def test_on_the_28th_whole_months_step_to_the_month_to_date(
    sign_in: SignIn, query: str, later: str
) -> None:
    """The last 28 days are the same days then."""
    with time_machine.travel(NOW.replace(day=28), tick=False):
        state = sign_in("ana").get(f"/teams?{query}").context["state"]
    assert state.forward_url == f"/teams?range={later}"


def test_later_is_off_at_the_newest_day_of_files(sign_in: SignIn) -> None:
    """Without a live source the newest day is that of the data, not of the clock."""
    Source.objects.update(kind="openmetrics")
    with time_machine.travel(LATER, tick=False):
        page = sign_in("ana").get("/teams")
    assert units.days(page.context["state"].days) == "1\u201320 Nov 2026"
    assert page.context["state"].forward_url == ""
    assert 'aria-disabled="true">Later' in html_of(page)


def test_calendar_weeks_are_in_the_menu(sign_in: SignIn) -> None:
    state = sign_in("ana").get("/teams?range=this-week").context["state"]
    names = {choice.name: choice.is_current for choice in state.presets}
    assert names["this-week"]
    assert not names["last-week"]
    assert units.days(state.before) == "9\u201313 Nov 2026"  # the same weekdays
