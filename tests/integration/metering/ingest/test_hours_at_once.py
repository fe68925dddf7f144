"""How many hours are computed together decides memory and speed, and no number."""

from pathlib import Path

import pytest
from pytest_django import Settings

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster, Gpu, Source, SourceKind
from accounting.metering.models.ledger import DataIssue
from accounting.metering.tasks.windows import leases, schedule
from accounting.metering.tasks.windows.hours_at_once import (
    GPU_HOURS_AT_ONCE,
    hours_at_once,
)
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import clear, facts, run

pytestmark = pytest.mark.django_db(transaction=True)
HOURS = 9
END = HOUR_ZERO + HOURS * 3600


def busy_day() -> Text:
    """Nine hours: pods that come and go, a node's silence, a GPU that only labels place."""
    text = Text()
    at = times(HOUR_ZERO, END)
    quiet = [t for t in at if not HOUR_ZERO + 9_000 <= t < HOUR_ZERO + 14_400]
    text.node("n1", 2, at)
    text.node("n2", 1, quiet)
    for number in range(HOURS):
        first = HOUR_ZERO + number * 3_300
        name = f"train-{number}"
        span = times(first, min(END, first + 4_500))
        text.pod(name, span, node="n1", bound=first)
        text.utilization("GPU-a", "n1", dict.fromkeys(span[:70], 0.5), pod=name)
    text.pod("notebook", quiet, node="n2", bound=HOUR_ZERO)
    text.utilization("GPU-b", "n1", dict.fromkeys(at, 0.0))
    text.utilization("GPU-c", "n2", dict.fromkeys(quiet, 0.0), pod="notebook")
    return text


def issues() -> list[tuple[str, str]]:
    return sorted(DataIssue.objects.values_list("code", "subject"))


def test_facts_are_the_same_however_many_hours_are_computed_together(
    tmp_path: Path, settings: Settings
) -> None:
    path = busy_day().write(tmp_path / "day.om")
    found = []
    for most in (1, 6):
        clear()
        settings.INGEST_HOURS_AT_ONCE = most
        run("import_metrics", "--cluster=north", path)
        north = Cluster.objects.get(name="north")
        assert hours_at_once(north) == most
        found.append((facts(), issues()))
    assert len(found[0][0]) > HOURS * 12 * 3
    assert found[0] == found[1]


def test_a_claim_takes_the_due_windows_of_as_many_hours() -> None:
    cluster = Cluster.objects.create(name="north")
    midnight = HOUR_ZERO - HOUR_ZERO % 86_400
    hour = Interval(midnight * 1000, midnight * 1000 + HOUR_MS)
    for number in (0, 1, 5, 6):
        shift = number * HOUR_MS
        schedule.mark(
            cluster.pk,
            [Interval(hour.start_ms + shift, hour.start_ms + shift + WINDOW_MS)],
            "new",
            create=True,
        )
    taken = [leases.claim(cluster.pk, hours=6, newest_first=False) for _ in range(3)]
    starts = [
        [(w.start_ms - hour.start_ms) // HOUR_MS for w in claimed.windows]
        for claimed in taken
        if claimed is not None
    ]
    assert starts == [[0, 1, 5], [6]]


def test_large_clusters_and_sources_that_are_asked_take_one_hour() -> None:
    cluster = Cluster.objects.create(name="north")
    Source.objects.create(cluster=cluster, name="scrape", kind=SourceKind.OPENMETRICS)
    assert hours_at_once(cluster) == 6
    Gpu.objects.bulk_create(
        Gpu(cluster=cluster, uuid=f"GPU-{number}")
        for number in range(GPU_HOURS_AT_ONCE // 2)
    )
    assert hours_at_once(cluster) == 2
    asked = Source.objects.create(
        cluster=cluster, name="prometheus", kind=SourceKind.PROMETHEUS
    )
    assert hours_at_once(cluster) == 1
    asked.is_active = False
    asked.save()
    assert hours_at_once(cluster) == 2
    cluster.sources.update(is_active=False)
    assert hours_at_once(cluster) == 1
