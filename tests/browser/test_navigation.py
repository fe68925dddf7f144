"""The frame: entries and tabs of the navigation in sight, keys, short pages, signs on axes."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

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
    assert page.locator(".nav-link").count() == 9
    assert page.evaluate(HIDDEN) == []
    page.evaluate(NOTICE)
    assert page.evaluate(HIDDEN) == []


def test_in_a_low_window_the_entries_scroll_to_the_current_one(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    visit.page.set_viewport_size({"width": 1440, "height": 360})
    page = visit.open("/setup")
    hidden = page.evaluate(HIDDEN)
    assert "Settings" not in hidden
    box = page.locator(".nav-items")
    assert box.evaluate("box => box.scrollHeight > box.clientHeight")
    assert box.evaluate("box => box.scrollTop > 0")
    assert page.evaluate("scrollY") == 0


TAB_IS_IN_SIGHT = """() => {
    const [tab, row] = [".tab[aria-current]", ".tabs"]
        .map(css => document.querySelector(css).getBoundingClientRect());
    return tab.left >= row.left && tab.right <= row.right + 1;
}"""


@pytest.mark.parametrize("width", [390, 360])
def test_on_a_phone_tabs_scroll_inside_their_row(
    sign_in: SignIn, violations: Callable[..., list[str]], width: int
) -> None:
    visit = sign_in("ana", width=width, is_kept=True)
    page = visit.open("/prices")
    tabs = page.get_by_role("navigation", name="Settings")
    assert tabs.evaluate("row => row.scrollWidth > row.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TAB_IS_IN_SIGHT)
    assert violations(page) == []
    tabs.get_by_role("link", name="Setup").click()
    page.wait_for_url("**/setup")
    assert page.evaluate(TAB_IS_IN_SIGHT)
    assert tabs.evaluate("row => row.scrollLeft > 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("scrollY") == 0


def test_tabs_work_by_keyboard_and_without_scripts(sign_in: SignIn) -> None:
    page = sign_in("ana", scripts=False, width=390).open("/months")
    tabs = page.get_by_role("navigation", name="Billing")
    expect(tabs.get_by_role("link", name="Months")).to_have_attribute(
        "aria-current", "page"
    )
    tabs.get_by_role("link", name="Exports").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/exports")
    expect(page.locator(".top-title .crumbs")).to_have_text("Billing")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("gm", "/months"),
        ("gw", "/waste"),
        ("gs", "/setup"),
        ("gz", "/alerts"),
        ("gj", "/inbox"),
    ],
)
def test_keys_open_a_tab_of_another_entry(
    sign_in: SignIn, keys: str, path: str
) -> None:
    page = sign_in("ana", is_kept=True).open("/attribution")
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_url(f"**{path}")
    page.keyboard.press("?")
    pages = page.locator("#keys .go-to")
    expect(pages.get_by_role("link", name="Months")).to_be_visible()


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
