"""The window ledger: what becomes of claims, of lost ones and of unchanged ones."""

from datetime import timedelta

import numpy as np
import pytest
from pytest_django import DjangoAssertNumQueries

from accounting.core.interval import WINDOW_MS, Interval, to_instant
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster, Source, SourceKind
from accounting.metering.models.ledger import DataIssue, IngestWindow
from accounting.metering.tasks.facts import write_facts
from accounting.metering.tasks.facts.commit import write_windows
from accounting.metering.tasks.windows import leases, schedule, window_results
from accounting.metering.tasks.windows.leases import WindowLeaseLostError
from accounting.metering.tasks.windows.window_results import WindowResult
from tests.builders import HOUR_ZERO

pytestmark = pytest.mark.django_db

FIRST = Interval(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + WINDOW_MS)
SECOND = Interval(FIRST.end_ms, FIRST.end_ms + WINDOW_MS)


def test_windows_whose_neighbour_was_taken_over_are_due_again() -> None:
    cluster = Cluster.objects.create(name="north")
    schedule.mark(cluster.pk, [FIRST, SECOND], "new", create=True)
    claimed = leases.claim(cluster.pk)
    assert claimed is not None
    assert claimed.windows == (FIRST, SECOND)
    schedule.mark(cluster.pk, [SECOND], "late", create=False)
    with pytest.raises(WindowLeaseLostError):
        window_results.finish(
            claimed,
            [WindowResult(w, 0, b"hash", 0, 0, False, 1) for w in claimed.windows],
        )
    assert leases.claim(cluster.pk, within=FIRST) is None

    window_results.give_back(claimed)

    again = leases.claim(cluster.pk)
    assert again is not None
    assert again.windows == (FIRST, SECOND)


def test_unchanged_windows_are_finished_at_once_unless_an_issue_is_open() -> None:
    cluster = Cluster.objects.create(name="north")
    schedule.mark(cluster.pk, [FIRST, SECOND], "new", create=True)
    claimed = leases.claim(cluster.pk)
    assert claimed is not None
    outcomes = [WindowResult(w, 0, b"hash", 0, 0, False, 1) for w in claimed.windows]
    open_issue = DataIssue.objects.create(
        cluster=cluster,
        code="scale_unknown",
        subject="dcgm",
        first_seen=FIRST.start,
        last_seen=FIRST.end,
    )
    assert not window_results.finish_quietly(claimed, outcomes)
    assert windows_in(cluster, "claimed") == 2

    open_issue.delete()
    assert window_results.finish_quietly(claimed, outcomes)
    assert windows_in(cluster, "done") == 2


def test_unchanged_windows_of_which_one_was_taken_over_are_due_again() -> None:
    cluster = Cluster.objects.create(name="north")
    empty = write_facts.Facts(
        np.zeros(0, write_facts.ROW), np.zeros(0, write_facts.INTENSITY_ROW)
    )
    schedule.mark(cluster.pk, [FIRST, SECOND], "new", create=True)
    for _ in range(2):  # the second time they say what they said
        claimed = leases.claim(cluster.pk)
        assert claimed is not None
        outcomes = [
            WindowResult(w, 0, empty.content_hash, 0, 0, False, 1)
            for w in claimed.windows
        ]
        results = [(outcome, empty) for outcome in outcomes]
        write_windows(claimed, results)
        assert windows_in(cluster, "done") == 2
        schedule.mark(cluster.pk, [FIRST, SECOND], "again", create=False)

    claimed = leases.claim(cluster.pk)
    assert claimed is not None
    schedule.mark(cluster.pk, [SECOND], "late", create=False)
    with pytest.raises(WindowLeaseLostError):
        write_windows(claimed, results)
    window_results.give_back(claimed)
    assert windows_in(cluster, "pending") == 2


def windows_in(cluster: Cluster, state: str) -> int:
    """How many windows the ledger has in a state."""
    return IngestWindow.objects.filter(cluster=cluster, state=state).count()


@pytest.mark.parametrize(
    ("kind", "days_back", "read_days_ago", "is_due"),
    [
        (SourceKind.OPENMETRICS, 34, 34, True),  # its samples are kept with its facts
        (SourceKind.OPENMETRICS, 36, 36, False),
        (SourceKind.PROMETHEUS, 6, 6, True),
        (SourceKind.PROMETHEUS, 8, 8, False),  # it may have forgotten them
        (SourceKind.PROMETHEUS, 8, 0, True),  # a backfill read them just now
        (SourceKind.PROMETHEUS, 36, 0, True),  # however old what it read is
        (SourceKind.PROMETHEUS, 36, 2, False),
    ],
)
def test_no_window_is_computed_again_without_its_samples(
    kind: str, days_back: int, read_days_ago: int, is_due: bool
) -> None:
    cluster = Cluster.objects.create(name="north")
    Source.objects.create(cluster=cluster, name="its", kind=kind)
    old = FIRST.start - timedelta(days=days_back)
    now = database_now()
    for start, read_at in (
        (old, now - timedelta(days=read_days_ago)),
        (FIRST.start, now),
    ):
        IngestWindow.objects.create(
            cluster=cluster, window_start=start, state="done", read_at=read_at
        )

    schedule.mark_existing(cluster.pk, [Interval(0, FIRST.end_ms)], "late")

    states = dict(IngestWindow.objects.values_list("window_start", "state"))
    assert states == {old: "pending" if is_due else "done", FIRST.start: "pending"}


def test_holds_that_change_the_same_windows_take_one_statement(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """A new cluster changes a hold of each of its pods."""
    cluster = Cluster.objects.create(name="north")
    start_ms = FIRST.start_ms
    starts = [start_ms + number * WINDOW_MS for number in range(8)]
    for at_ms in starts:
        IngestWindow.objects.create(
            cluster=cluster, window_start=to_instant(at_ms), state="done"
        )
    near = [  # the windows 0 to 2: overlapping, adjoining, of no length
        Interval(start_ms + 1, start_ms + WINDOW_MS),
        Interval(start_ms + 2, start_ms + WINDOW_MS + 1),
        Interval(start_ms + 2 * WINDOW_MS + 7, start_ms + 2 * WINDOW_MS + 7),
    ]
    far = [Interval(start_ms + 5 * WINDOW_MS, start_ms + 6 * WINDOW_MS)]
    on_a_border = [Interval(start_ms + 4 * WINDOW_MS, start_ms + 4 * WINDOW_MS)]

    with django_assert_num_queries(2):
        count = schedule.mark_existing(
            cluster.pk, [*far, *near * 100, *on_a_border], "late"
        )

    marked = IngestWindow.objects.filter(state="pending").order_by("window_start")
    expected = [to_instant(starts[number]) for number in (0, 1, 2, 5)]
    assert list(marked.values_list("window_start", flat=True)) == expected
    assert count == 4
