"""The API reference: nothing from other hosts, no complaint, clean for axe, a way back."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import SignIn, turn_dark

DOCS = "/api/v1/docs"
STILL = """() => document.documentElement.classList.contains('dark-mode')
    && document.getAnimations().every(one => one.playState === 'finished')"""
"""The theme has changed, with Swagger UI's transitions, which do not ask for reduced motion."""
DRAWN = "() => document.querySelectorAll('.opblock-summary').length > 0"
"""Swagger UI draws what is on the screen, from a hundred operations on."""


def opened(visit_page: Page, address: str) -> Page:
    """The reference, once its operations are drawn."""
    visit_page.goto(address + DOCS)
    visit_page.wait_for_function(DRAWN)
    return visit_page


def open_one(page: Page) -> None:
    """An operation that has parameters."""
    page.locator(
        ".opblock-summary-control", has_text="/api/v1/adjustments"
    ).first.click()
    page.wait_for_selector(".opblock.is-open .parameters")


def test_it_is_clean(sign_in: SignIn, violations: Callable[..., list[str]]) -> None:
    visit = sign_in("ana")
    page = opened(visit.page, visit.address)
    assert page.locator("html").get_attribute("lang") == "en"
    assert violations(page) == []
    open_one(page)
    assert violations(page) == []
    turn_dark(page)
    page.wait_for_function(STILL)
    assert violations(page, only_colors=True) == []
    page.locator(".opblock.is-open .opblock-summary-control").click()
    page.wait_for_selector(".opblock.is-open", state="detached")
    assert violations(page, only_colors=True) == []


def test_it_asks_no_other_host_and_keeps_the_policy(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    page = opened(visit.page, visit.address)
    open_one(page)
    assert visit.complaints == []
    others = [url for url in asked if not url.startswith((visit.address, "data:"))]
    assert others == []
    assert asked


def test_there_is_a_way_back(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    page = opened(visit.page, visit.address)
    page.get_by_role("link", name="GPU Ledger").click()
    page.wait_for_url(f"{visit.address}/")


@pytest.mark.parametrize(("theme", "is_dark"), [("light", False), ("dark", True)])
def test_it_follows_the_theme(sign_in: SignIn, theme: str, *, is_dark: bool) -> None:
    visit = sign_in("ana", theme=theme)
    page = opened(visit.page, visit.address)
    found = page.evaluate(
        "() => getComputedStyle(document.querySelector('.swagger-ui .opblock-tag'))"
        ".color.match(/\\d+/g).map(Number)"
    )
    assert (sum(found[:3]) > 384) == is_dark  # light letters on a dark page


def test_anybody_may_read_it(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = opened(context.new_page(), address)
    assert "GPU Ledger" in page.locator("h1").inner_text()
    context.close()


def test_it_fits_a_small_phone(sign_in: SignIn) -> None:
    visit = sign_in("ana", width=320)
    page = opened(visit.page, visit.address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
