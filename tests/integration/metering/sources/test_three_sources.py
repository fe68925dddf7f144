"""One hour of data through the three doors gives one ledger, to the millisecond.

The hour of `hour.py`: nodes and a GPU that come and go, a workload that moves, silent
exporters and a silent kube-state, two scrapers of one node, samples with times of their
own, label values that need escapes, values that are no data.
"""

import itertools
from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from accounting.core.interval import WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.integration.metering.sources import hour
from tests.integration.metering.sources.conftest import Configure, Replay
from tests.integration.metering.sources.replay import Answer
from tests.integration.metering.support import clear, facts, report, run
from tests.prometheus_server import prometheus

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = Interval(hour.START * 1000 - WINDOW_MS, hour.END * 1000)
OF_ONE_DOOR = {"target_down", "unknown_metric"}  # what only some doors can see
Ledger = dict[str, Any]


def ledger() -> Ledger:
    """Everything that was concluded, in names that do not depend on the door."""
    issues = {
        (row["code"], row["subject"])
        for row in report("issues")
        if row["code"] not in OF_ONE_DOOR
    }
    return {
        "facts": facts(),
        "holds": report("holds"),
        "usage": report("usage", by="team,namespace"),
        "ledger": report("ledger", by="gpu"),
        "issues": sorted(issues),
    }


def assert_same(found: Ledger, expected: Ledger) -> None:
    """Equal ledgers; else the first rows that differ."""
    for part, rows in expected.items():
        pairs = zip_longest(found[part], rows)
        different = [(ours, theirs) for ours, theirs in pairs if ours != theirs]
        assert different[:2] == [], f"{len(different)} rows of {part}"


@pytest.fixture(scope="module")
def remembered() -> Ledger:
    """The ledger of the file, once a test has computed it; it is the same for all tests."""
    return {}


@pytest.fixture
def expected(remembered: Ledger, configure: Configure, tmp_path: Path) -> Ledger:
    """The ledger of the imported file; measured data are gone again."""
    if not remembered:
        configure()
        path = tmp_path / "hour.om"
        path.write_text(hour.stored())
        run("import_metrics", "--cluster=north", path)
        remembered.update(ledger())
        clear()
    return remembered


def test_the_hour_holds_what_the_doors_must_agree_on(expected: Ledger) -> None:
    held = {row["pod"]: row for row in expected["holds"]}
    assert set(held) == {"train-0", "train-1", "batch", "probe"}
    lines = expected["ledger"]
    for state in ("busy", "idle", "unknown", "free", "dark"):
        assert sum(row[f"{state}_ms"] for row in lines) > 0, state
    assert {code for code, _ in expected["issues"]} >= {"utilization_out_of_range"}
    held_ms = {row["namespace"]: row["allocated_ms"] for row in expected["usage"]}
    assert held_ms == {
        "vision": 2 * (1510 - 125) * 1000 + 2 * (3600 - 1540) * 1000,
        "robotics": (2700 - 1600) * 1000 + (2400 - 615) * 1000,
    }


@pytest.fixture(scope="module", params=[2, 3])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A Prometheus that has the hour."""
    folder = tmp_path_factory.mktemp(f"prometheus-{request.param}")
    with prometheus(request.param, hour.stored(), folder) as address:
        yield address


def compute(cluster: Cluster) -> None:
    """Bring due windows and hours up to date, as a worker does."""
    done = ingest_all(cluster, newest_first=False)
    assert done.failed == 0
    roll_up_dirty_hours(cluster.pk)


@pytest.mark.prometheus
def test_prometheus_gives_the_ledger_of_the_file(
    server: str, expected: Ledger, configure: Configure
) -> None:
    cluster = configure({"kind": "prometheus", "url": server})
    schedule.mark(cluster.pk, [WHOLE], "asked", create=True)
    compute(cluster)
    assert_same(ledger(), expected)


@pytest.mark.prometheus
def test_prometheus_window_by_window_gives_the_ledger_of_the_file(
    server: str, expected: Ledger, configure: Configure
) -> None:
    cluster = configure({"kind": "prometheus", "url": server})
    for window in reversed(list(WHOLE.windows())):
        schedule.mark(cluster.pk, [window], "asked", create=True)
        compute(cluster)
    assert_same(ledger(), expected)


FAILURES = (  # of a target: all are a scrape that failed, and nothing else
    Answer(503),
    Answer(401),
    Answer(body=b"<!doctype html><title>Sign in</title>"),
    Answer(302, b"", {"Location": "/n1/metrics"}),
    Answer(body=b'DCGM_FI_DEV_GPU_UTIL{UUID="GPU-9",Hostname="n9"} 1\nbroken'),
    Answer(body=b"\0\1\2"),
    Answer(body=b'DCGM_FI_DEV_GPU_UTIL{UUID="GPU-9",Hostname="n9"} 1\n', length=999),
)


def _milliseconds(at: int) -> int:
    return at * 1000


def test_scrapes_give_the_ledger_of_the_file(expected: Ledger, replay: Replay) -> None:
    scrape_at = replay(itertools.repeat(Answer(503)))
    for at in hour.ROUNDS:
        cluster = scrape_at(at)
        if at % 7 == 0:  # two workers at one time
            scrape_at(at)
    live_sources.find_due(cluster, partial(_milliseconds, hour.END + 30))
    compute(cluster)
    assert_same(ledger(), expected)


def test_scrapes_computed_as_they_come_give_the_ledger_of_the_file(
    expected: Ledger, replay: Replay
) -> None:
    scrape_at = replay(itertools.cycle(FAILURES))
    for at in hour.ROUNDS:
        cluster = scrape_at(at)
        if live_sources.find_due(cluster, partial(_milliseconds, at)):
            compute(cluster)
    live_sources.find_due(cluster, partial(_milliseconds, hour.END + 30))
    compute(cluster)
    assert_same(ledger(), expected)


@pytest.mark.parametrize("second", [60, 1500, 1790])
def test_scrapes_of_targets_that_move_give_the_same_time(
    expected: Ledger, replay: Replay, second: int
) -> None:
    """When a demo starts again and its port is in use, all exporters are on another one.

    Each is another exporter then. Of the samples of the window in which they move one may
    not count; no millisecond changes.
    """
    scrape_at = replay(itertools.repeat(Answer(503)), moved_at=hour.START + second)
    for at in hour.ROUNDS:
        cluster = scrape_at(at)
    live_sources.find_due(cluster, partial(_milliseconds, hour.END + 30))
    compute(cluster)
    found = ledger()
    assert found["holds"] == expected["holds"]
    moved = hour.START + second
    for ours, theirs in zip(found["facts"], expected["facts"], strict=True):
        *time, _, ours_used, ours_over = ours
        *same, _, used, over = theirs
        assert (time, ours_over) == (same, over)
        is_near = 0 <= moved - ours[0].timestamp() <= WINDOW_MS / 1000
        assert used - ours_used in ({0, 1, 2} if is_near else {0})
