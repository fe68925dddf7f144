"""Cards that load by themselves: at once, said aloud, with words and a button where one fails."""

import re
from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect

from tests.browser.conftest import SignIn, Visit, wrong_in_both_themes

WEEK = "/?range=last-7-days"
CHANGES = re.compile(r"/overview/changes")
CARDS = re.compile(r"/overview/(changes|idle)")
LATE = "[data-card]"
USUAL = "20000"  # ms
SLOW_MS = 30_000  # on a machine that has other work
JUMP = """new Promise(resolve => new PerformanceObserver(list => resolve(
    list.getEntries().filter(one => !one.hadRecentInput).reduce((sum, one) => sum + one.value, 0)
)).observe({type: 'layout-shift', buffered: true}) || setTimeout(() => resolve(0), 200))"""


def changes(page: Page) -> Locator:
    """The card, as placeholder and as itself."""
    return page.get_by_role("region", name="Biggest changes")


def opened(visit: Visit, path: str = WEEK) -> Page:
    """A page whose cards may not come."""
    visit.page.goto(visit.address + path)
    return visit.page


def wait_at_most(visit: Visit, milliseconds: int) -> None:
    """Another time after which a card is given up."""

    def change(route: Route) -> None:
        answer = route.fetch()
        text = answer.text()
        assert USUAL in text
        route.fulfill(response=answer, body=text.replace(USUAL, str(milliseconds)))

    visit.page.route("**/?range=*", change)


def test_cards_come_by_themselves_and_are_said(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    parts: list[Request] = []

    def note(request: Request) -> None:
        if CARDS.search(request.url):
            parts.append(request)

    visit.page.on("request", note)
    page = visit.open(WEEK)
    assert len(parts) == 2
    assert all(one.headers["hx-request"] == "true" for one in parts)
    assert all("range=last-7-days" in one.url for one in parts)
    assert changes(page).locator("tbody tr").count() > 3
    expect(page.get_by_role("region", name="Largest idle")).to_contain_text("€")
    expect(page.locator("#said")).to_have_text(re.compile("loaded[.]$"))
    assert page.locator(LATE).count() == 0
    changes(page).get_by_role("link", name="Vision").first.click()
    page.wait_for_url("**/teams/vision/families/*/*?range=last-7-days*")
    assert visit.complaints == []


def test_placeholders_wait_in_place(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    """Both are asked for before one has come; nothing jumps when they come."""
    visit = sign_in("ana")
    wait_at_most(visit, 10 * SLOW_MS)  # axe takes its time
    held: list[Route] = []
    visit.page.route(CARDS, partial(list.append, held))
    page = opened(visit)
    expect(changes(page).get_by_role("status")).to_have_text("Loading…")
    expect(changes(page)).to_have_attribute("aria-busy", "true")
    expect(changes(page).get_by_role("button")).to_have_count(0)
    page.wait_for_function("() => document.querySelector('.main-svg')")
    assert len(held) == 2
    assert wrong_in_both_themes(page, violations) == []
    changes(page).scroll_into_view_if_needed()
    before = changes(page).bounding_box()
    for route in held:
        route.continue_()
    expect(page.locator(LATE)).to_have_count(0, timeout=SLOW_MS)
    after = changes(page).bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["y"] - before["y"]) <= 1
    assert abs(after["height"] - before["height"]) <= 60
    assert page.evaluate(JUMP) < 0.1


def test_without_scripts_a_card_is_a_page(sign_in: SignIn) -> None:
    shown = changes(sign_in("ana").open(WEEK)).locator("tbody").inner_text()
    page = opened(sign_in("ana", scripts=False))
    expect(changes(page).get_by_role("status")).to_have_count(0)
    expect(page.get_by_role("button", name="Try again")).to_be_hidden()
    page.get_by_role("link", name="Show biggest changes").click()
    expect(page.locator("h1")).to_have_text("Biggest changes")
    assert changes(page).locator("tbody").inner_text().split() == shown.split()
    page.get_by_role("link", name="Overview", exact=True).last.click()
    page.wait_for_url("**/?range=last-7-days")


def answer_500(route: Route) -> None:
    """A fault of the server."""
    route.fulfill(status=500, body="<h1>Something went wrong</h1>")


def answer_503(route: Route) -> None:
    """A server that has too much to do."""
    route.fulfill(status=503, body="")


def do_not_answer(route: Route) -> None:
    """A connection that breaks."""
    route.abort()


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (answer_500, "the server had an error"),
        (answer_503, "the server is busy"),
        (do_not_answer, "the server did not respond"),
    ],
)
def test_a_card_that_fails_says_why_and_can_be_tried_again(
    sign_in: SignIn,
    violations: Callable[..., list[str]],
    act: Callable[[Route], None],
    why: str,
) -> None:
    visit = sign_in("ana")
    visit.page.route(CHANGES, act)
    page = opened(visit)
    status = changes(page).get_by_role("status")
    expect(status).to_have_text(f"Biggest changes could not be loaded: {why}.")
    expect(changes(page)).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("region", name="Largest idle")).to_contain_text("€")
    expect(changes(page).get_by_role("link", name="Show biggest")).to_be_visible()
    assert wrong_in_both_themes(page, violations) == []
    button = changes(page).get_by_role("button", name="Try again")
    button.click()  # in vain
    expect(status).to_have_text(f"Biggest changes could not be loaded: {why}.")
    visit.page.unroute(CHANGES)
    button.focus()
    page.keyboard.press("Enter")
    expect(changes(page).locator("tbody tr").first).to_be_visible(timeout=SLOW_MS)
    assert page.locator(LATE).count() == 0
    expect(changes(page)).to_be_focused()  # who tried again goes on there


def test_a_card_that_is_slow_ends_its_wait(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    wait_at_most(visit, 200)
    visit.page.route(CHANGES, lambda route: None)
    page = opened(visit)
    expect(changes(page).get_by_role("status")).to_have_text(
        "Biggest changes could not be loaded: the server took too long."
    )


def test_without_htmx_a_card_is_a_link(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    visit.page.route(re.compile("htmx.*[.]js"), lambda route: route.abort())
    page = opened(visit)
    expect(changes(page).get_by_role("status")).to_contain_text("a script is missing")
    expect(changes(page).get_by_role("button")).to_have_count(0)
    changes(page).get_by_role("link", name="Show biggest changes").click()
    expect(page.locator("h1")).to_have_text("Biggest changes")


def test_who_is_signed_out_meanwhile_gets_no_sign_in_page_in_a_card(
    sign_in: SignIn,
) -> None:
    visit = sign_in("ana")

    def sign_out(route: Route) -> None:
        visit.page.context.clear_cookies()
        route.continue_(
            headers={k: v for k, v in route.request.headers.items() if k != "cookie"}
        )

    visit.page.route(CHANGES, sign_out)
    page = opened(visit)
    expect(changes(page).get_by_role("status")).to_have_text(
        "Biggest changes could not be loaded: you are no longer signed in."
    )
    assert page.get_by_label("Password").count() == 0
    assert changes(page).get_by_role("button", name="Try again").count() == 0
    page.evaluate("htmx.ajax('GET', '/freshness', {target: '#freshness-box'})")
    expect(page.locator("#toasts")).to_contain_text("no longer signed in")
    page.wait_for_load_state("networkidle")
    assert page.get_by_label("Password").count() == 0  # nor in the badge
    expect(page.locator("#toasts > *")).to_have_count(1)
    changes(page).get_by_role("link", name="Sign in").click()
    page.wait_for_url("**/sign-in?next=/%3Frange%3Dlast-7-days")


def test_who_leaves_does_not_wait_for_cards(sign_in: SignIn) -> None:
    visit = sign_in("ana")
    ended: list[str] = []
    visit.page.on("requestfailed", lambda request: ended.append(request.url))
    visit.page.route(CHANGES, lambda route: None)
    page = opened(visit)
    expect(changes(page).get_by_role("status")).to_have_text("Loading…")
    page.goto(visit.address + "/account")
    assert [url for url in ended if CHANGES.search(url)]
    assert visit.complaints == []


def test_a_card_that_has_come_is_printed(sign_in: SignIn) -> None:
    page = sign_in("ana").open(WEEK)
    page.emulate_media(media="print")
    expect(changes(page).locator("tbody tr").first).to_be_visible()
    expect(changes(page).locator(".tools")).to_be_hidden()
    page.emulate_media(media="screen")
