"""The page of what-ifs: a request, its run in a worker, the answer, refusals, canceling.

Not here: the replay and the ranges (`tests/unit/what_if`); reading the
weeks (`tests/integration/what_if/test_recorded_weeks.py`).
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.pod import Workload
from scheduler_view.tasks import compute_what_ifs
from scheduler_view.what_if.models import WhatIfRun
from scheduler_view.what_if.tasks import runs
from scheduler_view.what_if.tasks.runs import LEASE, LostRunError, next_run, run
from tests.integration.conftest import SignIn
from tests.integration.quotas.test_quota_pages import text
from tests.integration.what_if.test_recorded_weeks import MODEL, Recorded

pytestmark = pytest.mark.django_db

VALUES: dict[str, Any] = {
    "cluster": "west",
    "weeks": "2",
    "name": "8 more",
    "model": f"nvidia.com/gpu {MODEL}",
    "change": "8",
    "rate": "2.50",
}


@pytest.fixture
def recorded(story: object) -> Recorded:
    """Beside the story's cluster one where each week a unit waits nine hours for another."""
    del story
    made = Recorded("west", "what-if")
    for week in range(2):
        made.hold(168 * week, 168 * week, 10)
        made.hold(168 * week + 1, 168 * week + 10, 10)
    return made


@pytest.fixture
def ana(recorded: Recorded, sign_in: SignIn) -> Client:
    del recorded
    return sign_in("ana")


def ask(person: Client, **changes: str) -> WhatIfRun:
    answer = person.post("/what-if", VALUES | changes)
    assert answer.status_code == 302, text(answer)
    return WhatIfRun.objects.latest("id")


def test_an_admin_asks_a_worker_answers_and_the_page_shows_ranges(ana: Client) -> None:
    assert "No what-ifs yet" in text(ana.get("/what-if"))
    found = ask(ana)
    page = text(ana.get("/what-if"))
    assert "8 more Queued 2 weeks of west" in page
    assert "by ana" in page
    assert 'hx-trigger="every 2s"' in ana.get("/what-if").content.decode()
    compute_what_ifs()
    found.refresh_from_db()
    assert (found.state, found.attempt, found.error) == ("done", 1, "")
    page = text(ana.get("/what-if"))
    assert "Calibrated BestFit is calibrated" in page or "is calibrated" in page
    assert "4 of 4 units (100.0%) bound within 60 s" in page
    assert "Mean wait in minutes 0.0 0.0 −270.0 −270.0 Yes" in page
    assert "Cost of installed GPUs a week – – 3,360.00 3,360.00 Yes" in page
    part = ana.get("/what-if", headers={"HX-Request": "true"}).content.decode()
    assert "every 2s" not in part
    assert "<html" not in part


def test_the_page_asks_for_a_share_on_spot(recorded: Recorded, ana: Client) -> None:
    job = Workload.objects.create(
        cluster=recorded.cluster,
        namespace=recorded.namespace,
        kind="RayJob",
        name="training",
    )
    recorded.hold(200, 200, 10, workload=job)
    spot = {"spot_share": "50", "spot_preempted": "2.4", "spot_rate": "1.00"}
    found = ask(ana, model="", change="", **spot, spot_checkpoint="60")
    assert found.request["scenarios"][0]["spot"] == {
        "share": "0.5",
        "preempted_per_day": "2.4",
        "checkpoint_minutes": 60,
        "rate": "1.00",
    }
    compute_what_ifs()
    page = text(ana.get("/what-if"))
    assert "Share of the work that may run on spot – – 100.0% 100.0%" in page
    assert "GPU-hours on spot in a week 0.0 84.1 +0.0 +84.1" in page
    assert "Cost of GPUs on spot a week 0.00 84.14 +0.00 +84.14" in page
    assert "Cost a week if what moved is not paid on demand" in page


def test_a_replay_that_is_too_far_off_is_shown_without_an_answer(
    recorded: Recorded, ana: Client
) -> None:
    for hour in range(100, 110):
        recorded.hold(hour * 2, hour * 2 + 1, 0.5, 1)
    ask(ana)
    compute_what_ifs()
    page = text(ana.get("/what-if"))
    assert "is too far from what was recorded: no answer" in page
    assert "Mean wait" not in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"change": ""}, "Choose a GPU model and enter how many"),
        ({"team": "vision"}, "Choose a team and enter its quota"),
        ({"spot_share": "50"}, "Enter how many percent run on spot and how often"),
        ({"spot_rate": "1"}, "Enter how many percent run on spot."),
        ({"spot_share": "0", "spot_preempted": "1"}, "greater than or equal to 0.01"),
        ({"weeks": "0"}, "greater than or equal to 1"),
        ({"cluster": "nowhere"}, "nowhere is not one of the available choices"),
    ],
)
def test_a_wrong_request_is_refused_with_the_reason(
    ana: Client, changes: dict[str, str], message: str
) -> None:
    answer = ana.post("/what-if", VALUES | changes)
    assert (answer.status_code, message in text(answer)) == (422, True), text(answer)
    assert not WhatIfRun.objects.exists()


def test_what_these_weeks_do_not_have_is_the_error_of_the_run(ana: Client) -> None:
    ask(ana, change="-16")
    ask(ana, team="vision", quota="4")
    compute_what_ifs()
    page = text(ana.get("/what-if"))
    assert "cannot be taken away: there are 8" in page
    assert "vision&#x27; held GPUs in these weeks" in page


def test_only_some_runs_wait_at_once(ana: Client) -> None:
    for _ in range(5):
        ask(ana)
    answer = ana.post("/what-if", VALUES)
    assert answer.status_code == 422
    assert "5 what-ifs are not finished" in text(answer)


def test_a_run_is_canceled_and_its_worker_stops(
    ana: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SIGN_S", 0.0)
    ask(ana)
    claimed = next_run()
    assert claimed is not None
    signs = runs._Signs(claimed)
    signs("what happened, FGD", 1, 4)
    page = text(ana.get("/what-if"))
    assert re.search(r"What happened, FGD: 25\S* ?%", page), page
    assert ana.post(f"/what-if/{claimed.pk}/cancel").status_code == 302
    with pytest.raises(LostRunError):
        signs("what happened, FGD", 2, 4)
    assert "Canceled by ana" in text(ana.get("/what-if"))
    assert not run(claimed)
    again = ana.post(f"/what-if/{claimed.pk}/cancel", follow=True)
    assert "nothing changed" in text(again)
    assert ana.get(f"/what-if/{claimed.pk}/cancel").status_code == 302


def test_another_worker_starts_the_run_of_a_killed_one(ana: Client) -> None:
    ask(ana)
    first = next_run()
    assert first is not None
    assert next_run() is None, "it is running"
    for attempt in (2, 3):
        long_ago = database_now() - LEASE - timedelta(seconds=1)
        WhatIfRun.objects.update(seen_at=long_ago)
        second = next_run()
        assert second is not None
        assert second.attempt == attempt
    assert not run(first), "the second one has it"
    WhatIfRun.objects.update(seen_at=database_now() - LEASE - timedelta(seconds=1))
    assert next_run() is None
    assert "Stopped 3 times without an error" in text(ana.get("/what-if"))
