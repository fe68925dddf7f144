"""What people come for, with their clicks counted: from the page that they open first."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from accounting.notifications.models import Notification
from scheduler_view.changes.models import ChangeSet
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.savings.models import RecommendationDecision
from scheduler_view.waits.models import UnitWait, WaitRecord
from tests.browser.conftest import SignIn
from tests.browser.forget import forget
from tests.story import Story

GPU = "nvidia.com/gpu"
WORK, MARA = "train-next", "notebook-mara"


@pytest.fixture(scope="module", autouse=True)
def waiting(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Work of vision that the quota of its team keeps out."""
    with django_db_blocker.unblock():
        QuotaTarget.objects.all().delete()  # which other modules have left
        QuotaTarget.objects.create(
            cluster=story.cluster,
            team=story.teams["vision"],
            resource=GPU,
            gpus=8,
            split={"vision-prod": 8},
            version=0,
        )
        since = timezone.now() - timedelta(hours=2)
        work = {
            "cluster": story.cluster,
            "kind": "Job",
            "namespace": "vision-prod",
            "name": WORK,
            "stage": "refused",
            "cause": "quota",
        }
        raised = {"change": "raise_quota", "key": f"requests.{GPU}", "to": 12}
        UnitWait.objects.create(
            **work,
            since=since,
            cause_since=since,
            changed_at=since,
            digest="",
            content={
                "contributing": [],
                "overlays": [],
                "pods": {"wanted": 1, "bound": 0, "waiting": 1},
                "resource": GPU,
                "units_per_pod": 4,
                "preemption": "none",
                "blockers": [],
                "blocker_sets": 0,
                "starts_if": [raised | {"quota": "vision-prod/gpu-ledger"}],
                "evidence": [],
                "facts": {},
                "priority_class": "",
            },
        )
        WaitRecord.objects.create(**work, created_at=since)
        yield
        forget(ChangeSet)
        forget(RecommendationDecision, Notification)
        UnitWait.objects.filter(name=WORK).delete()
        WaitRecord.objects.filter(name=WORK).delete()
        QuotaTarget.objects.all().delete()
    connection.close()


COUNT = "window.onclick = () => localStorage.clicks = 1 + +localStorage.clicks"


def counted(page: Page) -> Callable[[], int]:
    """How often something was clicked since; a page has one such counter."""
    page.add_init_script(COUNT)
    page.reload()
    page.evaluate("localStorage.clicks = 0")
    return lambda: int(page.evaluate("+localStorage.clicks"))


def test_a_lead_requests_what_waiting_work_needs(sign_in: SignIn) -> None:
    """My job waits: why, and what can I do?"""
    page = sign_in("luis").open("/teams/vision")
    clicks = counted(page)
    page.get_by_role("link", name=WORK).first.click()
    expect(page.get_by_text("has waited for")).to_be_visible()
    page.get_by_role(
        "button", name="Request a quota of 12 GPUs, 4 more for vision-prod"
    ).click()
    expect(page.get_by_text("An administrator decides")).to_be_visible()
    assert clicks() == 2


def test_a_lead_sees_the_gpus_of_work(sign_in: SignIn) -> None:
    """On which GPUs was it, and how busy were they?"""
    today = timezone.now().date()
    days = f"from={today - timedelta(days=1)}&to={today + timedelta(days=1)}"
    page = sign_in("luis").open(f"/teams/vision?{days}")
    clicks = counted(page)
    families = page.get_by_role("region", name="Workload families")
    name = families.get_by_role("rowheader").first.get_by_role("link").inner_text()
    families.get_by_role("link", name=name).click()
    held = page.get_by_role("region", name="GPUs held")
    held.get_by_role("link", name="GPUs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("GPUs and nodes")
    expect(page.get_by_role("table").get_by_text(name).first).to_be_visible()
    assert clicks() == 2


def test_a_lead_asks_who_can_save_most(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    """What wastes most, and what is done about it?"""
    page = sign_in("luis").open("/teams/vision")
    clicks = counted(page)
    page.get_by_role("link", name="Savings").click()
    expect(page.get_by_text("would save")).to_be_visible()
    page.get_by_role("link", name=f"Ask about {MARA}").click()
    assert "a month" in page.get_by_label("Message").input_value()
    assert violations(page) == []
    page.get_by_label("To").fill("mia")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("nothing was mailed to mia")).to_be_visible()
    assert clicks() == 3
