"""When windows of a live source are read, and read again (rules.md N1)."""

from datetime import UTC, datetime, timedelta

import pytest

from accounting.core.interval import WINDOW_MS, Interval, to_ms
from accounting.metering.models.cluster import Cluster, Source, SourceKind
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.windows import schedule

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def cluster(kind: SourceKind, until: datetime) -> Cluster:
    """A cluster of which eight days of windows up to an instant are done."""
    found = Cluster.objects.create(name="north")
    Source.objects.create(cluster=found, name="live", kind=kind)
    days = Interval(to_ms(until - timedelta(days=8)), to_ms(until))
    schedule.mark(found.pk, [days], "new", create=True)
    IngestWindow.objects.update(state="done", reason="")
    return found


def due_at(found: Cluster, now: datetime) -> dict[str, int]:
    """How many windows are pending for which reason, at a time."""
    live_sources.find_due(found, lambda: to_ms(now))
    reasons = IngestWindow.objects.filter(state="pending").values_list(
        "reason", flat=True
    )
    return {reason: list(reasons).count(reason) for reason in set(reasons)}


def test_a_window_is_read_30_seconds_after_its_end() -> None:
    found = cluster(SourceKind.PROMETHEUS, NOON + 5 * MINUTE)
    end = NOON + 10 * MINUTE
    assert due_at(found, end + timedelta(seconds=29, milliseconds=999)) == {}
    assert due_at(found, end + timedelta(seconds=30)) == {"new": 1, "again": 2}
    new = IngestWindow.objects.get(reason="new")
    assert new.window_start == NOON + 5 * MINUTE


@pytest.mark.parametrize(
    ("start", "again"),
    [
        (NOON + 5 * MINUTE, timedelta(milliseconds=2 * WINDOW_MS)),
        (NOON, timedelta(days=1)),  # the first window of an hour
        (MIDNIGHT, timedelta(days=7)),  # the first window of a day
    ],
    ids=["window", "hour", "day"],
)
def test_what_is_read_again_with_a_new_window(
    start: datetime, again: timedelta
) -> None:
    found = cluster(SourceKind.PROMETHEUS, start)
    count = again // timedelta(milliseconds=WINDOW_MS)
    assert due_at(found, start + 6 * MINUTE) == {"new": 1, "again": count}
    first = IngestWindow.objects.filter(reason="again").earliest("window_start")
    assert first.window_start == start - again


def test_what_cannot_be_asked_again_marks_its_own_windows() -> None:
    """A scrape is kept; what arrives late of it makes its windows due by itself."""
    found = cluster(SourceKind.SCRAPE, MIDNIGHT)
    assert due_at(found, MIDNIGHT + 6 * MINUTE) == {"new": 1, "again": 2}
