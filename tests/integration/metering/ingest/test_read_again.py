"""A window that is read again (N1): the same samples compute nothing, others do."""

from pathlib import Path

import pytest

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.models.usage import UsageWindow
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from tests.builders import HOUR_ZERO, SETUP, two_hours
from tests.integration.faults.support import ledger
from tests.integration.metering.support import run

pytestmark = pytest.mark.django_db(transaction=True)
HOURS = Interval(HOUR_ZERO * 1000, (HOUR_ZERO + 7200) * 1000)
INSIDE = {"window_start__gte": HOURS.start, "window_start__lt": HOURS.end}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Two hours that are imported and computed."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    two_hours().write(tmp_path / "all.om")
    run("configure", tmp_path / "setup.yaml")
    run("import_metrics", "--cluster=north", tmp_path / "all.om")
    found = Cluster.objects.get(name="north")
    compute_whole_hours(found)
    return found


def compute_whole_hours(cluster: Cluster) -> None:
    """As claims of whole hours, which the re-read makes too."""
    schedule.mark(cluster.pk, [HOURS], "asked", create=False)
    ingest_all(cluster)


def falsify(cluster: Cluster) -> None:
    """Make facts that no computing gives: what is computed anew overwrites them."""
    UsageWindow.objects.filter(cluster_id=cluster.pk, **INSIDE).update(samples_used=77)
    IngestWindow.objects.filter(cluster=cluster).update(content_hash=b"false")


def is_computed(cluster: Cluster) -> bool:
    """True when nothing false is left."""
    return not UsageWindow.objects.filter(
        cluster_id=cluster.pk, samples_used=77
    ).exists()


def test_the_same_samples_compute_nothing(cluster: Cluster) -> None:
    falsify(cluster)
    schedule.read_again(cluster.pk, HOURS)
    done = ingest_all(cluster)
    assert done.windows == 24
    assert done.rows_written == 0
    assert not is_computed(cluster)  # what is false stayed
    assert set(IngestWindow.objects.values_list("state", flat=True)) == {"done"}


def test_what_is_asked_for_is_computed(cluster: Cluster) -> None:
    wanted = ledger()
    falsify(cluster)
    compute_whole_hours(cluster)
    assert is_computed(cluster)
    assert ledger() == wanted


def test_a_late_mark_counts_though_the_window_is_read_again_too(
    cluster: Cluster,
) -> None:
    falsify(cluster)
    schedule.read_again(cluster.pk, HOURS)
    schedule.mark_existing(cluster.pk, [HOURS], "late")
    schedule.read_again(cluster.pk, HOURS)
    ingest_all(cluster)
    assert is_computed(cluster)


def test_other_samples_are_computed(cluster: Cluster, tmp_path: Path) -> None:
    falsify(cluster)
    schedule.read_again(cluster.pk, HOURS)
    IngestWindow.objects.filter(cluster=cluster).update(reading_hash=b"other")
    ingest_all(cluster)
    assert is_computed(cluster)


def test_facts_that_are_lost_are_computed(cluster: Cluster) -> None:
    wanted = ledger()
    UsageWindow.objects.filter(cluster_id=cluster.pk, **INSIDE).delete()
    IngestWindow.objects.filter(cluster=cluster).update(content_hash=None)
    schedule.read_again(cluster.pk, HOURS)
    ingest_all(cluster)
    assert ledger() == wanted
