"""Values of queues on the page of quotas: both themes, a phone, and the count of edits.

How they are planned and applied: `tests/integration/clusters/schedulers`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django import DjangoDbBlocker

from scheduler_view.clusters.models import Drift, Observation
from scheduler_view.quotas.models import QueueTarget
from tests.browser.conftest import SignIn, turn_dark
from tests.story import Story

PHONE = 320
GPU = "nvidia.com/gpu"
NOMINAL = f"a100/{GPU}/nominalQuota"
OBJECTS: dict[str, dict[str, Any]] = {
    "ClusterQueue": {
        "spec": {
            "resourceGroups": [
                {
                    "coveredResources": [GPU],
                    "flavors": [
                        {
                            "name": "a100",
                            "resources": [{"name": GPU, "nominalQuota": "9"}],
                        }
                    ],
                }
            ]
        }
    },
    "VolcanoQueue": {"spec": {"weight": 1, "capability": {GPU: "8"}}},
    "KaiQueue": {"spec": {"resources": {"gpu": {"quota": 0.5}}}},
    "WorkloadPriorityClass": {"value": 100, "description": "For nights."},
}


@pytest.fixture(scope="module")
def values(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A queue of each scheduler; one number differs from what GPU Ledger set."""
    now = timezone.now()
    with django_db_blocker.unblock():
        for kind, manifest in OBJECTS.items():
            Observation.objects.create(
                cluster=story.cluster,
                kind=kind,
                name="vision-and-speech",
                uid=kind,
                digest=kind,
                manifest={"metadata": {"name": "vision-and-speech"}, **manifest},
                changed_at=now,
            )
        place = {"cluster": story.cluster, "kind": "ClusterQueue"}
        place |= {"name": "vision-and-speech"}
        QueueTarget.objects.create(**place, field=NOMINAL, value="12", version=1)
        Drift.objects.create(
            **place,
            state="differs",
            since=now,
            changes=[[NOMINAL, "12", "9"]],
            who="kubectl-edit",
            message=f"{NOMINAL} is 9, wanted 12. Changed by kubectl-edit.",
        )
        yield
        for model in (QueueTarget, Drift, Observation):
            model.objects.filter(cluster=story.cluster, kind__in=OBJECTS).delete()
    connection.close()  # this one's own: after the browser there is another


@pytest.mark.usefixtures("values")
def test_values_of_queues_are_clean_and_fit_a_small_phone(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    visit = sign_in("ana")
    page = visit.open("/quotas?cluster=north")
    assert page.get_by_role("heading", name="Values of queues").count() == 1
    assert page.get_by_role("button", name="Plan to restore").count() == 1
    assert violations(page) == []
    turn_dark(page)
    assert violations(page, only_colors=True) == []
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert visit.complaints == []


@pytest.mark.usefixtures("values")
def test_edits_of_queues_and_quotas_are_counted_together(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/quotas?cluster=north")
    field = page.get_by_role("textbox", name=f"{NOMINAL} of vision-and-speech")
    expect(field).to_have_value("12")
    field.fill("14")
    page.get_by_role("textbox", name="gpu/quota of vision-and-speech").fill("")
    expect(page.locator("[data-count]")).to_have_text("2 edits.")
    assert page.locator("tr[data-queue].edited").count() == 2
    expect(page.get_by_role("button", name="Review plan")).to_be_enabled()
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("[data-count]")).to_have_text("0 edits.")
