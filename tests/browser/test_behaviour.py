"""What pages do: explain, keys, themes, tables of charts, ranges, menus, forms."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounting.core.billing_calendar import DayRange, months_later
from accounting.kit.tags import units
from tests.browser.conftest import SignIn
from tests.story import ZONE, Story

# How far below its row's top each row's time begins, in pixels.
TOPS_OF_TALL_ROWS = """rows => rows
    .filter(row => row.offsetHeight > 100)
    .map(row => row.querySelector('time').getBoundingClientRect().top
        - row.getBoundingClientRect().top)"""


def colour_of_first_bar(page: Page) -> str:
    """The fill of the first bar of the spend chart, as drawn."""
    return str(
        page.evaluate(
            "getComputedStyle(document.querySelector('#spend .bars .point path')).fill"
        )
    )


def test_a_number_opens_where_it_comes_from(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/")
    figure = page.locator(".kpi .fig").first
    shown = figure.inner_text().split(",")[0]
    figure.click()
    drawer = page.locator("#drawer")
    expect(drawer).to_be_visible()
    expect(drawer).to_contain_text("allocated milliseconds x rate")
    expect(drawer).to_contain_text("Samples used")
    expect(drawer).to_contain_text("Copy PromQL")
    expect(drawer).to_contain_text(shown.strip("€"))
    drawer.get_by_role("button", name="Copy PromQL").first.click()
    assert "DCGM_FI_PROF_GR_ENGINE" in page.evaluate("navigator.clipboard.readText()")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(figure).to_be_focused()


def test_every_money_and_time_cell_of_the_teams_table_is_a_button(
    sign_in: SignIn,
) -> None:
    page = sign_in("ana", is_kept=True).open("/teams")
    row = page.locator("tbody tr[data-href]").first
    assert row.locator("a[data-explain]").count() == 5


def test_the_theme_changes_at_once_and_is_kept(sign_in: SignIn) -> None:
    visit = sign_in("fin")
    page = visit.open("/")
    light = colour_of_first_bar(page)
    with page.expect_response(re.compile("/account/preferences")) as saved:
        page.locator("#nav").get_by_role("button", name="Dark theme").click()
    assert saved.value.status == 204
    page.wait_for_function(
        "before => getComputedStyle(document.querySelector('#spend .bars .point path'))"
        ".fill !== before",
        arg=light,
    )
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1
    visit.open("/teams")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(11, 15, 20)"
    )
    with page.expect_response(re.compile("/account/preferences")) as saved:
        page.locator("#nav").get_by_role("button", name="System theme").click()
    assert saved.value.status == 204  # and the next test finds the theme of before
    assert visit.complaints == []


def test_the_system_theme_is_followed_while_the_page_is_open(sign_in: SignIn) -> None:
    page = sign_in("mia").open("/")
    light = colour_of_first_bar(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "before => getComputedStyle(document.querySelector('#spend .bars .point path'))"
        ".fill !== before",
        arg=light,
    )


def test_a_chart_has_the_same_numbers_as_a_table(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/?range=last-28-days")
    toggle = page.locator("[data-table-for=spend]")
    toggle.click()
    expect(page.locator("#spend")).to_be_hidden()
    table = page.locator("#spend-table")
    expect(table).to_be_visible()
    assert table.locator("tbody tr").count() == 28
    assert toggle.get_attribute("aria-pressed") == "true"
    toggle.click()
    expect(page.locator("#spend")).to_be_visible()
    sentence = page.locator("#spend .plot").get_attribute("aria-label")
    assert sentence
    assert "Highest: " in sentence


def test_the_table_of_a_chart_keeps_its_dates_on_one_line(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/?range=last-28-days")
    page.locator("[data-table-for=spend]").click()
    table = page.locator("#spend-table")
    rows = table.locator("tbody tr")
    heights = {row.bounding_box()["height"] for row in rows.all()[:10]}  # type: ignore[index]
    assert max(heights) <= 34
    box = table.bounding_box()
    assert box is not None
    assert box["height"] / max(heights) >= 8  # rows in sight
    table.evaluate("box => box.scrollTo(200, 200)")
    day = rows.nth(7).locator("th").bounding_box()
    assert day is not None
    assert day["x"] == box["x"]  # names stay while numbers scroll by


@pytest.mark.parametrize("width", [700, 1440])
def test_an_opened_workload_stands_below_the_head_of_the_page(
    sign_in: SignIn, width: int
) -> None:
    key = "vision-prod/Job/sweep-resnet/NVIDIA-A100-SXM4-80GB"
    page = sign_in("ana", width=width).open(f"/teams/vision/workloads?open={key}#open")
    page.wait_for_function(
        """() => {
            const head = document.querySelector('.top').getBoundingClientRect().bottom;
            const row = document.querySelector('#open').getBoundingClientRect().top;
            return scrollY === 0 ? row >= head : row >= head && row < head + 40;
        }"""
    )
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.evaluate("location.hash = ''")
    page.evaluate("location.hash = 'open'")
    page.wait_for_function(
        """() => document.querySelector('#open').getBoundingClientRect().top
            >= document.querySelector('.top').getBoundingClientRect().bottom"""
    )


def test_the_ring_of_close_is_whole(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/teams")
    page.keyboard.press("?")
    close = page.locator("#keys [data-close]").bounding_box()
    table = page.locator("#keys .table-wrap").bounding_box()
    assert close is not None
    assert table is not None
    assert table["y"] >= close["y"] + close["height"] + 4  # 2 px of ring, 2 px off


def test_keys_go_places(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/teams")
    page.keyboard.press("w")
    page.wait_for_url("**/teams?range=last-7-days")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/teams?from=*")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("tbody tr[data-href]").nth(1)).to_have_attribute("data-at", "")
    page.keyboard.press("e")
    expect(page.locator("#drawer")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/teams/*from=*")


def test_the_key_sheet_can_switch_single_keys_off(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/teams")
    page.keyboard.press("?")
    sheet = page.locator("#keys")
    expect(sheet).to_be_visible()
    sheet.get_by_label("Single-key shortcuts in this browser").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    page.wait_for_timeout(300)
    assert page.url.endswith("/teams")


def test_the_palette_finds_and_goes(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/prices")
    page.keyboard.press("Control+k")
    page.get_by_label("Find a page, team, job, GPU, node or change set").fill("robot")
    expect(page.locator("#palette-results a").first).to_contain_text("Robotics")
    page.keyboard.press("Enter")
    page.wait_for_url("**/teams/robotics")


def test_the_range_menu_closes_on_escape_and_takes_words(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/teams")
    page.locator("summary[aria-label^=Range]").click()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Type a range")).to_be_hidden()
    page.locator("summary[aria-label^=Range]").click()
    field = page.get_by_label("Type a range")
    field.fill("next week")
    field.press("Enter")
    expect(field).to_be_visible()  # what was typed can be mended where it stands
    expect(field).to_have_value("next week")
    expect(field).to_be_focused()
    expect(page.locator("#range-error")).to_contain_text('"next week" is not a range')
    field.fill("last week")
    page.get_by_role("button", name="Show the typed range").click()
    page.wait_for_url("**/teams?range=last-week")
    assert page.locator("h1").inner_text() == "Teams"


def test_the_keys_step_over_months_and_stop_at_the_newest_day(
    sign_in: SignIn, story: Story
) -> None:
    page = sign_in("ana").open("/teams")
    shown = page.locator("summary[aria-label^=Range]")
    month = story.until.astimezone(ZONE).date().replace(day=1)
    before = months_later(month, -1)
    page.keyboard.press("ArrowRight")  # nothing is after the newest day
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**/teams?from={before}&to={month}")
    expect(shown).to_contain_text(units.days(DayRange(before, month)))
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/teams?range=month-to-date")
    shown.click()
    later = page.get_by_role("link", name="Later")
    expect(later).to_be_disabled()


def test_arrows_scroll_a_table_and_do_not_step(sign_in: SignIn) -> None:
    page = sign_in("ana", width=390).open("/teams")
    table = page.locator(".table-wrap[tabindex]").first
    table.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("box => box.scrollLeft > 0", arg=table.element_handle())
    assert page.url.endswith("/teams")


def test_dragging_over_days_is_a_range_and_back_restores(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/?range=last-28-days")
    chart = page.locator("#spend")
    chart.scroll_into_view_if_needed()  # the mouse reaches what is on the screen
    box = page.locator("#spend .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 90, steps=8)
    page.mouse.up()
    page.wait_for_url("**from=*")
    page.go_back()
    page.wait_for_url("**range=last-28-days")


def test_links_can_be_shared(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/teams?range=last-7-days")
    page.locator("summary", has_text="Share").click()
    page.get_by_role("button", name="Link to this exact period").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "from=" in copied
    assert "to=" in copied


def test_the_navigation_is_a_sheet_on_a_phone(sign_in: SignIn) -> None:
    page = sign_in("ana", width=390).open("/teams")
    menu = page.get_by_role("button", name="Menu")
    expect(page.locator("#nav")).to_be_hidden()
    menu.click()
    expect(page.locator("#nav")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#nav")).to_be_hidden()
    expect(menu).to_be_focused()


def test_setting_a_price_shows_what_it_changes_first(
    sign_in: SignIn, story: Story
) -> None:
    page = sign_in("ana").open("/prices")
    page.get_by_role("link", name="NVIDIA-A10", exact=True).click()
    assert page.get_by_label("GPU model").input_value() == "NVIDIA-A10"
    page.get_by_label("Rate per GPU-hour").fill("0.85")
    page.get_by_label("Valid from").fill(f"{story.since:%Y-%m-%d}")
    page.get_by_label("Reason").fill("The A10 got a price at last")
    page.get_by_role("button", name="Preview changes").click()
    effect = page.locator(
        "section", has=page.get_by_role("heading", name="What this will do")
    )
    expect(effect).to_contain_text("Sandbox")
    expect(effect).to_contain_text("GPU-h that had no price")
    expect(page.get_by_role("button", name="Save this price")).to_be_visible()


def test_a_price_is_changed_from_its_row(sign_in: SignIn, story: Story) -> None:
    page = sign_in("ana").open("/prices/new")
    page.get_by_label("GPU model").fill("NVIDIA-A100-SXM4-80GB")
    page.get_by_label("MIG profile").fill("1g.12gb")
    page.get_by_label("Lifecycle").select_option("spot")
    page.get_by_label("Cluster").select_option(story.cluster.name)
    page.get_by_label("Rate per GPU-hour").fill("1.25")
    page.get_by_label("Reason").fill("Small instances cost less at night")
    page.get_by_role("button", name="Preview changes").click()
    expect(page.get_by_text("has no profile 1g.12gb; it has 1g.10gb")).to_be_visible()
    page.get_by_label("MIG profile").fill("1g.10gb")
    page.get_by_role("button", name="Preview changes").click()
    page.get_by_role("button", name="Save this price").click()
    page.wait_for_url("**/prices")
    row = page.locator("tbody tr", has_text="1g.10gb")
    expect(row.locator("td").first).to_have_text(f"{story.cluster.name} 1g.10gb spot")
    row.get_by_role("link", name="Change").click()
    assert page.get_by_label("MIG profile").input_value() == "1g.10gb"
    assert page.get_by_label("Lifecycle").input_value() == "spot"
    assert page.get_by_label("Cluster").input_value() == story.cluster.name
    assert page.get_by_label("Rate per GPU-hour").input_value() == "1.250000"


def test_a_wrong_form_says_what_is_wrong(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/attribution/new?namespace=scratch")
    page.get_by_label("Match by").select_option("pod_label")
    page.get_by_label("Team", exact=True).select_option("sandbox")
    page.get_by_label("Reason").fill("Scratch belongs to the sandbox")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("A label rule requires a label key.")).to_be_visible()
    assert page.get_by_label("Label key").get_attribute("aria-invalid") == "true"


@pytest.mark.parametrize("width", [360, 1440])
def test_what_a_rule_moves_fits_beside_its_form(sign_in: SignIn, width: int) -> None:
    page = sign_in("ana", width=width).open("/attribution/new?namespace=scratch")
    page.get_by_label("Team", exact=True).select_option("sandbox")
    page.get_by_label("Reason").fill("Scratch belongs to the sandbox")
    page.get_by_role("button", name="Try it").click()
    moves = page.locator("[aria-labelledby=trial-title] .table-wrap")
    expect(moves.get_by_role("rowheader", name="scratch")).to_be_visible()
    assert moves.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_a_tall_row_of_the_audit_log_begins_at_its_top(sign_in: SignIn) -> None:
    page = sign_in("ana", is_kept=True).open("/audit")
    tops = page.locator(".audit > tbody > tr").evaluate_all(TOPS_OF_TALL_ROWS)
    assert tops
    assert max(tops) < 24


def test_a_token_is_shown_once(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/account")
    page.get_by_label("Name").fill("monthly sheet")
    page.get_by_role("button", name="Check all that read").click()
    scopes = page.locator("input[name=scopes]")
    checked = scopes.locator("xpath=self::*[starts-with(@value, 'read:')]")
    assert all(box.is_checked() for box in checked.all())
    assert page.locator("input[name=scopes]:checked").count() == checked.count() > 30
    page.get_by_role("button", name="Create token").click()
    secret = page.locator("#secret").inner_text()
    assert len(secret) > 40
    page.goto(page.url.replace("/tokens", ""))
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke monthly sheet").click()
    expect(page.get_by_text("The token is revoked.")).to_be_visible()


def test_rows_can_be_compact(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    page = visit.open("/account")
    with page.expect_response(re.compile("/account/preferences")):
        page.get_by_role("button", name="Compact").click()
    page = visit.open("/prices")
    height = page.locator("tbody tr").first.bounding_box()
    assert height is not None
    assert height["height"] <= 36
    page = visit.open("/account")
    with page.expect_response(re.compile("/account/preferences")):
        page.get_by_role("button", name="Comfortable").click()


def test_data_health_proves_the_newest_hour(sign_in: SignIn) -> None:
    page = sign_in("ana", is_kept=True).open("/data-health")
    proofs = page.locator(".proofs")
    expect(proofs).to_be_visible()
    assert proofs.locator(".check.bad").count() == 0
    assert proofs.locator(".check.done").count() >= 8


@pytest.mark.parametrize("path", ["/", "/teams/vision"])
def test_a_page_prints_without_controls(sign_in: SignIn, path: str) -> None:
    page = sign_in("ana", theme="dark").open(path)
    page.emulate_media(media="print")
    expect(page.locator("#nav")).to_be_hidden()
    expect(page.locator(".tools").first).to_be_hidden()
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )


def test_plotly_takes_its_styles_from_our_copy(sign_in: SignIn) -> None:
    """The written-out rules are those that the bundle would inject."""
    page = sign_in("ana").open("/")
    written = page.evaluate(
        """() => [...document.getElementById('plotly.js-style-global').sheet.cssRules]
                 .map(rule => rule.cssText).sort()"""
    )
    fresh = page.context.new_page()
    fresh.goto("about:blank")
    fresh.add_script_tag(path="static/vendor/plotly/plotly-cartesian.min.js")
    injected = fresh.evaluate(
        """async () => {
            document.body.innerHTML = '<div id="a"></div>';
            await Plotly.newPlot('a', [{y: [1, 2]}]);
            return [...document.getElementById('plotly.js-style-global').sheet.cssRules]
                .map(rule => rule.cssText).sort();
        }"""
    )
    assert written == injected
