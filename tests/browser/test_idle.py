"""Who is idle now, in the browser: a lead comes from the page of the team and asks the owner."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from scheduler_view.idle.models import IdleHold, IdleLook, IdleNote
from scheduler_view.idle.tasks import find_idle
from tests.browser.conftest import SignIn, turn_dark
from tests.browser.forget import forget
from tests.story import Story

PHONE = 320
WIDTH_OF_PAGE = "document.documentElement.scrollWidth"
MARA = "notebook-mara"


@pytest.fixture(scope="module", autouse=True)
def found(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Idle holds of the story."""
    with django_db_blocker.unblock():
        find_idle(story.cluster)
        yield
        forget(IdleNote)
        IdleHold.objects.all().delete()
        IdleLook.objects.all().delete()
    connection.close()


def clean(page: Page, violations: Callable[..., list[str]]) -> None:
    """In the theme that it has, and on a small phone."""
    assert violations(page) == []
    size = page.viewport_size
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
    assert size
    page.set_viewport_size(size)


def test_a_lead_asks_the_owner(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    page = sign_in("luis").open("/teams/vision")
    page.get_by_role("link", name="All idle work").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Idle now")
    assert violations(page) == []
    turn_dark(page)  # and so are the next ones
    clean(page, violations)
    page.get_by_role("link", name=f"Ask about {MARA}").click()
    assert MARA in page.get_by_label("Message").input_value()
    clean(page, violations)
    page.get_by_label("To").fill("mara")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Your message about {MARA} is recorded.")).to_be_visible()
    expect(page.get_by_text("Asked mara").first).to_be_visible()
    clean(page, violations)
    page.get_by_role("link", name=f"Ignore {MARA}").click()
    clean(page, violations)
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Idle now")
