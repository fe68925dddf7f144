"""The frame: every entry of the navigation in sight, the height of short pages, signs on axes."""

import json

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import SignIn

HIDDEN = """() => {
    const foot = document.querySelector(".nav-foot").getBoundingClientRect().top;
    return [...document.querySelectorAll(".nav-link")]
        .filter(link => link.getBoundingClientRect().bottom > foot)
        .map(link => link.textContent.trim());
}"""
NOTICE = """document.querySelector(".frame").insertAdjacentHTML(
    "beforebegin", '<aside class="banner">Demo data: a simulated cluster.</aside>')"""


def test_all_entries_of_an_administrator_are_above_the_foot(sign_in: SignIn) -> None:
    page = sign_in("ana", is_kept=True).open("/attribution")
    page.set_viewport_size({"width": 1440, "height": 900})
    assert page.locator(".nav-link").count() >= 21
    assert page.evaluate(HIDDEN) == []
    page.evaluate(NOTICE)
    assert page.evaluate(HIDDEN) == []


def test_in_a_low_window_the_entries_scroll_to_the_current_one(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    visit.page.set_viewport_size({"width": 1440, "height": 520})
    page = visit.open("/setup")
    hidden = page.evaluate(HIDDEN)
    assert "Setup" not in hidden
    box = page.locator(".nav-items")
    assert box.evaluate("box => box.scrollHeight > box.clientHeight")
    assert box.evaluate("box => box.scrollTop > 0")
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("width", [1440, 360])
def test_a_short_page_does_not_scroll_by_the_notice(
    sign_in: SignIn, width: int
) -> None:
    page = sign_in("ana", is_kept=True).open("/find?q=nothing-like-it")
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(NOTICE)
    assert page.evaluate("document.documentElement.scrollHeight") == 900


def test_a_negative_amount_on_an_axis_has_its_minus_first(sign_in: SignIn) -> None:
    page = sign_in("ana", is_kept=True).open("/?range=last-7-days")
    page.wait_for_selector(".main-svg .ytick")
    assert any(text.startswith("€") for text in ticks(page))
    page.evaluate(
        """() => {
            const script = document.querySelector("script[id$='-figure']");
            const figure = JSON.parse(script.textContent);
            for (const line of figure.data) line.y = line.y.map(() => -40000);
            delete figure.layout.yaxis.rangemode;
            script.textContent = JSON.stringify(figure);
            draw(document.getElementById(script.id.replace("-figure", "")));
        }"""
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.ytick')].some(t => t.textContent.includes('−'))"
    )
    found = [text for text in ticks(page) if "−" in text]
    assert found
    assert all(text.startswith("−€") for text in found), json.dumps(found)


def ticks(page: Page) -> list[str]:
    """The texts of the vertical axis of the first chart."""
    return page.locator(".plot").first.locator(".ytick").all_text_contents()
