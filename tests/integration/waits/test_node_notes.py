"""Nodes with problems on the page of queues and over REST, and whose names are shown."""

import re
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from accounting.core.interval import to_instant, to_ms
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.tasks.observe_queues import store_waits
from scheduler_view.waits.rules.world.world import read_world
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

GPU = "nvidia.com/gpu"
SILENT = "The labels of g0 show GPUs, but its device plugin reports none."


def cluster(*, is_repaired: bool = False) -> dict[str, list[dict[str, Any]]]:
    """A GPU node without a plugin, and a cordoned one with a pod that a budget keeps."""
    labels = {"app": "web"}
    offers = {GPU: "8"} if is_repaired else {}
    return {
        "Node": [
            {
                "metadata": {
                    "name": "g0",
                    "labels": {"nvidia.com/gpu.present": "true"},
                },
                "status": {"capacity": offers, "allocatable": offers},
            },
            {
                "metadata": {"name": "g1"},
                "spec": {"unschedulable": True},
                "status": {"capacity": {GPU: "8"}, "allocatable": {GPU: "8"}},
            },
        ],
        "Pod": [
            {
                "metadata": {
                    "name": "web",
                    "namespace": "search-prod",
                    "labels": labels,
                },
                "spec": {"nodeName": "g1"},
                "status": {"phase": "Running"},
            }
        ],
        "PodDisruptionBudget": [
            {
                "metadata": {
                    "name": "web",
                    "namespace": "search-prod",
                    "generation": 1,
                },
                "spec": {"selector": {"matchLabels": labels}},
                "status": {"disruptionsAllowed": 0, "observedGeneration": 1},
            }
        ],
    }


def observe(story: Story, at: datetime, **more: Any) -> None:
    store_waits(story.cluster, read_world(cluster(**more), to_ms(at)), at)


def texts(sign_in: SignIn, who: str) -> list[str]:
    answer = sign_in(who).get("/api/v1/node-notes")
    return [row["text"] for row in answer.json()["rows"]]


def test_a_note_lasts_from_its_first_observation_to_its_end(story: Story) -> None:
    first = timezone.now() - timedelta(hours=1)
    for minutes in (0, 5):
        observe(story, first + timedelta(minutes=minutes))
    run = ObservationRun.objects.get(kind="UnitWait")
    assert [one["kind"] for one in run.notes] == ["silent_nodes", "drains"]
    since = {to_instant(one["since_ms"]) for one in run.notes}
    assert since == {to_instant(to_ms(first))}
    observe(story, first + timedelta(minutes=10), is_repaired=True)
    run.refresh_from_db()
    assert [one["kind"] for one in run.notes] == ["drains"]


def test_notes_are_shown_without_names_of_other_teams(
    story: Story, sign_in: SignIn
) -> None:
    observe(story, timezone.now() - timedelta(hours=1))
    assert texts(sign_in, "ana") == [
        SILENT,
        "g1 is cordoned, and the disruption budget search-prod/web allows no eviction of "  # noqa: ISC004
        "1 pod there.",
    ]
    hidden = "g1 is cordoned, and the budget of another team allows no eviction of 1 pod there."
    assert texts(sign_in, "luis") == [SILENT, hidden], "luis leads vision"
    assert texts(sign_in, "omar") == [], "without a team"
    page = html_of(sign_in("luis").get("/gpus/pools"))
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "Nodes with problems" in words
    assert SILENT in words
    assert "search-prod/web" not in words
