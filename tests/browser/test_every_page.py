"""Each page in both themes: drawn, nothing complained about, clean for axe, whole at 320 px."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import SignIn
from tests.story import PASSWORD

GPU = "GPU-5a1e0001-0000-7c3d"
PAGES = {
    "/": "Overview",
    "/?range=last-7-days&cmp=off": "Overview",
    "/?from=2020-01-01&to=2020-02-01": "Overview",
    "/teams": "Teams",
    "/teams/vision": "Vision",
    "/teams/vision?range=last-7-days": "Vision",
    "/teams/vision/workloads": "Vision",
    "/teams/vision/workloads?q=nothing-like-it": "Vision",
    "/teams/vision/rules": "Vision",
    "/gpus": "GPUs and nodes",
    f"/gpus/{GPU}": GPU,
    "/data-health": "Data health",
    "/setup": "Set-up",
    "/prices": "Prices",
    "/prices/new": "Set a price",
    "/attribution": "Attribution",
    "/attribution/new": "Add a rule",
    "/account": "Account",
    "/find?q=vision": "Search",
    "/explain?what=charge&team=vision": "Where this number comes from",
    "/explain?what=ledger": "Where this number comes from",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_clean(
    sign_in: SignIn, violations: Callable[[Page], list[str]], path: str, theme: str
) -> None:
    visit = sign_in("ana", theme=theme, bend_policy=True)
    page = visit.open(path)
    assert page.locator("h1").inner_text().strip() == PAGES[path]
    assert violations(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_keeps_the_policy_and_fits_a_small_phone(
    sign_in: SignIn, path: str
) -> None:
    visit = sign_in("ana")
    page = visit.open(path)
    page.set_viewport_size({"width": 320, "height": 800})
    page.wait_for_timeout(100)  # charts follow the width
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert visit.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sign_in_page_is_clean(
    browser: object, address: str, violations: Callable[[Page], list[str]], theme: str
) -> None:
    context = browser.new_context(color_scheme=theme, bypass_csp=True)  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(f"{address}/sign-in?next=/teams")
    page.get_by_label("Name").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    assert "do not match an account" in page.get_by_role("alert").inner_text()
    assert violations(page) == []
    page.get_by_label("Name").fill("luis")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/teams")
    context.close()


@pytest.mark.parametrize("path", ["/teams/nobody", "/prices/new"])
def test_refusals_are_clean(
    sign_in: SignIn, violations: Callable[[Page], list[str]], path: str
) -> None:
    visit = sign_in("luis", bend_policy=True)
    visit.page.goto(visit.address + path)
    assert violations(visit.page) == []
