"""A contest in the browser: a lead contests a row, finance answers, the lead accepts (M34)."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from playwright.sync_api import expect
from pytest_django import DjangoDbBlocker

from accounting.months.tasks.close import close_period
from tests.browser.conftest import SignIn, turn_dark
from tests.browser.forget import forget_contests, forget_months
from tests.story import Story

PHONE = 320
WIDTH_OF_PAGE = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module", autouse=True)
def october(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """October, closed."""
    del story
    with django_db_blocker.unblock():
        close_period("2026-10")
        yield
        forget_contests()
        forget_months()
    connection.close()


def test_a_contest_is_opened_answered_and_accepted(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    lead, finance = sign_in("luis"), sign_in("fin")
    page = lead.open("/statements/vision/2026-10")
    page.get_by_role("link", name="Contest an amount").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Contest a statement")
    assert violations(page) == []
    turn_dark(page)
    assert violations(page, only_colors=True) == []
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
    page.get_by_label("What do you contest?").select_option(index=1)
    page.get_by_label("Reason").fill("gpu-02 was down on 5 October.")
    page.get_by_role("button", name="Send to finance").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Contest 1")

    other = finance.open("/contests/1")
    other.get_by_role("link", name="Credit to Vision").click()
    other.get_by_label("Amount").fill("120")
    other.get_by_label("Reason").fill("The node was down for a day.")
    other.get_by_role("button", name="Preview").click()
    expect(other.get_by_text("A credit of €120.00: Vision pays less.")).to_be_visible()
    assert violations(other) == []
    turn_dark(other)
    assert violations(other, only_colors=True) == []
    other.set_viewport_size({"width": PHONE, "height": 800})
    assert other.evaluate(WIDTH_OF_PAGE) <= PHONE
    other.get_by_role("link", name="A reason why the amount stays").click()
    other.get_by_label("Reason").fill("The node has samples of that day.")
    other.get_by_role("button", name="Send the answer").click()
    expect(other.get_by_text("Answered", exact=True)).to_be_visible()

    page.reload()
    page.get_by_role("button", name="Accept the answer").click()
    expect(page.get_by_text("Accepted", exact=True)).to_be_visible()
    page = lead.open("/statements/vision/2026-10")
    expect(page.get_by_role("heading", name="Contested")).to_be_visible()
    assert lead.complaints == []
