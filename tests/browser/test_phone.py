"""Pages on a phone, 360 px wide: no number is cut, and what goes on beside its card says so.

Leaves out the administration's own pages: `tests/browser/changes/test_changes.py`.
"""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import SignIn, beyond

PATHS = [
    *("/", "/teams", "/teams?group=none", "/teams/vision", "/teams/vision/workloads"),
    *("/explain?what=charge", "/explain?what=ledger", "/data-health", "/account"),
]
SHORT_TABLES = ("held", "idle", "split", "changes")
# Text in a table or picture that ends beyond its box, where the box does not say that it goes on.
CUT = """() => [...document.querySelectorAll('main .table-wrap, main .calendar')]
    .filter(box => box.offsetParent)
    .flatMap(box => {
        const edge = box.getBoundingClientRect().right;
        const goesOn = box.hasAttribute('data-goes-on')
            && box.previousElementSibling.matches('.scroll-hint.shown');
        if (goesOn) return [];
        return [...box.querySelectorAll('td, th, text')]
            .filter(cell => cell.getBoundingClientRect().right > edge + 1)
            .map(cell => cell.textContent.trim());
    })"""
# By how much cells that are shown are outside their card.
OUTSIDE = """selector => [...document.querySelectorAll(selector)]
    .filter(cell => cell.offsetParent)
    .map(cell => cell.getBoundingClientRect().right
        - cell.closest('.card').getBoundingClientRect().right)"""


def outside(page: Page, selector: str) -> list[float]:
    """How far elements reach beyond the right edge of their card, in pixels."""
    found: list[float] = page.evaluate(OUTSIDE, selector)
    assert found
    return found


@pytest.mark.parametrize("path", PATHS)
def test_no_number_is_cut_without_a_word(sign_in: SignIn, path: str) -> None:
    page = sign_in("ana", width=360, is_kept=True).open(path)
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_violation_with_a_long_row_fits(sign_in: SignIn) -> None:
    page = sign_in("ana", width=360, is_kept=True).open("/data-health/proofs")
    page.evaluate(
        """document.querySelector(".proofs .check > div").insertAdjacentHTML(
            "beforeend", `<span class="cell-sub">${"0123456789abcdef".repeat(8)}</span>`)"""
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize(
    ("path", "table", "title"),
    [
        ("/bills", "bills", "Our cost"),
        ("/bills", "bills", "Not matched"),
        ("/waste", "waste", "Cost"),
        ("/waste", "apart", "Per measured day"),
        ("/months/2026-11/methods?compare=yes", "sides", "By use"),
        ("/months/2026-11/methods", "methods", "GPUs that nobody held"),
    ],
)
def test_amounts_of_long_rows_are_on_the_screen(
    sign_in: SignIn, path: str, table: str, title: str
) -> None:
    page = sign_in("ana", width=390, is_kept=True).open(path)
    assert beyond(page, table, title) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_difference_of_an_entry_is_on_the_screen(sign_in: SignIn) -> None:
    page = sign_in("fin", width=390, is_kept=True).open("/entries/new")
    page.select_option("[name=kind]", index=1)
    page.select_option("[name=team]", index=1)
    page.fill("[name=amount]", "1234567.89")
    page.fill("[name=reason]", "agreed in a review")
    page.get_by_role("button", name="Preview").click()
    page.wait_for_selector("text=Add this entry")
    assert beyond(page, "effect", "Difference") == 0


def test_short_tables_of_the_overview_fit(sign_in: SignIn) -> None:
    page = sign_in("ana", width=360, is_kept=True).open("/?range=last-7-days")
    numbers = "section[aria-labelledby={}-title] tbody td"
    beyond = {name: max(outside(page, numbers.format(name))) for name in SHORT_TABLES}
    assert {name: by for name, by in beyond.items() if by > -8} == {}


def test_the_prices_behind_an_amount_fit(sign_in: SignIn) -> None:
    page = sign_in("ana", width=360, is_kept=True).open("/explain?what=charge")
    assert max(outside(page, "[aria-label='Prices that took part'] td")) <= -8
    first = page.locator("[aria-label='Prices that took part'] tbody tr").first
    assert "GPU-h at €" in first.inner_text()


def test_a_wide_table_fades_until_its_end_is_seen(sign_in: SignIn) -> None:
    page = sign_in("ana", width=360, is_kept=True).open("/teams")
    table = page.locator("main .table-wrap").first
    assert table.get_attribute("data-goes-on") is not None
    assert page.locator(".scroll-hint").first.is_visible()
    assert "linear-gradient" in table.evaluate("box => getComputedStyle(box).maskImage")
    table.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    page.wait_for_selector("main .table-wrap:not([data-goes-on])")
    assert table.evaluate("box => getComputedStyle(box).maskImage") == "none"


def test_a_wide_table_fades_without_scripts_too(sign_in: SignIn) -> None:
    visit = sign_in("ana", width=360, scripts=False)
    visit.page.goto(visit.address + "/teams")
    table = visit.page.locator("main .table-wrap").first
    assert "linear-gradient" in table.evaluate("box => getComputedStyle(box).maskImage")


@pytest.mark.parametrize("width", [360, 768])
def test_the_filter_of_a_name_stands_beside_it(sign_in: SignIn, width: int) -> None:
    page = sign_in("ana", width=width, is_kept=True).open("/teams?group=none")
    rows = page.locator("tbody tr[data-href]")
    assert rows.count() >= 7
    for row in rows.all():
        name, funnel = (row.locator(css).bounding_box() for css in ("a.name", ".only"))
        assert name is not None
        assert funnel is not None
        assert funnel["x"] >= name["x"] + name["width"] - 1
        assert (
            abs((funnel["y"] * 2 + funnel["height"]) - (name["y"] * 2 + name["height"]))
            < 8
        )


def test_a_second_line_of_a_number_stays_one_line_if_asked(sign_in: SignIn) -> None:
    """`since 27 Nov 19:05` of an idle holder took two: a wider selector won over `nowrap`."""
    page = sign_in("ana", is_kept=True).open("/teams?group=none")
    shown = page.locator("td.n").first.evaluate(
        """cell => {
            const line = document.createElement("span");
            line.className = "cell-sub nowrap";
            cell.append(line);
            return getComputedStyle(line).whiteSpace;
        }"""
    )
    assert shown == "nowrap"


def test_all_methods_of_a_month_are_on_a_wide_screen(sign_in: SignIn) -> None:
    """Their long names made eight columns 1,900 px wide."""
    page = sign_in("ana", is_kept=True).open("/months/2026-11/methods?compare=yes")
    assert beyond(page, "sides", "By use, unallocated cost in equal parts") == 0
    assert not page.locator(".scroll-hint").first.is_visible()


def test_a_wide_screen_shows_every_column(sign_in: SignIn) -> None:
    page = sign_in("ana", is_kept=True).open("/teams/vision/workloads?by=run")
    assert page.get_by_role("columnheader", name="Kind").is_visible()
    assert not page.locator(".scroll-hint").first.is_visible()
    assert not page.locator("tbody .phone-only").first.is_visible()
