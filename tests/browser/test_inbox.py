"""What waits for a person, in the browser: both themes, a phone, and without scripts."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django import DjangoDbBlocker

from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.models import Drift
from tests.browser.conftest import SignIn, turn_dark
from tests.browser.forget import forget, forget_contests, forget_months
from tests.inbox_rows import CONTEST, OVERRIDE, decisions
from tests.story import Story

PHONE = 320
WIDTH_OF_PAGE = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module", autouse=True)
def waiting(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """What waits, with the name of the change set."""
    with django_db_blocker.unblock():
        forget(Drift)  # which other modules have left
        yield decisions(story, timezone.now())
        forget(ChangeSet, Drift)
        forget_contests()
        forget_months()
    connection.close()


def test_an_administrator_comes_from_the_overview_to_what_is_to_do(
    sign_in: SignIn, waiting: str, violations: Callable[..., list[str]]
) -> None:
    page = sign_in("ana").open("/")
    card = page.get_by_role("region", name="Waiting for you")
    expect(card.locator(".what", has_text=OVERRIDE)).to_be_visible()
    assert violations(page) == []
    card.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Waiting for you")
    for what in (OVERRIDE, waiting, CONTEST):
        expect(page.locator(".what", has_text=what)).to_be_visible()
    assert violations(page) == []
    turn_dark(page)
    assert violations(page) == []
    size = page.viewport_size
    assert size
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
    page.set_viewport_size(size)
    page.get_by_role("link", name=f"Review {waiting}").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Vision")
