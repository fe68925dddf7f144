"""Queues as stored by observations: instants, samples, positions, estimates and their errors.

Covered: a unit that waits, is bound, runs and ends; the name used twice; samples that are extended
and begin again; a gap; estimates from ended holds of the ledger; estimates that are kept.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.core.interval import HOUR_MS, to_ms
from accounting.metering.models.cluster import Cluster, Node, NodeFact
from accounting.metering.models.pod import (
    Namespace,
    Pod,
    PodAttribution,
    PodHold,
    Workload,
)
from scheduler_view.queues.models.memory import WaitStretch
from scheduler_view.queues.models.queues import (
    EstimateSummary,
    PoolSample,
    StartEstimate,
)
from scheduler_view.queues.reads.queued_units import queued_rows
from scheduler_view.queues.tasks.observe_queues import store_waits
from scheduler_view.queues.tasks.queues import forget_queues
from scheduler_view.waits.models import UnitWait, WaitRecord
from scheduler_view.waits.rules.world.world import read_world
from tests.integration.queues.observed import MINUTE, NOW, bound, made, observe, record
from tests.unit.waits.worlds import GPU, node, owned, pod

pytestmark = pytest.mark.django_db
HOURS = (3, 3, 4, 5, 5, 6, 8, 9, 10, 12)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="north")


def test_the_instants_of_a_unit_from_its_wait_to_its_end(cluster: Cluster) -> None:
    old = bound("old", 8, NOW - 60 * MINUTE, NOW - 50 * MINUTE)
    observe(cluster, NOW, old, pod("w", 4, meta=made("w", NOW - 5 * MINUTE)))
    waits = record()
    assert (waits.created_at, waits.admitted_at, waits.bound_at) == (
        NOW - 5 * MINUTE,
        NOW - 5 * MINUTE,
        None,
    )
    assert (waits.position, waits.count, waits.units) == (1, 1, 4)
    runs = record("old")
    assert (runs.bound_at, runs.started_at) == (NOW - 50 * MINUTE, NOW - 49 * MINUTE)
    assert runs.position is None

    new = bound("w", 4, NOW - 5 * MINUTE, NOW + MINUTE)
    observe(cluster, NOW + 2 * MINUTE, new)
    waits = record()
    assert (waits.bound_at, waits.started_at, waits.position) == (
        NOW + MINUTE,
        NOW + 2 * MINUTE,
        None,
    )
    assert WaitRecord.objects.get(name="old").ended_at == NOW + 2 * MINUTE

    observe(cluster, NOW + 3 * MINUTE)
    assert not WaitRecord.objects.filter(ended_at=None).exists()
    forget_queues(NOW + timedelta(days=300))
    assert not WaitRecord.objects.exists()
    assert not PoolSample.objects.exists()


def service(name: str, created: datetime, *pods: tuple[str, datetime, str]) -> Any:
    """A StatefulSet, and its pods: name, when it was made, and its node."""
    meta = made(name, created)
    template = pod("template", 4)["spec"]
    top = {
        "metadata": meta,
        "spec": {"replicas": len(pods), "template": {"spec": template}},
    }
    owner = owned("StatefulSet", name)
    return top, [pod(one, 4, on, meta=made(one, at) | owner) for one, at, on in pods]


def test_a_service_waits_since_its_waiting_pods_were_made(cluster: Cluster) -> None:
    """All other units wait since they were created; what does not wait has no such time."""
    old, new = NOW - 600 * MINUTE, NOW - 3 * MINUTE
    top, pods = service("api", old, ("api-0", old, "a"), ("api-1", new, ""))
    waiting = [*pods, pod("w", 9, meta=made("w", NOW - 5 * MINUTE))]
    objects = {"Node": [node("a", 4)], "Pod": waiting, "StatefulSet": [top]}
    store_waits(cluster, read_world(objects, to_ms(NOW)), NOW)
    assert (record("api").created_at, record("api").waits_since) == (old, new)
    assert record().waits_since == NOW - 5 * MINUTE
    first, second = queued_rows(EVERYTHING, NOW)
    assert (first.name, second.name, second.since) == ("w", "api", new)
    observe(cluster, NOW + 2 * MINUTE, pods[0])
    ended = WaitRecord.objects.get(name="w")
    assert (ended.ended_at, ended.waits_since) == (NOW + 2 * MINUTE, None)


def test_a_name_that_is_used_again_is_another_unit(cluster: Cluster) -> None:
    observe(cluster, NOW, pod("w", 9, meta=made("w", NOW - MINUTE)))
    observe(cluster, NOW + MINUTE, pod("w", 9, meta=made("w", NOW, "uid-next")))
    first, second = WaitRecord.objects.order_by("pk")
    assert (first.ended_at, first.created_at) == (NOW + MINUTE, NOW - MINUTE)
    assert (second.ended_at, second.created_at) == (None, NOW)
    observe(cluster, NOW + 2 * MINUTE)
    observe(cluster, NOW + 3 * MINUTE, pod("w", 9, meta=made("w", NOW, "uid-next")))
    assert record().pk == second.pk, "its first wait is its wait"


def test_nothing_is_written_while_nothing_changes(
    cluster: Cluster, django_assert_num_queries: Any
) -> None:
    waiting = pod("w", 9, meta=made("w", NOW - MINUTE))
    observe(cluster, NOW, waiting)
    before = WaitRecord.objects.values().get()
    observe(cluster, NOW + MINUTE, waiting)
    assert WaitRecord.objects.values().get() == before
    sample = PoolSample.objects.get()
    assert (sample.since, sample.until) == (NOW, NOW + MINUTE)
    assert (sample.waiting, sample.available, sample.fitting) == (9, 8, 0)


def test_samples_last_until_they_change_and_a_gap_is_unknown(cluster: Cluster) -> None:
    waiting = pod("w", 9, meta=made("w", NOW - MINUTE))
    observe(cluster, NOW, waiting)
    observe(cluster, NOW + 5 * MINUTE)
    observe(cluster, NOW + 30 * MINUTE)
    rows = list(PoolSample.objects.order_by("since"))
    spans = [((row.since - NOW) / MINUTE, (row.until - NOW) / MINUTE) for row in rows]
    assert spans == [(0, 5), (5, 5), (30, 30)]
    assert [row.waiting for row in rows] == [9, 0, 0]


@pytest.fixture
def ledger(cluster: Cluster) -> None:
    """Ten ended holds of a workload, as in the example of docs/scheduling.md S19."""
    team = Team.objects.create(slug="vision", name="Vision")
    namespace = Namespace.objects.create(cluster=cluster, name="lab")
    workload = Workload.objects.create(
        cluster=cluster, namespace=namespace, kind="Pod", name="train", type="training"
    )
    machine = Node.objects.create(cluster=cluster, name="a")
    NodeFact.objects.create(node=machine, valid_from=NOW - timedelta(days=30))
    for number, hours in enumerate((*HOURS, None)):
        one = Pod.objects.create(
            cluster=cluster,
            uid="uid-old" if hours is None else f"ended-{number}",
            namespace=namespace,
            name=f"train-{number}",
            workload=workload,
        )
        PodAttribution.objects.create(
            pod=one,
            team=team,
            workload_type="training",
            valid_from=NOW - timedelta(days=30),
            valid_to=datetime(9999, 1, 1, tzinfo=UTC),
        )
        begin = to_ms(NOW) - 24 * HOUR_MS
        PodHold.objects.create(
            pod=one,
            node=machine,
            resource=GPU,
            units=8,
            bound_ms=begin,
            ended_ms=None if hours is None else begin + hours * HOUR_MS,
        )


@pytest.mark.usefixtures("ledger")
def test_a_start_is_estimated_from_holds_of_the_ledger_and_kept(
    cluster: Cluster,
) -> None:
    old = bound("old", 8, NOW - 61 * MINUTE, NOW - 60 * MINUTE)
    waiting = pod("w", 8, meta=made("w", NOW - 2 * MINUTE))
    observe(cluster, NOW, old, waiting)
    found = record()
    assert UnitWait.objects.get(name="w").cause == "no_free_gpu"
    assert (found.start_at, found.low_at, found.high_at) == (None, None, None), (
        "nothing is shown before the error is measured"
    )
    estimate = StartEstimate.objects.get()
    assert (estimate.start_at, estimate.low_at, estimate.high_at) == (
        NOW + 240 * MINUTE,
        NOW + 120 * MINUTE,
        NOW + 540 * MINUTE,
    )
    observe(cluster, NOW + 10 * MINUTE, old, waiting)
    assert StartEstimate.objects.count() == 1, "the next one is kept after an hour"
    observe(cluster, NOW + 60 * MINUTE, old, waiting)
    kept = StartEstimate.objects.order_by("made_at")
    assert [(one.made_at, one.wait_id) for one in kept] == [
        (NOW, found.pk),
        (NOW + 60 * MINUTE, found.pk),
    ]


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(("held", "is_shown"), [(0.8, True), (0.79, False)])
def test_a_time_of_day_is_shown_where_most_ranges_held(
    cluster: Cluster, held: float, *, is_shown: bool
) -> None:
    EstimateSummary.objects.create(
        cluster=cluster, resource=GPU, estimates=20, median_error_ms=1, held=held
    )
    old = bound("old", 8, NOW - 61 * MINUTE, NOW - 60 * MINUTE)
    observe(cluster, NOW, old, pod("w", 8, meta=made("w", NOW - 2 * MINUTE)))
    assert (record().start_at is not None) is is_shown


def waited(cluster: Cluster, name: str, minutes: int, **more: Any) -> None:
    """A unit that waited so long for 8 GPUs and was bound, two days ago."""
    begin = NOW - timedelta(days=2)
    stretch = {"cause": "no_free_gpu", "resource": GPU, "units": 8}
    row = WaitRecord.objects.create(
        cluster=cluster,
        kind="Job",
        namespace="lab",
        name=name,
        uid=name,
        created_at=begin,
        bound_at=begin + minutes * MINUTE,
        ended_at=begin + (minutes + 5) * MINUTE,
    )
    WaitStretch.objects.create(
        wait=row,
        since=begin + MINUTE,
        until=begin + minutes * MINUTE,
        stage="unschedulable",
        priority=0,
        **(stretch | more),
    )


def test_a_start_is_said_by_waits_of_the_same_cause_pool_and_size(
    cluster: Cluster,
) -> None:
    """Of those alike 11 lasted longer than the 30 minutes, and 9 of them ended within an hour."""
    for number in range(9):
        waited(cluster, f"like-{number}", 40 + number)
        waited(cluster, f"short-{number}", 5)
        waited(cluster, f"small-{number}", 300, units=1)
        waited(cluster, f"other-{number}", 300, cause="quota")
    for number in range(2):
        waited(cluster, f"long-{number}", 200, units=6)
    old = bound("old", 8, NOW - 61 * MINUTE, NOW - 60 * MINUTE)
    observe(cluster, NOW, old, pod("w", 8, meta=made("w", NOW - 30 * MINUTE)))
    row = record()
    assert (row.start_word, row.start_like, row.start_kept) == ("hour", 11, 9)
    observe(cluster, NOW + MINUTE, bound("w", 8, NOW - 30 * MINUTE, NOW))
    assert record().start_word == ""


def test_nothing_is_said_where_a_service_holds_the_gpus(cluster: Cluster) -> None:
    for number in range(12):
        waited(cluster, f"like-{number}", 40)
    old = bound("old", 8, NOW - 61 * MINUTE, NOW - 60 * MINUTE)
    old["metadata"] |= owned("ReplicaSet", "api")
    observe(cluster, NOW, old, pod("w", 8, meta=made("w", NOW - 30 * MINUTE)))
    assert (record().start_word, record().start_like) == ("endless", 0)
