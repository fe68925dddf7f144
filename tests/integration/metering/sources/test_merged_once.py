"""How often samples are folded into the evidence: once, and in as few parts as memory allows.

Counted in statements, not in seconds. What the evidence then says is compared everywhere
else: with the same samples in other pieces, and from other sources.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import BufferBlock
from accounting.metering.tasks import merge_buffered
from accounting.metering.tasks.merge_buffered import PART_HOURS, PART_SAMPLES, parts_of
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from tests.builders import HOUR_ZERO, Text, times, two_hours
from tests.integration.metering.sources.conftest import Configure
from tests.integration.metering.support import clear, facts, run

pytestmark = pytest.mark.django_db(transaction=True)

HOURS = 5
START_MS = HOUR_ZERO * 1000
LOADED = "FROM accounting_nodespan s JOIN"  # once each time that evidence is loaded
SAVED = "CREATE TEMPORARY TABLE incoming"  # where labels, GPUs and pods are saved


def story(hours: int) -> Text:
    """A GPU that a pod holds for some hours."""
    text = Text()
    scrapes = times(HOUR_ZERO, HOUR_ZERO + hours * 3600, 60)
    text.node("n1", 1, scrapes)
    text.pod("train", scrapes, node="n1", bound=HOUR_ZERO)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, 0.25), pod="train")
    return text


def count(statements: CaptureQueriesContext, words: str) -> int:
    return sum(words in query["sql"] for query in statements.captured_queries)


def again(windows: Iterable[Interval], reason: str = "again") -> None:
    """Make windows due and compute them."""
    cluster = Cluster.objects.get(name="north")
    schedule.mark(cluster.pk, windows, reason, create=False)
    ingest_all(cluster)


@pytest.fixture
def path(configure: Configure, tmp_path: Path, settings: Settings) -> Path:
    """A file of a cluster that is configured; its hours are computed one by one."""
    settings.INGEST_HOURS_AT_ONCE = 1
    configure({"kind": "openmetrics"})
    return story(HOURS).write(tmp_path / "all.om")


def test_a_file_is_folded_in_one_part(path: Path) -> None:
    with CaptureQueriesContext(connection) as statements:
        run("import_metrics", "--cluster=north", path)
    hours = HOURS + 1  # one more for what lies behind the last sample
    assert HOURS < count(statements, LOADED) <= hours + 1
    assert not BufferBlock.objects.filter(folded_as=None).exists()


def test_windows_that_are_computed_again_fold_nothing(path: Path) -> None:
    run("import_metrics", "--cluster=north", path)
    before = facts()
    with CaptureQueriesContext(connection) as statements:
        again([Interval(START_MS, START_MS + HOURS * HOUR_MS)])
    assert count(statements, LOADED) >= HOURS, "they were computed"
    assert count(statements, SAVED) == 0
    assert facts() == before


def test_what_lies_around_late_samples_is_folded_again(
    path: Path, tmp_path: Path
) -> None:
    run("import_metrics", "--cluster=north", path)
    late = Text()
    at = HOUR_ZERO + 2 * 3600 + 1800
    late.utilization("GPU-1", "n1", {at + 1: 0.25, at + 11: 0.25}, pod="train")
    known = set(BufferBlock.objects.values_list("pk", flat=True))
    run("import_metrics", "--cluster=north", late.write(tmp_path / "late.om"))
    unfolded = BufferBlock.objects.filter(pk__in=known, folded_as=None)
    around = {START_MS + n * HOUR_MS for n in (1, 2, 3)}
    assert {to_ms(block.hour_start) for block in unfolded} == around


@pytest.mark.parametrize("samples", [1, 200, 10_000])
def test_the_ledger_does_not_depend_on_the_parts(
    configure: Configure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    samples: int,
) -> None:
    configure({"kind": "openmetrics"})
    path = two_hours().write(tmp_path / "two.om")
    run("import_metrics", "--cluster=north", path)
    wanted = facts()
    clear()
    monkeypatch.setattr(merge_buffered, "PART_SAMPLES", samples)
    configure({"kind": "openmetrics"})
    run("import_metrics", "--cluster=north", path)
    assert facts() == wanted


def hour(number: int) -> int:
    return START_MS + number * HOUR_MS


def test_parts_are_as_large_as_they_may() -> None:
    whole = Interval(hour(0) + 60_000, hour(5) + 1)
    half = PART_SAMPLES // 2
    counts = {hour(0): half, hour(1): half, hour(2): 1, hour(4): 2 * PART_SAMPLES}
    assert parts_of(whole, counts) == [
        Interval(whole.start_ms, hour(2)),
        Interval(hour(2), hour(4)),
        Interval(hour(4), hour(5)),
        Interval(hour(5), whole.end_ms),
    ]
    day = Interval(hour(0) + 60_000, hour(PART_HOURS) + 60_000)
    assert parts_of(day, {}) == [day]
    longer = Interval(day.start_ms, day.end_ms + 1)
    assert [part.end_ms for part in parts_of(longer, {})] == [
        hour(PART_HOURS),
        longer.end_ms,
    ]


def test_nobody_knows_how_much_a_prometheus_has_of_an_hour() -> None:
    whole = Interval(hour(0) + 60_000, hour(2) + 1)
    assert [part.end_ms for part in parts_of(whole, None)] == [
        hour(1),
        hour(2),
        whole.end_ms,
    ]
