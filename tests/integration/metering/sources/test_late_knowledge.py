"""What a later sample says of windows that are computed: one `ingest` computes them too.

A pod is shown, is away while kube-state goes on, and comes back: then it was never gone (N11),
and what was booked as free meanwhile is its time. Not here: a whole day of it
(tests/acceptance/test_public_trace.py), other doors (test_three_doors.py).
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval, to_instant
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks.pipeline import MOST_ROUNDS, Ingested, ingest_all
from accounting.metering.tasks.windows import schedule
from accounting.metering.tasks.windows.backlog import backlog
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.sources.conftest import Configure
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.sources.stand_in import StandIn, answer_of
from tests.integration.metering.support import clear, facts, run

pytestmark = pytest.mark.django_db(transaction=True)

START_MS = HOUR_ZERO * 1000
HOURS = 4
END = HOUR_ZERO + 3600 * HOURS
WHOLE = Interval(START_MS, END * 1000)
LATER = to_instant(START_MS) + timedelta(days=40)
RANGE = ("--from=2026-10-01T10:00Z", "--to=2026-10-01T14:00Z")


def story(away: float, back: float) -> Text:
    """A GPU whose pod is shown up to `away` and again from `back` on; seconds after start."""
    text = Text()
    scrapes = times(HOUR_ZERO, END)
    text.node("n1", 1, scrapes)
    shown = [
        at
        for at in scrapes
        if HOUR_ZERO + 60 < at < HOUR_ZERO + away or at >= HOUR_ZERO + back
    ]
    text.pod("train", shown, node="n1", bound=HOUR_ZERO + 60)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, 0.25))
    return text


AWAY_FOR_HOURS = story(1800, 3 * 3600 + 1800)
Facts = list[tuple[Any, ...]]


@pytest.fixture
def imported(configure: Configure, tmp_path: Path) -> Callable[[Text], Facts]:
    """The facts of a text through the door of files; measured data are gone again."""

    def _imported(text: Text) -> Facts:
        configure({"kind": "openmetrics"})
        run("import_metrics", "--cluster=north", text.write(tmp_path / "all.om"))
        found = facts()
        clear()
        return found

    return _imported


def live(configure: Configure, address: str) -> Cluster:
    """A cluster with a Prometheus, of which 40 days later a window was computed."""
    cluster = configure({"kind": "prometheus", "url": address})
    IngestWindow.objects.create(cluster=cluster, window_start=LATER, state="done")
    return cluster


def not_done() -> dict[str, int]:
    """Windows of the story that are not done, by hour of the day."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT to_char(window_start AT TIME ZONE 'UTC', 'HH24'), count(*)
               FROM accounting_ingestwindow
               WHERE state <> 'done' AND window_start < %s GROUP BY 1""",
            [WHOLE.end],
        )
        return dict(cursor.fetchall())


def test_an_old_range_is_right_after_one_ingest(
    configure: Configure, imported: Callable[[Text], Facts]
) -> None:
    wanted = imported(AWAY_FOR_HOURS)
    with serving(StandIn(AWAY_FOR_HOURS.text())) as address:
        live(configure, address)
        run("ingest", *RANGE)
    assert [row for row in facts() if row[0] < WHOLE.end] == wanted
    assert not_done() == {}


def test_a_range_computes_its_windows_and_names_what_it_makes_due_elsewhere(
    configure: Configure, imported: Callable[[Text], Facts]
) -> None:
    wanted = imported(AWAY_FOR_HOURS)
    with serving(StandIn(AWAY_FOR_HOURS.text())) as address:
        cluster = live(configure, address)
        run("ingest", "--from=2026-10-01T10:00Z", "--to=2026-10-01T12:00Z")
        assert IngestWindow.objects.count() == 2 * 12 + 1
        assert not_done() == {}

        said = run("ingest", "--from=2026-10-01T13:00Z", "--to=2026-10-01T14:00Z")
        assert "north: 12 windows, " in said
        # from half past ten, one step after its last sample, the pod holds the GPU
        assert not_done() == {"10": 6, "11": 12}
        # and the one of today knows of a GPU now
        assert "19 windows outside this range are due" in said
        assert IngestWindow.objects.count() == 3 * 12 + 1

        ingest_all(cluster)
        schedule.ask(cluster.pk, WHOLE, create=True)  # the third hour, too
        ingest_all(cluster)
    assert [row for row in facts() if row[0] < WHOLE.end] == wanted


def test_a_hold_that_labels_kept_is_shown_again_after_hours(
    configure: Configure, tmp_path: Path
) -> None:
    """While kube-state is silent a hold is inferred (N13); not once it is known to last."""
    parts = [silent_kube_state(0, 2.5), silent_kube_state(2.5, HOURS)]
    configure({"kind": "openmetrics"})
    paths = [part.write(tmp_path / f"{n}.om") for n, part in enumerate(parts)]
    run("import_metrics", "--cluster=north", *paths)
    wanted = facts()
    clear()
    configure({"kind": "openmetrics"})
    run("import_metrics", "--cluster=north", paths[0])
    assert facts() != wanted[: len(facts())]
    run("import_metrics", "--cluster=north", paths[1])
    assert facts() == wanted


def silent_kube_state(first_h: float, last_h: float) -> Text:
    """A pod whose labels are always there; kube-state says nothing from 00:30 to 03:30."""
    text = Text()
    scrapes = times(HOUR_ZERO + int(first_h * 3600), HOUR_ZERO + int(last_h * 3600))
    shown = [at for at in scrapes if not 1800 <= at - HOUR_ZERO < 3.5 * 3600]
    if shown:
        text.node("n1", 1, shown)
        text.pod("train", shown, node="n1", bound=HOUR_ZERO + 60)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, 0.25), pod="train")
    return text


def test_windows_between_those_that_are_computed_are_made_due(
    configure: Configure, imported: Callable[[Text], Facts]
) -> None:
    """The first and last window of an hour at once, as after one that failed."""
    whole = story(1200, 3000)
    wanted = imported(whole)
    script = StandIn(whole.between(HOUR_ZERO, HOUR_ZERO + 2900))

    def answer(question: Question) -> Answer:
        return script(question)

    with serving(answer) as address:
        cluster = configure({"kind": "prometheus", "url": address})
        hour = Interval(START_MS, START_MS + HOUR_MS)
        schedule.ask(cluster.pk, hour, create=True)
        ingest_all(cluster)
        script = StandIn(whole.text())
        ends = [
            Interval(START_MS, START_MS + WINDOW_MS),
            Interval(hour.end_ms - 2 * WINDOW_MS, hour.end_ms),
        ]
        schedule.mark(cluster.pk, ends, "asked", create=False)
        ingest_all(cluster)
    inside = [row for row in facts() if row[0] < hour.end]
    assert inside == [row for row in wanted if row[0] < hour.end]


def test_windows_that_become_due_again_and_again_end_nevertheless(
    configure: Configure,
) -> None:
    with serving(StandIn(AWAY_FOR_HOURS.text())) as address:
        cluster = configure({"kind": "prometheus", "url": address})
        schedule.ask(cluster.pk, WHOLE, create=True)

        def say_something_else(_done: Ingested) -> None:
            schedule.mark_existing(cluster.pk, [WHOLE], "late")

        done = ingest_all(cluster, on_progress=say_something_else)
    assert 12 * HOURS < done.windows <= 12 * HOURS * MOST_ROUNDS


def test_a_window_whose_answer_is_not_whole_is_tried_once_a_run(
    configure: Configure,
) -> None:
    """However long the run: its next attempt, five minutes later, is another run's."""
    whole = StandIn(AWAY_FOR_HOURS.text())

    def warn(question: Question) -> Answer:
        return answer_of(whole.result(question), warnings=["a store is away"])

    with serving(warn) as address:
        cluster = configure({"kind": "prometheus", "url": address})
        schedule.ask(cluster.pk, WHOLE, create=True)

        def let_five_minutes_pass(_done: Ingested) -> None:
            partial = IngestWindow.objects.filter(state="partial")
            partial.update(next_attempt_at=database_now())

        done = ingest_all(cluster, on_progress=let_five_minutes_pass)
    assert done.windows < 2 * 12 * HOURS, "some are late, none is read again and again"
    assert backlog(cluster.pk).due == 12 * HOURS, "for the next run"


def test_a_request_that_was_stopped_goes_on(configure: Configure) -> None:
    with serving(StandIn(AWAY_FOR_HOURS.text())) as address:
        cluster = live(configure, address)
        schedule.ask(cluster.pk, WHOLE, create=True)
        ingest_all(cluster, newest_first=False, for_s=0)  # one hour of four
        read = set(IngestWindow.objects.values_list("window_start", "read_at"))

        said = run("ingest", *RANGE)
        assert (
            "north: continuing; 12 windows of this range are already computed" in said
        )
        # three hours, and what they say of half past ten to one o'clock
        assert f"north: {36 + 30} windows, " in said
        kept = set(IngestWindow.objects.values_list("window_start", "read_at"))
        assert len({pair for pair in read & kept if pair[1] is not None}) == 6

        said = run("ingest", *RANGE)  # a new one: nothing was left of the old one
        assert "north: 48 windows, " in said
