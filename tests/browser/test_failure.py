"""The page of an error of ours: in the product's own look, with an ID to copy."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.urls import clear_url_caches, set_urlconf
from playwright.sync_api import expect

from tests.browser.conftest import SignIn, turn_dark

GROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture
def failing() -> Iterator[None]:
    """`/fails` fails."""
    before = settings.ROOT_URLCONF
    settings.ROOT_URLCONF = "tests.browser.failing_urls"
    clear_url_caches()
    set_urlconf(None)
    yield
    settings.ROOT_URLCONF = before
    clear_url_caches()
    set_urlconf(None)


@pytest.mark.usefixtures("failing")
def test_the_page_of_a_failure_has_our_look_and_an_id(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    visit = sign_in("ana")
    page = visit.page
    answer = page.goto(visit.address + "/fails?team=vision")
    assert answer is not None
    assert answer.status == 500
    expect(page.get_by_role("heading", level=1)).to_have_text("Something went wrong")
    assert page.evaluate(GROUND) == "rgb(246, 247, 249)"
    assert "Inter" in page.evaluate("getComputedStyle(document.body).fontFamily")
    # the only complaint is that of the browser about the 500 itself
    assert [one for one in visit.complaints if "500" not in one] == []
    shown = page.locator("#request-id").inner_text()
    page.get_by_role("button", name="Copy the request ID").click()
    expect(page.get_by_role("status")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == shown
    assert len(shown) == 36
    again = page.get_by_role("link", name="Try again")
    assert again.get_attribute("href") == "/fails?team=vision"
    assert violations(page) == []
    turn_dark(page)
    assert page.evaluate(GROUND) == "rgb(11, 15, 20)"
    assert violations(page, only_colors=True) == []
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
