"""Pages where scripts are off or did not arrive: numbers are tables and links, nothing is dead.

Leaves out forms of the administration, which are plain forms.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn, Visit

PAGES_WITH_CHARTS = ["/?range=last-7-days", "/teams/vision?range=last-28-days"]
DEAD = (
    *(
        "[data-table-for]",
        "[data-png]",
        "[data-copy]",
        "[data-copy-text]",
        "[data-print]",
    ),
    *("[data-theme-set]", "[data-density-set]", "button[data-opens]", "[data-nav]"),
)


def opened(visit: Visit, path: str) -> Page:
    """A page as its first bytes draw it: `open` waits for charts that never come."""
    visit.page.goto(visit.address + path)
    return visit.page


@pytest.mark.parametrize("path", PAGES_WITH_CHARTS)
def test_charts_are_tables(sign_in: SignIn, path: str) -> None:
    page = opened(sign_in("ana", scripts=False, is_kept=True), path)
    charts = page.locator("[data-chart]")
    assert charts.count() > 0
    for chart in charts.all():
        expect(chart).to_be_hidden()  # with its skeleton, which looks like data
        table = page.locator(f"#{chart.get_attribute('id')}-table")
        expect(table).to_be_visible()
        assert table.locator("tbody tr").count() >= 7
    expect(page.locator("#spend-table tbody td").last).to_contain_text("€")


@pytest.mark.parametrize(
    "path",
    [*PAGES_WITH_CHARTS, "/teams", "/explain?what=charge", "/account", "/data-health"],
)
def test_no_control_is_dead(sign_in: SignIn, path: str) -> None:
    page = opened(sign_in("ana", scripts=False, is_kept=True), path)
    for selector in DEAD:
        for control in page.locator(selector).all():
            expect(control).to_be_hidden()
    expect(page.locator("summary", has_text="Share")).to_be_hidden()


def test_a_figure_leads_to_its_explanation(sign_in: SignIn) -> None:
    page = opened(sign_in("ana", scripts=False), "/teams?range=last-7-days")
    row = page.locator("tbody tr[data-href]").first
    row.locator("a.num").first.click()
    page.wait_for_url("**/explain?what=charge&*team=*")
    expect(page.locator("h1")).to_have_text("Where this number comes from")
    expect(page.get_by_role("group", name="Prices that took part")).to_contain_text(
        "Total"
    )


def test_the_search_is_a_page(sign_in: SignIn) -> None:
    page = opened(sign_in("ana", scripts=False), "/teams")
    page.locator("#nav").get_by_label("Search").click()
    page.wait_for_url("**/find")
    page.locator("main #q").fill("robot")
    page.locator("main").get_by_role("button", name="Search").click()
    expect(page.locator("main")).to_contain_text("Robotics")


def test_the_checks_of_data_health_are_a_page(sign_in: SignIn) -> None:
    page = opened(sign_in("ana", scripts=False), "/data-health")
    expect(page.get_by_text("Loading")).to_be_hidden()
    page.get_by_role("link", name="Show consistency checks").click()
    expect(page.locator(".proofs .check.done").first).to_be_visible()


def test_a_phone_has_its_navigation(sign_in: SignIn) -> None:
    page = opened(sign_in("ana", scripts=False, width=360), "/")
    page.locator("#nav").get_by_role("link", name="Teams").click()
    page.wait_for_url("**/teams*")


def test_a_chart_whose_library_did_not_arrive_is_a_table(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    visit.page.route(re.compile("plotly.*[.]js"), lambda route: route.abort())
    page = opened(visit, "/?range=last-7-days")
    expect(page.locator("#spend-table")).to_be_visible()
    expect(page.locator("#spend")).to_be_hidden()


def test_a_figure_leads_to_its_page_where_htmx_did_not_arrive(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    visit.page.route(re.compile("htmx.*[.]js"), lambda route: route.abort())
    page = opened(visit, "/teams?range=last-7-days")
    page.locator("a.num").first.click()
    page.wait_for_url("**/explain?*")


def test_with_scripts_tables_wait_behind_their_button(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/?range=last-7-days")
    expect(page.locator("#spend-table")).to_be_hidden()
    expect(page.locator("[data-table-for=spend]")).to_be_visible()
    expect(page.get_by_text("Share", exact=True)).to_be_visible()
