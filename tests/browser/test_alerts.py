"""Alerts in a browser: one is archived with a reason and shown again; another threshold.

Not here: figures and rights (tests/integration/alerts).
"""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from playwright.sync_api import expect
from pytest_django import DjangoDbBlocker

from scheduler_view.alerts.models import Alert, AlertCheck, AlertNote, AlertThreshold
from scheduler_view.alerts.rules.catalogue import AlertRule
from scheduler_view.alerts.tasks import look
from scheduler_view.idle.models import IdleHold, IdleLook
from scheduler_view.idle.tasks import find_idle
from tests.browser.conftest import SignIn, turn_dark
from tests.browser.forget import forget
from tests.browser.test_idle import MARA, clean
from tests.story import Story

REASON = "Known, the demo ends on Friday."


@pytest.fixture(scope="module", autouse=True)
def fired(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Alerts of the story."""
    with django_db_blocker.unblock():
        find_idle(story.cluster)
        for rule in (AlertRule.IDLE, AlertRule.NAMESPACE, AlertRule.HOT):
            look(rule)
        yield
        for model in (AlertNote, AlertThreshold):
            forget(model)
        for rows in (Alert, AlertCheck, IdleHold, IdleLook):
            rows.objects.all().delete()
    connection.close()


def test_keys_go_through_alerts(sign_in: SignIn) -> None:
    page = sign_in("luis").open("/alerts")
    page.keyboard.press("j")
    row = page.locator("main tr[data-at]")
    expect(row).to_contain_text(MARA)
    address = row.get_attribute("data-href") or ""
    assert address
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")


def test_a_lead_archives_an_alert_and_shows_it_again(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    page = sign_in("luis").open("/")
    page.get_by_role("link", name="Alerts, 1 new").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Alerts")
    expect(page.locator("p.lede")).to_contain_text("1 alert needs you.")
    clean(page, violations)
    turn_dark(page)  # and so are the next ones
    clean(page, violations)
    page.get_by_role("link", name=f"Archive {MARA}").click()
    clean(page, violations)
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("is archived until it grows by half.")).to_be_visible()
    expect(page.get_by_text("Nothing needs you")).to_be_visible()
    clean(page, violations)
    page.get_by_role("link", name="Archived", exact=True).click()
    expect(page.get_by_text(REASON)).to_be_visible()
    clean(page, violations)
    page.get_by_role("link", name="Show again").click()
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Alerts, 1 new")).to_be_visible()


def test_an_administrator_sees_what_a_threshold_would_have_fired(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    page = sign_in("ana").open("/alerts/rules")
    clean(page, violations)
    page.get_by_role("link", name="Change Idle GPUs").click()
    clean(page, violations)
    page.get_by_label("8 h:").check()
    page.get_by_label("Reason").fill("Two hours are too loud for us.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The threshold of “Idle GPUs” is saved.")).to_be_visible()
    expect(page.get_by_role("row", name="Idle GPUs")).to_contain_text("8 h")
