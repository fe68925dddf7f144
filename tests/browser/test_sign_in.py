"""Signing in within a browser: edits that outlive a session, and a link to choose a password."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from playwright.sync_api import Browser, Page, expect
from pytest_django import DjangoDbBlocker

from tests.browser.conftest import SignIn, Visit, wrong_in_both_themes
from tests.integration.commands.conftest import run
from tests.story import PASSWORD, Story

NEW = "another horse battery staple"


@pytest.fixture(scope="module")
def link(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """What the command printed for a new person: the path of a link."""
    del story
    with django_db_blocker.unblock():
        out = run("person", "nina", "--role", "finance").out
        [line] = [line for line in out.splitlines() if line.startswith("http")]
        yield urlsplit(line).path
        get_user_model().objects.filter(username="nina").delete()


def sign_in_again(visit: Visit, name: str) -> None:
    """Fill in the form of the sign-in page."""
    visit.page.get_by_label("User name").fill(name)
    visit.page.get_by_label("Password").fill(PASSWORD)
    visit.page.get_by_role("button", name="Sign in").click()


def edit(page: Page) -> None:
    """A form with a text, a choice and boxes, sent."""
    form = page.locator("form[action='/account/tokens']")
    form.get_by_label("Name").fill("monthly sheet")
    form.get_by_label("Expires after").select_option("180")
    form.get_by_label("read:usage").uncheck()
    form.get_by_label("read:ledger").check()
    form.get_by_role("button", name="Create token").click()


def is_filled_in(page: Page) -> None:
    form = page.locator("form[action='/account/tokens']")
    expect(page.get_by_text("They are restored here")).to_be_visible()
    expect(form.get_by_label("Name")).to_have_value("monthly sheet")
    expect(form.get_by_label("Expires after")).to_have_value("180")
    expect(form.get_by_label("read:usage")).not_to_be_checked()
    expect(form.get_by_label("read:ledger")).to_be_checked()


def test_edits_outlive_a_session_that_ended(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    page = visit.open("/account")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    edit(page)
    page.wait_for_url("**/sign-in**")
    sign_in_again(visit, "ana")
    page.wait_for_url(f"{visit.address}/account")
    is_filled_in(page)
    expect(page.get_by_text("Your new token")).to_have_count(0)
    visit.open("/account")  # once, not at each visit
    expect(page.get_by_text("They are restored here")).to_have_count(0)


def test_edits_outlive_a_sign_in_elsewhere(sign_in: SignIn) -> None:
    """Another tab signed out and in: the form's token is no longer the browser's."""
    visit = sign_in("ana")
    page = visit.open("/account")
    page.context.clear_cookies()
    edit(page)
    expect(page.get_by_role("heading", name="The form has expired")).to_be_visible()
    page.get_by_role("link", name="Back to the form").click()
    page.wait_for_url("**/sign-in**")
    sign_in_again(visit, "ana")
    page.wait_for_url(f"{visit.address}/account")
    is_filled_in(page)


def test_what_was_saved_is_not_filled_in_again(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/account")
    page.get_by_label("Time zone of labels").fill("Europe/Paris")
    page.get_by_role("button", name="Save time zone").click()
    expect(page.get_by_text("Labels use this time zone")).to_be_visible()
    expect(page.get_by_text("They are restored here")).to_have_count(0)
    page.get_by_label("Time zone of labels").fill("")
    with page.expect_navigation():  # a page that closes while it is left may never end
        page.get_by_role("button", name="Save time zone").click()


def test_a_link_leads_to_a_password_and_in(
    browser: Browser,
    address: str,
    violations: Callable[..., list[str]],
    link: str,
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address + link)
    assert wrong_in_both_themes(page, violations) == []
    page.get_by_label("New password", exact=True).fill("12345678")
    page.get_by_label("New password again").fill("12345678")
    page.get_by_role("button", name="Save password").click()
    expect(page.get_by_text("too common")).to_be_visible()
    assert wrong_in_both_themes(page, violations) == []
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password again").fill(NEW)
    page.get_by_role("button", name="Save password").click()
    page.wait_for_url(f"{address}/")
    page.goto(address + link)
    expect(page.get_by_role("heading", name="This link is not valid")).to_be_visible()
    context.close()
