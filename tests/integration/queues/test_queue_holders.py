"""The page of work that a queue of Kueue keeps back: who holds its quota, and its limits."""

import re
from datetime import datetime

import pytest
from django.utils import timezone

from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.models import Observation
from scheduler_view.waits.models import UnitWait, WaitRecord
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

GPUS = {"resource": "nvidia.com/gpu"}
FIELD = "h100/nvidia.com/gpu/nominalQuota"


def held(unit: str, units: int) -> dict[str, object]:
    return {
        "pod": unit.partition("/")[2],
        "uid": unit,
        "unit": unit,
        "resource": "nvidia.com/gpu",
        "units": units,
        "priority": 0,
        "priority_class": "",
        "is_own": False,
        "since_ms": None,
        "idle_since_ms": None,
    }


def record(story: Story, namespace: str, name: str, bound: datetime | None) -> int:
    return WaitRecord.objects.create(
        cluster=story.cluster,
        kind="Job",
        namespace=namespace,
        name=name,
        stage="" if bound else "held_back",
        cause="" if bound else "queue",
        bound_at=bound,
        created_at=timezone.now(),
    ).pk


@pytest.fixture
def number(story: Story, sign_in: SignIn) -> int:
    """Work of vision behind the queue `large`, which has let in work of vision and of search."""
    del sign_in
    now = timezone.now()
    record(story, "vision-prod", "tune", now)
    UnitWait.objects.create(
        cluster=story.cluster,
        kind="Job",
        namespace="vision-prod",
        name="train",
        stage="held_back",
        cause="queue",
        since=now,
        cause_since=now,
        changed_at=now,
        digest="",
        content={
            "contributing": [],
            "overlays": [],
            "pods": {"wanted": 1, "bound": 0, "waiting": 1},
            "resource": "nvidia.com/gpu",
            "units_per_pod": 8,
            "preemption": "none",
            "blockers": [],
            "blocker_sets": 0,
            "starts_if": [
                {"change": "end_let_in", "queue": "large", "units": 8} | GPUS,
                {"change": "raise_queue_value", "queue": "large", "more": 8, "to": 32}
                | {"object": "ClusterQueue", "field": FIELD}
                | GPUS,
            ],
            "evidence": [
                {"object": "Workload/vision-prod/train", "text": "8 more needed"},
                {"object": "Event/Pod x", "text": "max size reached", "at_ms": 0},
            ],
            "facts": {"queue": "l"},
            "priority_class": "",
            "cluster_queue": "large",
            "let_in": [
                held("Job/search-prod/index", 16),
                held("Job/vision-prod/tune", 8),
            ],
        },
    )
    quota = {"name": "nvidia.com/gpu", "nominalQuota": "24", "borrowingLimit": "8"}
    flavors = [{"name": "h100", "resources": [quota]}]
    Observation.objects.create(
        cluster=story.cluster,
        kind="ClusterQueue",
        name="large",
        uid="u",
        resource_version="1",
        digest="",
        changed_at=now,
        manifest={
            "metadata": {"name": "large"},
            "spec": {
                "resourceGroups": [
                    {"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}
                ]
            },
        },
    )
    return record(story, "vision-prod", "train", None)


def text(answer: object) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html_of(answer)).split())


def test_who_holds_the_quota_of_a_queue_is_named(number: int, sign_in: SignIn) -> None:
    answer = sign_in("ana").get(f"/queues/{number}")
    page = text(answer)
    assert "Work that its queue large has admitted" in page
    assert re.search("search-prod/index ?: 16 GPUs", page)
    assert "nominalQuota 24" in page
    assert "Reported: 8 more needed" in page
    assert re.search("All 2 reports .* Event/Pod x, .*: max size reached", page)
    assert "borrowingLimit 8" in page
    assert "admits it" not in page, "that is a circle"
    assert "Enough work in the queue large ends to free 8 GPUs." in page
    assert "in the ClusterQueue large is raised by 8 GPUs, to 32" in page
    tune = WaitRecord.objects.get(name="tune").pk
    assert f'<a href="/queues/{tune}">vision-prod/tune</a>' in html_of(answer)


def test_work_of_a_whole_cohort_is_named_as_such(number: int, sign_in: SignIn) -> None:
    wait = UnitWait.objects.get(name="train")
    ends = {"change": "end_let_in", "queue": "all", "object": "Cohort/all", "units": 8}
    wait.content |= {"cohort": "all", "starts_if": [ends | GPUS]}
    wait.save()
    page = text(sign_in("ana").get(f"/queues/{number}"))
    assert (
        "Work that the queues of the cohort all have admitted, most GPUs first." in page
    )
    assert "Enough work in the cohort all ends to free 8 GPUs." in page
    assert "search-prod/index" in page


def test_a_lead_sees_no_names_of_others_and_no_limits(
    number: int, sign_in: SignIn
) -> None:
    page = text(sign_in("luis").get(f"/queues/{number}"))
    assert "Work of search: 16 GPUs" in page
    assert "vision-prod/tune" in page
    assert "search-prod/index" not in page
    assert "borrowingLimit" not in page
    assert "is raised by 8 GPUs" in page
    assert "to 32" not in page, "that shows the quota"


def test_an_administrator_drafts_the_larger_quota(number: int, sign_in: SignIn) -> None:
    ana = sign_in("ana")
    assert "Draft 32 for the queue large" in text(ana.get(f"/queues/{number}"))
    answer = ana.post(f"/queues/{number}/draft", {"field": FIELD})
    made = ChangeSet.objects.get()
    assert answer.headers["Location"] == f"/changes/{made.pk}"
    (edit,) = made.edits
    assert (made.state, edit["field"], edit["value"]) == ("draft", FIELD, "32")
    assert made.reason == "vision-prod/train waits for the queue large"
    lead = sign_in("luis").post(f"/queues/{number}/draft", {"field": FIELD})
    assert lead.status_code == 403
    other = sign_in("ana").post(f"/queues/{number}/draft", {"field": "h100/cpu/x"})
    assert other.status_code == 404


def test_a_draft_for_work_with_long_names(number: int, sign_in: SignIn) -> None:
    long = f"{'train-' * 40}0"
    for rows in (UnitWait.objects, WaitRecord.objects):
        rows.filter(name="train").update(name=long)
    answer = sign_in("ana").post(f"/queues/{number}/draft", {"field": FIELD})
    assert answer.status_code == 302
    assert ChangeSet.objects.get().reason.startswith("vision-prod/train-train-")


@pytest.mark.usefixtures("number")
def test_lists_name_who_holds_the_quota_of_a_queue(sign_in: SignIn) -> None:
    for path in ("/quotas/pending", "/teams/vision/quota"):
        page = text(sign_in("ana").get(path))
        assert re.search("search-prod/index ?: 16 GPUs", page), path
