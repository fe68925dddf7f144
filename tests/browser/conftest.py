"""A real Chromium on the product's own pages, with the story of `tests.story` behind them.

The story is written once and committed; every test looks at it and changes nothing but
preferences, prices and rules of its own. Its database is dropped when the browser tests end.
"""

import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    sync_playwright,
)
from pytest_django import DjangoDbBlocker
from pytest_django.live_server_helper import LiveServer

from tests.database_copies import connected_to
from tests.programs import chromium
from tests.story import Story
from tests.story_database import written

HERE = Path(__file__).parent
AXE = HERE / "vendor" / "axe.min.js"
WIDTH, HEIGHT = 1440, 900
SWITCHES = [
    "--no-sandbox",
    # one process for all pages of a context: what it has compiled is compiled once
    "--process-per-site",
    # a page lives for a second: to optimize its scripts takes longer than they run
    "--js-flags=--no-opt --no-maglev",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let pytest-django make its test database for these tests."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.django_db)


@pytest.fixture(scope="session")
def story(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, folder_of_run: Path
) -> Iterator[Story]:
    """Six weeks of an organization, up to now, in a database of this process."""
    del django_db_setup
    now = datetime.now(UTC)
    until = now.replace(minute=now.minute // 5 * 5, second=0, microsecond=0)
    with (
        django_db_blocker.unblock(),
        written(until, folder_of_run) as (name, told),
        connected_to(name),
    ):
        yield pickle.loads(told)  # noqa: S301  # of this run


@pytest.fixture(scope="session")
def address(story: Story) -> Iterator[str]:
    """The address of a server on the story."""
    del story
    hosts = settings.ALLOWED_HOSTS
    settings.ALLOWED_HOSTS = [*hosts, "127.0.0.1", "localhost"]
    server = LiveServer("127.0.0.1")
    yield server.url
    server.stop()
    settings.ALLOWED_HOSTS = hosts


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The distribution's Chromium; nothing is downloaded."""
    # Playwright runs an event loop in this thread; Django would refuse queries in it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=str(chromium()), args=SWITCHES
        )
        yield launched
        launched.close()
        connection.close()  # of fixtures under its event loop: after it there is another
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


COLORS = """() => [
    getComputedStyle(document.body).backgroundColor,
    ...[...document.querySelectorAll('[data-chart]:not([hidden])')].map(box => {
        const text = box.querySelector('.main-svg text');
        return text && getComputedStyle(text).fill;
    }),
]"""
"""Of the page, and of the first text of each chart as drawn; null where it has no text."""


def turn_dark(page: Page) -> None:
    """Switch an open page to the dark theme; returns when its charts are drawn again."""
    light = page.evaluate(COLORS)
    # with reduced motion no color is between the two themes when axe looks at it
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.wait_for_function(
        f"light => ({COLORS})().every((color, i) => color === null || color !== light[i])",
        arg=light,
    )


def wrong_in_both_themes(page: Page, violations: Callable[..., list[str]]) -> list[str]:
    """What axe finds on a light page, and after it has turned dark; it is light again then."""
    light = violations(page)
    turn_dark(page)
    dark = violations(page, only_colors=True)
    page.emulate_media(color_scheme="light")
    return light + dark


COLUMN_BEYOND = """([name, title]) => {
    const table = [...document.querySelectorAll('main .table-wrap > table')].find(one =>
        one.tHead.textContent.includes(title) && (one.parentElement
            .getAttribute('aria-labelledby') ?? 'objects').startsWith(name));
    const at = [...table.tHead.rows[0].cells].findIndex(
        cell => cell.textContent.trim() === title);
    const cells = [...table.tBodies[0].rows].map(row => row.cells[at]).filter(Boolean);
    return cells.map(cell => cell.getBoundingClientRect())
        .filter(box => box.left < 0 || box.right > innerWidth || !box.width).length
        + (cells.length ? 0 : 1);
}"""


def beyond(page: Page, table: str, title: str) -> int:
    """How many cells of a column are not whole on the screen; 1 if it has no cell.

    Args:
        page: an open page.
        table: how the id of the heading of the table begins; `objects` if it has none.
        title: of the column.
    """
    found: int = page.evaluate(COLUMN_BEYOND, [table, title])
    return found


@dataclass
class Visit:
    """A page of somebody who is signed in, and everything it complained about."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Note what the page complains about."""
        self.page.on("console", self._on_message)
        self.page.on("pageerror", self._on_error)

    def end(self) -> None:
        """No longer note what the page complains about."""
        self.page.remove_listener("console", self._on_message)
        self.page.remove_listener("pageerror", self._on_error)

    def _on_message(self, message: ConsoleMessage) -> None:
        """A clock that a test installs runs in all frames of its browser but those of mails."""
        of_mail = "/mail' because the document's frame is sandboxed" in message.text
        if message.type in {"error", "warning"} and not of_mail:
            self.complaints.append(f"{message.type}: {message.text}")

    def _on_error(self, error: Error) -> None:
        self.complaints.append(str(error))

    def open(self, path: str) -> Page:
        """Go there and wait until charts are drawn and fragments are in."""
        self.page.goto(self.address + path)
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('[data-chart]')]"
            ".every(box => box.hidden || box.querySelector('.main-svg'))"
            " && !document.querySelector('[data-card]')"
        )
        return self.page


SignIn = Callable[..., Visit]


@pytest.fixture(scope="session")
def cookies(story: Story, django_db_blocker: DjangoDbBlocker) -> dict[str, str]:
    """A session of each of the cast; signing in through the form has its own test."""
    del story
    found = {}
    with django_db_blocker.unblock():
        for user in get_user_model().objects.all():
            client = Client()
            client.force_login(user)
            found[user.get_username()] = client.cookies[
                settings.SESSION_COOKIE_NAME
            ].value
    return found


EMPTY = '<link rel="icon" href="data:,">'
"""A page that asks for nothing, at the address of the one before."""


@dataclass
class Seat:
    """The browser of one person, which tests use one after the other, and its first page.

    The first page stays open: with it the process stays, and in it all compiled scripts.
    """

    context: BrowserContext
    first: Page

    def leave(self) -> None:
        """Take away what a test has left: pages, cookies and what scripts have stored."""
        for page in self.context.pages:
            if page != self.first:
                page.close()
        self.context.clear_cookies()
        self.first.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.first.set_content(EMPTY)


Seats = dict[tuple[str, bool], Seat]


@pytest.fixture(scope="session")
def seats(browser: Browser) -> Iterator[Seats]:
    """The browsers that were opened, by name and whether scripts run."""
    del browser
    seats: Seats = {}
    yield seats
    for seat in seats.values():
        seat.context.close()


@pytest.fixture
def sign_in(
    browser: Browser, address: str, cookies: dict[str, str], seats: Seats
) -> Iterator[SignIn]:
    """Open a page as one of the cast: theme, width, and whether scripts run.

    With `is_kept` it is the page of the tests before: for tests that only look.
    """
    used: dict[tuple[str, bool], Seat] = {}
    visits: list[Visit] = []

    def _sign_in(
        name: str,
        *,
        theme: str = "light",
        width: int = WIDTH,
        scripts: bool = True,
        is_kept: bool = False,
    ) -> Visit:
        key = (name, scripts)
        if key not in seats:
            context = browser.new_context(
                java_script_enabled=scripts,
                permissions=["clipboard-read", "clipboard-write"],
            )
            seats[key] = Seat(context, context.new_page())
            seats[key].first.goto(f"{address}/sign-in")
        seat = used[key] = seats[key]
        cookie = {
            "name": settings.SESSION_COOKIE_NAME,
            "value": cookies[name],
            "url": address,
        }
        # a TypedDict of Playwright, which its users may not import
        seat.context.add_cookies([cookie])  # type: ignore[list-item]
        page = seat.first if is_kept else seat.context.new_page()
        page.set_viewport_size({"width": width, "height": HEIGHT})
        # a Literal of Playwright; tests name one of its two words
        page.emulate_media(color_scheme=theme, reduced_motion="no-preference")  # type: ignore[arg-type]
        visits.append(Visit(page, address))
        visits[-1].listen()
        return visits[-1]

    yield _sign_in
    for visit in visits:
        visit.end()
    for seat in used.values():
        seat.leave()


RULES = """{
    resultTypes: ["violations"],
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    rules: {"label-content-name-mismatch": {enabled: true}}
}"""
COLOR_RULES = (
    '{resultTypes: ["violations"],'
    ' runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}'
)
"""The rules of axe that read computed colors; no other one depends on the theme."""


@pytest.fixture
def violations() -> Callable[..., list[str]]:
    """What axe-core finds wrong on a page: rule, count and the first place.

    `only_colors` is for an open page whose theme has changed since all rules were tried.
    """

    def _violations(page: Page, *, only_colors: bool = False) -> list[str]:
        if page.evaluate("typeof axe === 'undefined'"):
            page.evaluate(
                AXE.read_text() + ";0"
            )  # the policy of the page stays in force
        rules = COLOR_RULES if only_colors else RULES
        found = page.evaluate(
            f"async () => (await axe.run(document, {rules})).violations"
        )
        return [
            f"{one['id']} x{len(one['nodes'])}: {one['nodes'][0]['html'][:160]}"
            f" -- {one['nodes'][0].get('failureSummary', '')[:300]}"
            for one in found
        ]

    return _violations
