"""Months in the browser: two people close one by click, and a statement on paper.

A worker runs beside. Not here: refusals (tests/integration/months/test_month_pages.py).
"""

from collections.abc import Iterator
from threading import Event, Thread

import pytest
from django.db import connection
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.running import book_running
from accounting.tasks import close_months
from tests.browser.conftest import SignIn
from tests.browser.forget import forget_months
from tests.browser.test_phone import outside
from tests.story import Story

# Texts that are wider than their box.
OVERFLOWING = """selector => [...document.querySelectorAll(selector)]
    .filter(box => box.scrollWidth > box.clientWidth + 1 && box.clientWidth)
    .map(box => box.textContent.trim())"""
# Buttons of a card that lie on one of its headings or sentences.
OVERLAPPING = """selector => {
    const card = document.querySelector(selector);
    const boxes = query =>
        [...card.querySelectorAll(query)].map(e => [e, e.getBoundingClientRect()]);
    return boxes(".card-head .btn").flatMap(([button, a]) =>
        boxes("h2, .sub").filter(([, b]) =>
            a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
        .map(([text]) => `${button.textContent.trim()} on ${text.textContent.trim()}`));
}"""
REASON = "Agreed in the monthly review."
LONG_MS = 60_000  # the machine of the tests may be busy


@pytest.fixture(scope="module", autouse=True)
def october(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """October and November, running, and a worker that closes months."""
    del story
    with django_db_blocker.unblock():
        book_running("2026-10")
        book_running("2026-11")
        ending = Event()
        worker = Thread(target=_work, args=(ending,))
        worker.start()
        yield
        ending.set()
        worker.join()
        forget_months()
    connection.close()


def _work(ending: Event) -> None:
    while not ending.wait(0.3):
        close_months()
    connection.close()


@pytest.mark.parametrize(
    "path",
    [
        *("/months", "/months/2026-11", "/statements/vision/2026-11", "/charges"),
        *("/charges?by=workload", "/charges?by=correction", "/charges?by=namespace"),
    ],
)
def test_amounts_are_beside_their_names_on_a_phone(sign_in: SignIn, path: str) -> None:
    """What a month comes to is read without scrolling sideways."""
    page = sign_in("fin", width=360).open(path)
    assert max(outside(page, "main td.n")) <= -4


def test_a_month_on_a_phone_has_its_amounts_in_their_cards(sign_in: SignIn) -> None:
    """With the code of a currency that has no sign; buttons do not lie on text."""
    page = sign_in("fin", width=360).open("/months/2026-11")
    amounts = "section[aria-labelledby=waterfall-title] td.n"
    page.evaluate(
        """amounts => document.querySelectorAll(amounts).forEach(cell => {
            cell.textContent = "EUR1,302,323.87";
        })""",
        amounts,
    )
    assert max(outside(page, amounts)) <= -4
    assert page.evaluate(OVERFLOWING, amounts) == []
    assert page.evaluate(OVERLAPPING, "section[aria-labelledby=checks-title]") == []


def request_overrides(page: Page) -> int:
    """Ask to close despite each check that blocks; returns how many there were."""
    asked = 0
    while page.get_by_text("Close despite this").count():
        page.get_by_text("Close despite this").first.click()
        form = page.locator("details[open]").filter(has_text="Close despite this")
        form.get_by_label("Reason").fill(REASON)
        form.get_by_role("button", name="Request an override").click()
        asked += 1
        waiting = page.get_by_text("Another person must confirm it.")
        expect(waiting).to_have_count(asked, timeout=LONG_MS)
    return asked


def test_a_statement_fits_on_two_pages(sign_in: SignIn) -> None:
    page = sign_in("luis").open("/statements/vision/2026-11")
    expect(page.get_by_role("button", name="Print or save as PDF")).to_be_visible()
    paper = page.pdf(format="A4")
    assert paper.count(b"/Type /Page\n") <= 2


def test_two_people_close_a_month(
    sign_in: SignIn, django_db_blocker: DjangoDbBlocker
) -> None:
    first, second = sign_in("fin"), sign_in("ana")
    page = first.open("/months")
    page.get_by_role("link", name="Review October 2026").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("October 2026")
    close = page.get_by_role("button", name="Close this month")
    expect(close).to_be_disabled()
    asked = request_overrides(page)
    assert asked
    expect(close).to_be_disabled()

    other = second.open("/months/2026-10")
    for left in range(asked, 0, -1):
        confirm = other.get_by_role("button", name="Confirm")
        expect(confirm).to_have_count(left, timeout=LONG_MS)
        confirm.first.click()
    expect(other.get_by_role("button", name="Confirm")).to_have_count(
        0, timeout=LONG_MS
    )

    page = first.open("/months/2026-10")
    page.get_by_role("button", name="Close this month").click()
    expect(page.get_by_role("heading", name="Closed")).to_be_visible(timeout=LONG_MS)
    with django_db_blocker.unblock():
        closed = PeriodRevision.objects.get(period="2026-10", closed_at__isnull=False)
    expect(page.get_by_text(closed.hash)).to_be_visible()
    page.get_by_role("link", name="Families of Vision").click()
    expect(page.get_by_role("table", name="Families of Vision")).to_be_visible()
    page.get_by_role("link", name="Vision", exact=True).click()
    expect(page.get_by_text("Statement 2026-10-vision-r1, closed.")).to_be_visible()
    expect(page.get_by_text(REASON).first).to_be_visible()
    assert first.complaints == second.complaints == []
