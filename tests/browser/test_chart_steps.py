"""Bars of charts as they are drawn: wide enough to see, and hours of a single day."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import SignIn

WIDTHS = """id => [...document.querySelectorAll(`#${id} .bars .point path`)]
    .map(bar => bar.getBoundingClientRect()).filter(box => box.height > 0)
    .map(box => box.width)"""


def bars(page: Page, chart: str) -> list[float]:
    """The widths in pixels of the bars that have a height."""
    found: list[float] = page.evaluate(WIDTHS, chart)
    return found


@pytest.mark.parametrize("path", ["/", "/teams/vision"])
@pytest.mark.parametrize("width", [360, 1440])
def test_a_day_is_drawn_as_hours(sign_in: SignIn, path: str, width: int) -> None:
    visit = sign_in("ana", width=width, is_kept=True)
    page = visit.open(f"{path}?range=yesterday")
    shown = bars(page, "spend")
    assert len(shown) >= 24
    assert min(shown) >= 3
    ticks = page.locator("#spend .xtick text").all_text_contents()
    assert len(ticks) == len(set(ticks)) > 3
    assert visit.complaints == []


def test_keys_reach_a_day_with_bars(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/")
    page.keyboard.press("d")
    page.wait_for_url("**range=today")
    page.wait_for_selector("#spend .bars .point path", state="attached")
    assert min(bars(page, "spend")) >= 3


def test_dragging_over_hours_of_a_week_is_some_of_its_days(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/?range=last-week")
    chart = page.locator("#spend")
    chart.scroll_into_view_if_needed()  # the mouse reaches what is on the screen
    box = page.locator("#spend .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 90, steps=8)
    page.mouse.up()
    page.wait_for_url("**from=*")
    assert page.locator("#spend-table tbody tr").count() in {48, 72}
    page.go_back()
    page.wait_for_url("**range=last-week")
