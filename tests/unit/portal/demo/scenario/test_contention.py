"""Work waits at any hour: behind a queue, for a quota, as part of a gang, below other tiers.

Aspects: every hour has waiting work of each lasting kind; queues and preemption keep their rules; a
gang works only when it is complete; nodes are cordoned in turn. Not here: what the pages show of it
(tests/integration/portal/test_demo_scheduling.py).
"""

from collections import Counter

import numpy as np
import pytest

from portal.demo.metrics.queues import queue_text
from portal.demo.scenario.activity import utilization
from portal.demo.scenario.edits import Edit
from portal.demo.scenario.engine import PREEMPTION_S, Engine
from portal.demo.scenario.organization import CLASSES, NEVER, QUOTAS, TIERS
from portal.demo.scenario.queues import CLUSTER_QUEUES
from portal.demo.scenario.standing import ARRAYS, JOBS
from portal.demo.scenario.story import DAY_S, HOUR_S, WEEK_S, Story
from tests.unit.portal.demo.conftest import NOW_S

pytestmark = pytest.mark.timeout(60)
LIMITS = {namespace: dict(limits) for namespace, limits in QUOTAS.items()}


@pytest.fixture(scope="module")
def hours() -> Engine:
    """A full-size cluster with its quotas; tests advance it hour by hour through a week."""
    story = Story.ending_at(NOW_S, seed=7, days=14, gpus=308)
    quotas = Edit(story.change_s, LIMITS, CLASSES)
    engine = Engine(story, [quotas])
    engine.advance(NOW_S - WEEK_S // 2)
    return engine


@pytest.fixture(scope="module")
def seen(hours: Engine) -> dict[str, list[int]]:
    """In each hour of half a week: units of work that wait, by how they wait."""
    found: dict[str, list[int]] = {}
    names = {standing.name for standing in (*JOBS, *ARRAYS)}
    for at_s in range(hours.now_s, NOW_S, HOUR_S):
        hours.advance(at_s)
        jobs = hours.jobs.shown(at_s)
        live = [p for p in hours.pods if p.ended_s is None and p.created_s <= at_s]
        partial = [
            job
            for job in jobs
            if job.ended_s is None and 0 < len(job.members) < len(job.requests)
        ]
        counts = {
            "queued": sum(job.admitted_s is None for job in jobs),
            "refused": sum(len(one.missing) for one in hours.refusals.values()),
            "partial": len(partial),
            "unplaced": sum(p.node is None for p in live),
            "standing": sum(
                p.node is None and p.request.name.rpartition("-")[0].startswith(name)
                for p in live
                for name in names
            ),
            "cordoned": sum(n.is_cordoned(at_s) for n in hours.nodes_at(at_s)),
        }
        for name, count in counts.items():
            found.setdefault(name, []).append(count)
    return found


@pytest.mark.parametrize("kind", ["queued", "refused", "unplaced", "standing"])
def test_work_waits_in_every_hour_of_day_and_night(
    seen: dict[str, list[int]], kind: str
) -> None:
    assert min(seen[kind]) > 0


def test_gangs_are_partly_bound_and_nodes_cordoned_most_of_the_time(
    seen: dict[str, list[int]],
) -> None:
    for kind in ("partial", "cordoned"):
        share = sum(count > 0 for count in seen[kind]) / len(seen[kind])
        assert share > 0.5


def test_a_queue_lets_in_what_fits_and_lends(engine: Engine) -> None:
    queues = engine.jobs.queues
    cohort = sum(one.nominal for one in queues.quotas.values())
    used = {one.name: queues.used(one.name) for one in CLUSTER_QUEUES}
    assert 0 < sum(used.values()) <= cohort
    for name, quota in queues.quotas.items():
        assert used[name] <= quota.nominal + quota.borrowing
        for _, _, job in queues.waiting[name]:
            assert queues.lacks(job) > 0
            assert job.admitted_s is None
            assert not job.pods


def test_a_larger_quota_of_a_queue_lets_more_in() -> None:
    story = Story.ending_at(NOW_S, seed=7, days=7, gpus=308)
    engine = Engine(story)
    engine.advance(NOW_S)
    assert engine.jobs.queues.used("vision-h100") == 16
    quotas = {"language-h100": (16, 8), "vision-h100": (40, 0)}
    engine.edit(Edit(NOW_S, {}, CLASSES, NEVER, quotas))
    engine.advance(NOW_S + HOUR_S)
    assert engine.jobs.queues.used("vision-h100") == 32


def test_the_metrics_of_queues_are_their_jobs(engine: Engine) -> None:
    lines = queue_text(engine, engine.now_s).splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    queues = engine.jobs.queues
    for one in CLUSTER_QUEUES:
        own = {k: v for k, v in values.items() if f'cluster_queue="{one.name}"' in k}
        assert sum(
            int(v) for k, v in own.items() if k.startswith("kueue_pending_workloads")
        ) == len(queues.waiting[one.name])
        usage = [v for k, v in own.items() if "resource_usage" in k]
        assert usage == [str(queues.used(one.name))]


def test_only_lower_priorities_end_for_another_pod_and_it_is_placed(
    engine: Engine,
) -> None:
    recent = [p for p in engine.preempted if (p.preempted_s or 0) > NOW_S - 7 * DAY_S]
    assert len(recent) > 20  # a few each day
    placed = 0
    for victim in recent:
        by = victim.preemptor
        assert by is not None
        assert by.class_name not in NEVER
        assert CLASSES[by.class_name] > CLASSES[victim.class_name]
        if (victim.preempted_s or 0) < NOW_S - HOUR_S:
            placed += by.bound_s is not None
            assert victim.ended_s is not None
            assert victim.ended_s - (victim.preempted_s or 0) <= PREEMPTION_S
    assert placed > 0.9 * len(recent)


def test_what_waits_at_a_never_preempting_tier_waits_below_lower_ones(
    engine: Engine,
) -> None:
    """An inversion: work of the training tier waits while scavengers hold what it needs."""
    waiting = [
        pod
        for pod in engine.pods_between(NOW_S - DAY_S, NOW_S)
        if pod.request.owner.name.startswith("policy-eval")
    ]
    longest = max(((p.bound_s or NOW_S) - p.created_s for p in waiting), default=0)
    assert longest > 2 * HOUR_S
    holders = Counter(
        pod.request.tier
        for pod in engine.pods
        if pod.holds(NOW_S) and pod.node is not None and pod.node.pool.name == "t4"
    )
    assert holders["scavenger"] > holders["serving"]
    assert TIERS["scavenger"] < TIERS["training"]


def test_a_gang_works_only_while_all_its_members_are_bound(engine: Engine) -> None:
    members = [
        pod
        for pod in engine.pods_between(NOW_S - 3 * DAY_S, NOW_S - DAY_S)
        if pod.job is not None and len(pod.job.requests) > 1 and pod.node is not None
    ]
    assert members
    waited = 0
    for pod in members:
        assert pod.job is not None
        start_s, end_s = pod.bound_s or 0, pod.ended_s or NOW_S
        times = np.arange(start_s, end_s, 60)
        busy = utilization(engine.story, pod, pod.units[0], times)
        together = np.zeros(len(times), bool)
        for low, high in pod.job.together:
            together |= (times >= low) & (times < (NOW_S if high is None else high))
        assert not busy[~together].any()
        waited += int((~together).sum())
        if together.sum() > 60:
            assert busy[together].mean() > 0.4
    assert waited > 60  # minutes in which some held GPUs for nothing


def test_flaws_that_waste_gpus_are_in_the_history(engine: Engine) -> None:
    recent = list(engine.pods_between(NOW_S - 7 * DAY_S, NOW_S))
    assert any(pod.request.unused and len(pod.units) > 1 for pod in recent)
    assert any(pod.request.tail_s and pod.ended_s for pod in recent)
    assert any(pod.is_stuck(NOW_S) for pod in recent)
    late = [
        pod
        for pod in recent
        if pod.request.limit == "8h" and pod.bound_s is not None and pod.ended_s
        if pod.ended_s - pod.bound_s > 8 * HOUR_S
    ]
    assert late
