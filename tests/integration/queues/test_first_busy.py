"""The first busy sample of work, and that it is not known where not all was observed (S3)."""

from collections.abc import Iterable
from datetime import datetime

import pytest
from django.db import connection

from accounting.metering.models.cluster import Cluster, Gpu, Node
from accounting.metering.models.pod import Namespace, Pod
from accounting.metering.tasks.facts import partitions
from tests.integration.queues.observed import MINUTE, NOW, bound, observe, record

pytestmark = pytest.mark.django_db
WINDOW_MS = 300_000
STATES = ("busy", "idle", "unknown")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="north")


def write_windows(
    cluster: Cluster, uid: str, windows: Iterable[tuple[datetime, str]]
) -> None:
    """Five-minute windows of a pod, each wholly busy, idle or unknown."""
    space, _ = Namespace.objects.get_or_create(cluster=cluster, name="lab")
    pod, _ = Pod.objects.get_or_create(
        cluster=cluster, uid=uid, defaults={"namespace": space, "name": "w"}
    )
    gpu, _ = Gpu.objects.get_or_create(cluster=cluster, uuid="GPU-1")
    node, _ = Node.objects.get_or_create(cluster=cluster, name="a")
    for at, state in windows:
        partitions.ensure(partitions.ALL_WINDOWS, at, at + MINUTE)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                INSERT INTO usage_window (cluster_id, window_start, gpu_id, pod_id,
                                          node_id, busy_ms, idle_ms, unknown_ms)
                VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
                """,
                [
                    *(cluster.pk, at, gpu.pk, pod.pk, node.pk),
                    *(WINDOW_MS * (state == one) for one in STATES),
                ],
            )


@pytest.mark.parametrize(
    ("started", "windows", "expected"),
    [
        (-50, [(-50, "idle"), (-45, "idle"), (-40, "busy"), (-35, "busy")], -40),
        (-50, [(-50, "idle"), (-45, "unknown"), (-40, "busy")], None),
        (-50, [(-50, "unknown"), (-45, "busy")], None),
        (-48, [(-50, "unknown"), (-45, "busy")], -45),
        (-40_000, [(-50, "idle"), (-45, "busy")], None),
    ],
)
def test_the_first_busy_sample_is_known_only_if_all_was_observed_since_the_start(
    cluster: Cluster,
    started: int,
    windows: list[tuple[int, str]],
    expected: int | None,
) -> None:
    """Also after 28 days: the first sample that was observed is not the first one."""
    write_windows(cluster, "uid-w", [(NOW + m * MINUTE, one) for m, one in windows])
    begun = NOW + (started - 1) * MINUTE
    observe(cluster, NOW, bound("w", 4, begun, begun))
    known = None if expected is None else NOW + expected * MINUTE
    assert record().first_busy_at == known


def test_a_start_that_stays_idle_is_known_while_each_hour_is_observed(
    cluster: Cluster,
) -> None:
    begun = NOW - 31 * MINUTE
    runs = bound("w", 4, begun, begun)
    for minutes in range(0, 200, 40):
        observe(cluster, NOW + minutes * MINUTE, runs)
    late = NOW + 190 * MINUTE
    write_windows(cluster, "uid-w", [(late, "busy")])
    observe(cluster, NOW + 200 * MINUTE, runs)
    assert record().first_busy_at == late


def test_a_start_that_stays_idle_is_not_known_after_a_gap(cluster: Cluster) -> None:
    begun = NOW - 31 * MINUTE
    runs = bound("w", 4, begun, begun)
    observe(cluster, NOW, runs)
    write_windows(cluster, "uid-w", [(NOW + 190 * MINUTE, "busy")])
    observe(cluster, NOW + 200 * MINUTE, runs)
    assert record().first_busy_at is None
