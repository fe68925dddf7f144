"""A range of which the five-minute facts have expired, asked for again (N32).

An hour keeps its sums when its facts expire. Who asks for five minutes of it gets the whole
hour computed: else these five minutes would stand for all of it.
"""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DirtyHour, IngestWindow
from accounting.metering.models.usage import UsageWindow
from accounting.metering.tasks.facts import retention
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.catch_up import catch_up
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.sources.conftest import Configure
from tests.integration.metering.sources.replay import Answer, Question, Script, serving
from tests.integration.metering.sources.stand_in import StandIn
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = Interval(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + HOUR_MS)
WHOLE_HOUR = ("--from=2026-10-01T10:00Z", "--to=2026-10-01T11:00Z")
FIVE_MINUTES = ("--from=2026-10-01T10:00Z", "--to=2026-10-01T10:05Z")


def story(utilization: float) -> Script:
    """A GPU that a pod holds for an hour."""
    text = Text()
    scrapes = times(HOUR_ZERO, HOUR_ZERO + 3600)
    text.node("n1", 1, scrapes)
    text.pod("train", scrapes, node="n1", bound=HOUR_ZERO)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, utilization), pod="train")
    return StandIn(text.text())


@pytest.fixture
def script() -> list[Script]:
    """What the source answers: the last one."""
    return [story(0.25)]


@pytest.fixture
def cluster(configure: Configure, script: list[Script]) -> Iterator[Cluster]:
    """A cluster that goes on today, 40 days later."""

    def answer(question: Question) -> Answer:
        return script[-1](question)

    with serving(answer) as address:
        found = configure({"kind": "prometheus", "url": address})
        IngestWindow.objects.create(
            cluster=found, window_start=HOUR.start + timedelta(days=40), state="done"
        )
        yield found


def hour() -> tuple[int, int]:
    """Milliseconds that are known of the hour, and those of them that were busy."""
    rows = [row for row in report("ledger", by="hour") if row["wall_ms"]]
    assert all(row["hour"] == "2026-10-01T10:00:00Z" for row in rows)
    return sum(row["wall_ms"] for row in rows), sum(row["busy_ms"] for row in rows)


def test_five_minutes_of_an_hour_whose_facts_expired_bring_the_whole_hour(
    cluster: Cluster, script: list[Script]
) -> None:
    run("ingest", *WHOLE_HOUR)
    assert hour() == (HOUR_MS, HOUR_MS // 4)
    assert retention.enforce()
    assert not UsageWindow.objects.filter(cluster_id=cluster.pk).exists()
    assert hour() == (HOUR_MS, HOUR_MS // 4)

    script.append(story(0.5))
    said = run("ingest", *FIVE_MINUTES)
    assert (
        "full hours are computed, from 2026-10-01T10:00Z to 2026-10-01T11:00Z" in said
    )
    assert hour() == (HOUR_MS, HOUR_MS // 2)
    assert not DirtyHour.objects.exists()
    assert "FAIL" not in run("verify")


def test_a_window_that_is_late_brings_the_others_of_its_hour(
    cluster: Cluster, script: list[Script]
) -> None:
    """As one whose source failed until the facts of the others had expired."""
    run("ingest", *WHOLE_HOUR)
    retention.enforce()
    script.append(story(0.5))
    first = Interval(HOUR.start_ms, HOUR.start_ms + WINDOW_MS)
    schedule.mark(cluster.pk, [first], "late", create=False)
    catch_up(cluster, within=HOUR)
    assert hour() == (HOUR_MS, HOUR_MS // 2)
    assert not DirtyHour.objects.exists()
    assert "FAIL" not in run("verify")


def test_facts_stay_until_their_hour_is_rolled_up(cluster: Cluster) -> None:
    schedule.ask(cluster.pk, HOUR, create=True)
    ingest_all(cluster, within=HOUR)  # as a worker that is stopped now
    retention.enforce()
    assert UsageWindow.objects.filter(cluster_id=cluster.pk).count() == 12
    run("ingest", *WHOLE_HOUR)
    assert hour() == (HOUR_MS, HOUR_MS // 4)
    assert retention.enforce()
