"""Filters, columns and opened rows as a person uses them: by mouse, by keyboard, with Back."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn

WEEK = "/?range=last-7-days"


def chips(page: Page) -> list[str]:
    """The filters in force, as they read."""
    return [
        text.split("\n")[0].split(",")[0].strip()
        for text in page.locator(".filter-chip").all_inner_texts()
    ]


def test_a_name_filters_a_chip_undoes_it_and_back_restores(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    page = visit.open(WEEK)
    name = page.locator("a[data-filter]", has_text=re.compile("^NVIDIA")).first
    model = name.inner_text()
    name.click()
    page.wait_for_url("**model=*")
    assert chips(page) == [f"GPU model is {model}"]
    page.locator(".filter-chip").click()
    page.wait_for_url(lambda url: "model=" not in url)
    assert chips(page) == []
    page.go_back()
    page.wait_for_url("**model=*")
    assert chips(page) == [f"GPU model is {model}"]
    assert visit.complaints == []


def test_escape_clears_filters_only_when_nothing_is_open(sign_in: SignIn) -> None:
    page = sign_in("ana").open(f"{WEEK}&team=vision&lifecycle=on-demand")
    page.locator("summary[aria-label^=Range]").click()
    page.keyboard.press("Escape")
    assert len(chips(page)) == 2
    page.locator(".kpi .fig").first.click()
    expect(page.locator("#drawer")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_be_hidden()
    assert len(chips(page)) == 2
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "team=" not in url)
    assert "range=last-7-days" in page.url


def test_the_menu_filters_by_keyboard(sign_in: SignIn) -> None:
    page = sign_in("ana").open(WEEK)
    page.locator("#filter-menu summary").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Team", exact=True).select_option("speech")
    page.keyboard.press("Tab")
    page.locator("#filter-menu").get_by_role("button", name="Show").press("Enter")
    page.wait_for_url("**team=speech*")
    assert chips(page) == ["Team is Speech"]
    assert "range=last-7-days" in page.url


def test_a_key_of_the_legend_and_a_bar_filter_by_its_team(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    page = visit.open(WEEK)
    page.get_by_role("list", name="Legend").first.get_by_role("link").first.click()
    page.wait_for_url("**team=*")
    of_the_legend = chips(page)
    page = visit.open(WEEK)
    bar = page.locator("#spend .bars .point path").first
    bar.scroll_into_view_if_needed()  # the mouse reaches what is on the screen
    box = bar.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url("**team=*")
    assert chips(page) == of_the_legend  # the largest series stands first in both


def test_filters_follow_to_the_team_and_to_its_numbers(sign_in: SignIn) -> None:
    page = sign_in("ana").open(f"{WEEK}&lifecycle=on-demand")
    teams = page.locator("section[aria-labelledby=teams-title]")
    teams.get_by_role("link", name="Vision", exact=True).click()
    page.wait_for_url("**/teams/vision?*lifecycle=on-demand*")
    shown = page.locator(".kpi .fig").first.inner_text().split(",")[0]
    page.locator(".kpi .fig").first.click()
    expect(page.locator("#drawer")).to_contain_text("Vision · on-demand")
    expect(page.locator("#drawer")).to_contain_text(shown.strip("€"))


def test_columns_go_and_come_back(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/teams")
    head = page.get_by_role("columnheader", name="Coverage")
    expect(head).to_be_visible()
    page.locator("summary", has_text="Columns").click()
    page.locator(".menu-item", has_text="Coverage").click()
    page.wait_for_url("**hide=coverage*")
    expect(head).to_be_hidden()
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("link", name="Show all columns").click()
    page.wait_for_url(lambda url: "hide=" not in url)
    expect(head).to_be_visible()


def test_a_workload_opens_and_closes_by_keyboard(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/teams/vision/workloads?range=last-7-days&by=run")
    row = page.get_by_role("link", name="Pods of sweep-resnet").first
    row.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**open=*sweep-resnet*")
    pods = page.get_by_role("table", name="Pods of sweep-resnet")
    expect(pods).to_be_visible()
    expect(row).to_have_attribute("aria-expanded", "true")
    row.focus()
    page.keyboard.press("Enter")
    expect(pods).to_be_hidden()


def test_paper_has_its_own_palette_and_width(sign_in: SignIn) -> None:
    page = sign_in("ana", theme="dark").open("/?range=last-7-days&cmp=off")
    ground = "getComputedStyle(document.querySelector('#spend .bg')).fill"
    surface = "document.querySelector('#spend .main-svg').style.background"
    dark = page.evaluate(surface)
    assert "18, 23, 29" in dark or "12171d" in dark.lower(), (dark, ground)
    page.emulate_media(media="print")
    page.wait_for_function(
        "() => document.querySelector('#spend .main-svg').style.background"
        ".includes('255, 255, 255')"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    page.emulate_media(media="screen")
    page.wait_for_function(
        "before => document.querySelector('#spend .main-svg').style.background"
        " === before",
        arg=dark,
    )


def test_the_sheet_of_a_phone_closes_beside_it(sign_in: SignIn) -> None:
    page = sign_in("ana", width=390).open("/teams")
    page.get_by_role("button", name="Menu").click()
    expect(page.locator("#nav")).to_be_visible()
    page.mouse.click(380, 500)
    expect(page.locator("#nav")).to_be_hidden()
