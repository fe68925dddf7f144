"""The story that the screens must show is in the simulated cluster itself."""

import numpy as np
import pytest

from portal.demo.scenario.activity import utilization
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.pod import WorkloadType
from portal.demo.scenario.story import (
    DAY_S,
    HOUR_S,
    WEEK_S,
    Story,
    is_workday,
    local_day,
)
from tests.unit.portal.demo.conftest import NOW_S

pytestmark = pytest.mark.timeout(60)
STEP_S = 600
RATES = {  # EUR per GPU-hour, as in demo.yaml; (on demand, spot)
    "h100": (3.2, 3.2),
    "a100-80": (2.35, 0.88),
    "a100-40": (1.55, 0.64),
    "a10g": (1.02, 0.41),
    "l4": (0.74, 0.3),
    "t4": (0.45, 0.45),
    "mi300x": (2.6, 2.6),
    "a6000": (0.0, 0.0),
}


class Month:
    """What was held, busy, paid and waited for in a stretch of time."""

    def __init__(self, engine: Engine, start_s: int, end_s: int) -> None:
        self.held = self.busy = self.spend = 0.0
        self.waits: list[int] = []
        for pod in engine.pods_between(start_s, end_s):
            if pod.request.kind == WorkloadType.TRAINING and pod.created_s >= start_s:
                bound = end_s if pod.bound_s is None else pod.bound_s
                self.waits.append(bound - pod.created_s)
            if pod.node is None or pod.bound_s is None:
                continue
            low = max(start_s, pod.bound_s)
            high = end_s if pod.ended_s is None else min(end_s, pod.ended_s)
            times = np.arange(low, high, STEP_S)
            rate = RATES[pod.node.pool.name][pod.node.lifecycle == "spot"]
            for slot in pod.units:
                self.busy += float(utilization(engine.story, pod, slot, times).sum())
                self.held += len(times)
                self.spend += len(times) * STEP_S / HOUR_S * rate
        self.days = (end_s - start_s) / DAY_S

    @property
    def busy_share(self) -> float:
        return self.busy / self.held

    def wait(self, quantile: float) -> int:
        return sorted(self.waits)[int(len(self.waits) * quantile)]


@pytest.fixture(scope="module")
def before(engine: Engine) -> Month:
    return Month(engine, engine.story.start_s, engine.story.change_s)


@pytest.fixture(scope="module")
def after(engine: Engine) -> Month:
    story = engine.story
    return Month(engine, story.change_s + 2 * DAY_S, story.start_s + story.length_s)


def test_eight_weeks_change_in_their_middle(engine: Engine) -> None:
    story = engine.story
    assert story.change_s - story.start_s == 4 * WEEK_S
    assert NOW_S - story.start_s >= 8 * WEEK_S


def test_a_third_is_busy_at_first_and_two_thirds_later(
    before: Month, after: Month
) -> None:
    assert 0.28 < before.busy_share < 0.38
    assert 0.61 < after.busy_share < 0.72


def test_more_is_computed_for_less_money(before: Month, after: Month) -> None:
    assert after.spend / after.days < 0.75 * before.spend / before.days
    assert after.busy / after.days > 1.2 * before.busy / before.days


def test_waits_become_shorter(before: Month, after: Month) -> None:
    assert before.wait(0.9) > HOUR_S
    assert after.wait(0.9) < 300
    assert (
        sum(after.waits) / len(after.waits) < sum(before.waits) / len(before.waits) / 5
    )


def test_work_follows_the_week(engine: Engine) -> None:
    """Fewer pods are made at night and at weekends."""
    counts = {True: 0, False: 0}
    for pod in engine.pods:
        if pod.request.kind in (WorkloadType.TRAINING, WorkloadType.NOTEBOOK):
            counts[is_workday(local_day(pod.created_s))] += 1
    assert counts[True] / 5 > 2 * counts[False] / 2


def test_honest_faults_are_in_the_history(engine: Engine) -> None:
    nodes = list(engine.nodes.values())
    assert any(node.outages for node in nodes)
    assert any(node.swaps for node in nodes)
    assert any(node.strays for node in nodes)
    assert any(node.name.endswith("b") for node in nodes)  # replaced
    assert any(not node.lifecycle for node in nodes)
    assert not engine.is_kube_seen(engine.kube_outages[0].start_s)
    assert any(pod.request.namespace == "hackathon" for pod in engine.pods)


def test_a_short_story_changes_in_its_middle_too() -> None:
    story = Story.ending_at(NOW_S, seed=1, days=7, gpus=24)
    assert story.change_s - story.start_s == 3 * DAY_S


def test_no_pod_outlives_the_gpu_that_it_runs_on(engine: Engine) -> None:
    swapped = [
        (node, slot, at_s)
        for node in engine.nodes.values()
        for at_s, slot, _ in node.swaps
    ]
    assert swapped
    for node, slot, at_s in swapped:
        outlives = [
            pod.request.name
            for pod in engine.pods
            if pod.node is node and slot in pod.units
            if pod.bound_s is not None and pod.bound_s < at_s
            if pod.ended_s is None or pod.ended_s > at_s
        ]
        assert outlives == []
