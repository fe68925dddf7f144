"""Quotas edited in the browser, reviewed, applied and undone; a worker runs beside.

The cluster is the demo's API server. What the tests apply stays for the next one, as it would.
"""

import re
from collections.abc import Callable, Iterator
from threading import Event, Thread

import pytest
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from scheduler_view.changes.actions import due_work
from tests.browser.conftest import SignIn, beyond, turn_dark, wrong_in_both_themes
from tests.integration.changes.office import Office, quota
from tests.integration.quotas.desk import desk_of
from tests.story import Story

PHONE = 320
WIDTH_OF_PAGE = "document.documentElement.scrollWidth"
REASON = "Half of it is idle since the re-index ended. OPS-4812"
WAIT_MS = 5_000  # before a change is sent
LONG_MS = 60_000  # the machine of the tests may be busy
Violations = Callable[..., list[str]]


@pytest.fixture(scope="module")
def desk(
    story: Story,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Office]:
    """Quotas and tiers on a cluster, and a worker that takes what is due."""
    folder = tmp_path_factory.mktemp("desk")
    with django_db_blocker.unblock(), desk_of(story, folder) as office:
        office.applied(quota(28))
        office.applied(quota(24))
        ending = Event()
        worker = Thread(target=_work, args=(office.cluster.pk, ending))
        worker.start()
        yield office
        ending.set()
        worker.join()
    connection.close()  # this one's own: after the browser there is another


def _work(cluster_id: int, ending: Event) -> None:
    while not ending.wait(0.3):
        due_work.work(cluster_id, now=timezone.now)
    connection.close()


def edit_two(page: Page, vision: str, search: str) -> None:
    """Other numbers in two rows, and a reason; up to the review."""
    page.get_by_role("textbox", name="Quota of Vision").fill(vision)
    page.get_by_role("textbox", name="Quota of Search").fill(search)
    expect(page.locator("[data-count]")).to_have_text("2 edits.")
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Review plan").click()
    expect(page.locator("#change")).to_have_attribute(
        "data-state", "planned", timeout=LONG_MS
    )


def test_two_quotas_are_edited_and_reviewed(
    desk: Office, sign_in: SignIn, violations: Violations
) -> None:
    del desk
    visit = sign_in("ana")
    page = visit.open("/quotas")
    assert wrong_in_both_themes(page, violations) == []
    edit_two(page, "16", "14")
    expect(page.get_by_role("heading", name="What this will do")).to_be_visible()
    expect(page.locator("#change")).to_contain_text(
        "1 quota raised, 1 quota lowered: 2 objects changed"
    )
    assert wrong_in_both_themes(page, violations) == []
    page.get_by_text("View as YAML").click()
    expect(page.locator(".diff tr.new").first).to_be_visible()
    page.get_by_role("link", name="Side by side").click()
    expect(page.locator(".diff.side").first).to_be_visible()
    assert wrong_in_both_themes(page, violations) == []
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#change")).to_have_attribute("data-state", "discarded")


def test_what_is_in_use_stands_beside_its_bar(desk: Office, sign_in: SignIn) -> None:
    del desk
    page = sign_in("ana").open("/quotas")
    cell = page.locator("[data-quota] .meter-cell").first
    bar, text = cell.locator("svg").bounding_box(), cell.locator(".of").bounding_box()
    assert bar is not None
    assert text is not None
    gap = text["x"] - (bar["x"] + bar["width"])
    assert 0 <= gap <= 16
    middle, other = (box["y"] + box["height"] / 2 for box in (bar, text))
    assert abs(middle - other) <= 4
    assert re.fullmatch(r"\d+ of \d+", cell.locator(".of").inner_text())


def test_five_seconds_to_think_again_then_applied_and_undone(
    desk: Office, sign_in: SignIn
) -> None:
    visit = sign_in("ana")
    page = visit.open("/quotas")
    edit_two(page, "20", "18")
    page.get_by_role("button", name="Apply 2 changes").click()
    expect(page.locator("[data-said]")).to_contain_text("Applying in")
    stop = page.get_by_role("button", name="Cancel")
    expect(stop).to_be_focused()
    stop.click()
    expect(page.locator("[data-said]")).to_have_text("Nothing was sent.")
    page.get_by_role("button", name="Apply 2 changes").click()
    expect(page.locator("#change")).to_have_attribute(
        "data-state", "applied", timeout=LONG_MS
    )
    assert desk.hard("vision-prod") == {"requests.nvidia.com/gpu": "20"}
    page.get_by_label("Reason for undoing").fill("It was a slip of the hand.")
    page.get_by_role("button", name="Plan the undo").click()
    expect(page.locator("h1")).to_contain_text("Undo of")
    page.get_by_role("button", name="Apply 2 changes").click(timeout=LONG_MS)
    expect(page.locator("#change")).to_have_attribute(
        "data-state", "applied", timeout=LONG_MS
    )
    assert desk.hard("vision-prod") == {"requests.nvidia.com/gpu": "24"}
    assert visit.complaints == []


def apply(page: Page) -> None:
    """Apply what is planned; returns when the page says that it is applied.

    The page's clock is `page.clock`, which runs through the seconds to think again.
    """
    expect(page.locator("#change")).to_have_attribute(
        "data-state", "planned", timeout=LONG_MS
    )
    page.get_by_role("button", name=re.compile(r"Apply \d+ change")).click()
    expect(page.locator("[data-said]")).to_contain_text("Applying in")
    page.clock.run_for(WAIT_MS)
    expect(page.locator("#change")).to_have_attribute(
        "data-state", "applied", timeout=LONG_MS
    )


def undo(page: Page, address: str) -> None:
    """Take a change back from its page."""
    page.goto(address)
    page.get_by_label("Reason for undoing").fill("It was a slip of the hand.")
    page.get_by_role("button", name="Plan the undo").click()
    expect(page.locator("h1")).to_contain_text("Undo of")
    apply(page)


def test_two_quotas_and_a_tier_change_in_the_cluster_and_come_back(
    desk: Office, sign_in: SignIn, violations: Violations
) -> None:
    visit = sign_in("ana")
    visit.page.clock.install()
    page = visit.open("/quotas")
    edit_two(page, "21", "15")
    apply(page)
    quotas = page.url
    assert violations(page) == []
    expect(page.locator(".objects .badge.ok", has_text="Applied")).to_have_count(2)
    assert desk.hard("vision-prod") == {"requests.nvidia.com/gpu": "21"}
    assert desk.hard("search-prod") == {"requests.nvidia.com/gpu": "15"}

    page = visit.open("/tiers")
    page.get_by_role("link", name="Edit tier batch").click()
    assert violations(page) == []
    page.get_by_label("Value").fill("2000")
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Review plan").click()
    expect(page.locator("#change")).to_contain_text(
        "batch-v1 stays for workloads that use it", timeout=LONG_MS
    )
    apply(page)
    tier = page.url
    assert violations(page) == []
    made = desk.priority_class("batch-v2")
    assert (made["value"], made["globalDefault"]) == (2000, True)
    assert not desk.priority_class("batch-v1").get("globalDefault")
    expect(visit.open("/tiers").locator("tr", has_text="batch-v2")).to_contain_text(
        "earlier: batch-v1"
    )
    page = visit.open("/quotas")
    row = page.locator("tr[data-quota]", has_text="Vision")
    expect(row.get_by_role("textbox")).to_have_value("21")
    expect(row).to_contain_text("In sync")
    assert violations(page) == []

    undo(page, tier)
    assert desk.priority_class("batch-v1")["globalDefault"]
    assert not desk.priority_class("batch-v2").get("globalDefault")
    undo(page, quotas)
    assert violations(page) == []
    assert desk.hard("vision-prod") == {"requests.nvidia.com/gpu": "24"}
    assert desk.hard("search-prod") == {"requests.nvidia.com/gpu": "12"}
    expect(
        visit.open(quotas.removeprefix(visit.address)).locator("#change")
    ).to_have_attribute("data-state", "undone")


def test_two_quotas_and_a_tier_are_one_change_set(
    desk: Office, sign_in: SignIn, violations: Violations
) -> None:
    visit = sign_in("ana")
    visit.page.clock.install()
    page = visit.open("/quotas")
    edit_two(page, "22", "16")
    name = re.search(r"CS-\d+", page.locator("h1").inner_text())
    assert name is not None

    page = visit.open("/tiers")
    page.get_by_role("link", name="Edit tier urgent").click()
    into = page.get_by_label("Add to")
    shown = into.locator("option:checked").evaluate("option => option.text")
    assert shown == f"{name.group()} (planned, 2 edits)"
    assert violations(page) == []
    page.get_by_label("Value").fill("60000")
    page.get_by_role("button", name="Review plan").click()
    expect(page.locator("h1")).to_contain_text(name.group())
    expect(page.locator(".asked > li")).to_have_count(3)

    page = visit.open("/quotas")
    expect(page.get_by_label("Add to")).to_have_count(1)
    assert violations(page) == []
    page.get_by_role("textbox", name="Quota of Vision").fill("23")
    page.get_by_role("button", name="Review plan").click()
    expect(page.locator(".asked")).to_contain_text("23 GPUs instead of 22")
    expect(page.locator("#change")).to_have_attribute(
        "data-state", "planned", timeout=LONG_MS
    )
    assert violations(page) == []
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
    apply(page)
    assert desk.hard("vision-prod") == {"requests.nvidia.com/gpu": "23"}
    assert desk.hard("search-prod") == {"requests.nvidia.com/gpu": "16"}
    assert desk.priority_class("urgent-v2")["value"] == 60_000
    undo(page, page.url)
    assert desk.hard("vision-prod") == {"requests.nvidia.com/gpu": "24"}
    assert desk.priority_class("urgent-v1")["value"] == 50_000


def test_edits_are_counted_and_taken_back(desk: Office, sign_in: SignIn) -> None:
    del desk
    page = sign_in("ana").open("/quotas")
    review = page.get_by_role("button", name="Review plan")
    footer = page.locator("form[data-edits]")
    expect(review).to_be_disabled()
    expect(footer).to_have_css("position", "static")  # nothing to say: in nobody's way
    field = page.get_by_role("textbox", name="Quota of Vision")
    before = field.input_value()
    field.fill("7")
    expect(page.locator("tr.edited")).to_have_count(1)
    expect(footer).to_have_css("position", "sticky")
    field.fill(before)
    expect(review).to_be_disabled()
    expect(footer).to_have_css("position", "static")
    field.fill("7")
    page.get_by_role("button", name="Discard").click()
    expect(field).to_have_value(before)
    expect(review).to_be_disabled()


@pytest.mark.parametrize(
    "path", ["/changes", "/changes/1", "/tiers", "/teams/vision/quota", "/audit"]
)
def test_pages_with_content_are_clean_and_fit_a_small_phone(
    desk: Office, sign_in: SignIn, violations: Violations, path: str
) -> None:
    del desk
    page = sign_in("ana", is_kept=True).open(path)
    assert violations(page) == []
    turn_dark(page)
    assert violations(page, only_colors=True) == []
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE


@pytest.mark.parametrize(
    ("path", "table", "title"),
    [
        ("/changes/1", "objects", "After"),
        ("/changes/1", "objects", "Before"),
        ("/changes", "changes", "State"),
        ("/changes", "changes", "Plan"),
        ("/quotas", "quotas", "In use"),
        ("/quotas", "quotas", "In the cluster"),
        ("/teams/vision/quota", "now-title", "Pending"),
        ("/audit", "audit", "Before → after"),
    ],
)
def test_what_decides_is_on_the_screen_of_a_phone(
    desk: Office, sign_in: SignIn, path: str, table: str, title: str
) -> None:
    del desk
    page = sign_in("ana", width=390, is_kept=True).open(path)
    assert beyond(page, table, title) == 0


def test_the_keyboard_alone_edits_a_quota(desk: Office, sign_in: SignIn) -> None:
    del desk
    page = sign_in("ana").open("/changes")
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url("**/quotas")
    page.get_by_role("textbox", name="Quota of Vision").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("11")
    page.get_by_label("Reason").focus()
    page.keyboard.type(REASON)
    page.keyboard.press("Enter")
    page.wait_for_url("**/changes/*")
    expect(page.locator("#change")).to_have_attribute(
        "data-state", "planned", timeout=LONG_MS
    )
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#change")).to_have_attribute("data-state", "discarded")


@pytest.mark.parametrize("path", ["/quotas", "/teams/vision/quota"])
def test_quotas_keep_the_policy_and_fit_a_small_phone(
    desk: Office, sign_in: SignIn, path: str
) -> None:
    del desk
    visit = sign_in("ana", is_kept=True)
    page = visit.open(path)
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
    assert visit.complaints == []


def test_a_lead_asks_an_admin_declines_and_the_lead_reads_why(
    desk: Office, sign_in: SignIn, violations: Violations
) -> None:
    """The form with its numbers, the badge, the reason, and no dead link."""
    del desk
    lead = sign_in("luis")
    page = lead.open("/teams/vision/quota")
    assert violations(page) == []
    for link in page.get_by_role("link", name=re.compile("^CS-")).all():
        address = link.get_attribute("href")
        assert page.request.get(f"{lead.address}{address}").status == 200
    expect(page.get_by_label("Pool").locator("option").first).to_contain_text("in use")
    page.get_by_label("New quota").fill("many")
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Send request").click()
    expect(page.get_by_label("New quota")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#ask-card")).to_contain_text("is not a whole number")
    assert violations(page) == []
    page.get_by_label("New quota").fill("40")
    page.get_by_role("button", name="Send request").click()
    expect(page.locator("h1")).to_contain_text("Vision: 24 → 40 GPUs")
    address = page.url.removeprefix(lead.address)

    admin = sign_in("ana")
    page = admin.open("/")
    page.get_by_role("link", name=re.compile("Quotas ?, 1 waits for you")).click()
    page.get_by_role("link", name=re.compile("Changes ?, 1 waits for you")).click()
    expect(page.get_by_role("heading", name="Waiting for you")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("link", name="Vision: 24 → 40 GPUs").first.click()
    page.get_by_text("Decline…").click()
    assert violations(page) == []
    page.get_by_label("Reason for declining").fill("No node is free before December.")
    page.get_by_role("button", name="Decline").click()
    expect(page.locator("#change")).to_have_attribute("data-state", "declined")
    assert violations(page) == []

    page = lead.open(address)
    expect(page.locator(".strip.danger")).to_have_text(
        "Declined by ana: No node is free before December."
    )
    page = lead.open("/teams/vision/quota")
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
