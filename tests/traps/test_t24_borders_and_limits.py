"""T24: window borders and point limits, through the Prometheus door."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.builders import SETUP, STEP
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.sources.source import let_time_pass
from tests.integration.metering.sources.stand_in import StandIn, answer_of
from tests.integration.metering.support import facts, report, run
from tests.prometheus_server import prometheus
from tests.traps.scene import ENGINE, HOUR, START, Pod, Scene, gpus, hours, usage

pytestmark = pytest.mark.django_db(transaction=True)

Server = Callable[[Scene], str]
START_MS = START * 1000
UNTIL = START + 2 * HOUR


def connected(address: str, folder: Path, step: int = STEP) -> Cluster:
    """Cluster `north` that reads from an address what is scraped each `step` seconds."""
    document = yaml.safe_load(SETUP)
    source: dict[str, Any] = {"kind": "prometheus", "url": address, "interval": step}
    document["clusters"] = [{"name": "north", "sources": [source]}]
    path = folder / "setup.yaml"
    path.write_text(yaml.safe_dump(document))
    run("configure", path)
    return Cluster.objects.get(name="north")


def read(cluster: Cluster, seconds: int) -> int:
    """Read a scene's time; gives the number of windows that failed."""
    period = Interval(START_MS, START_MS + seconds * 1000)
    schedule.mark(cluster.pk, [period], "asked", create=True)
    return compute(cluster)


def compute(cluster: Cluster) -> int:
    """Bring what is due up to date, as a worker does."""
    done = ingest_all(cluster, newest_first=False)
    roll_up_dirty_hours(cluster.pk)
    return done.failed


def busy_node(seconds: int, step: int = STEP) -> Scene:
    """One GPU that is held all the time; the last scrape is at the very end."""
    told = Scene(seconds + 1, step)
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    return told


@pytest.fixture(params=[2, 3])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """Starts a real Prometheus over what a scene told."""
    running: list[Any] = []

    def _server(told: Scene) -> str:
        folder = tmp_path / "prometheus"
        folder.mkdir()
        running.append(prometheus(request.param, told.openmetrics(), folder))
        address: str = running[0].__enter__()
        return address

    yield _server
    for each in running:
        each.__exit__(None, None, None)


@pytest.mark.prometheus
def test_t24a_a_sample_on_a_border_is_stored_once(
    server: Server, tmp_path: Path
) -> None:
    address = server(busy_node(2 * HOUR))
    counts = []
    for end in (START + HOUR, UNTIL):
        asked: dict[str, Any] = {"query": f"count_over_time({ENGINE}[1h])", "time": end}
        said = requests.get(f"{address}/api/v1/query", asked, timeout=10).json()
        counts.append(int(said["data"]["result"][0]["value"][1]))
    assert counts in ([121, 121], [120, 120])  # by version; wrong ones in either

    cluster = connected(address, tmp_path)
    assert read(cluster, 2 * HOUR) == 0

    used: dict[str, int] = {}
    for row in facts():
        used[row[0].strftime("%H")] = used.get(row[0].strftime("%H"), 0) + row[15]
    assert used == {"10": 120, "11": 120}
    assert IngestWindow.objects.count() == 24
    assert hours(usage("pod")["train-0"]["busy_ms"]) == 1


@pytest.mark.prometheus
@pytest.mark.timeout(180)
@pytest.mark.parametrize("server", [3], indirect=True)  # the limit is the same in 2
def test_t24b_more_points_than_an_answer_holds_come_in_chunks(
    server: Server, tmp_path: Path
) -> None:
    seconds, step = 32 * HOUR, 10
    told = busy_node(seconds, step)
    address = server(told)
    asked: dict[str, Any] = {
        "query": ENGINE,
        "start": START,
        "end": START + seconds,
        "step": step,
    }
    refused = requests.get(f"{address}/api/v1/query_range", asked, timeout=10)
    assert refused.status_code == 400

    cluster = connected(address, tmp_path, step)
    assert read(cluster, seconds) == 0

    assert sum(row[15] for row in facts()) == 11_520
    row = usage("pod")["train-0"]
    assert hours(row["busy_ms"]) == 16
    assert row["coverage"] == 1


def test_t24c_an_answer_with_warnings_is_read_again(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    good = StandIn(told.openmetrics())
    is_partial = True

    def half(question: Question) -> Answer:
        if not is_partial:
            return good(question)
        kept = [s for s in good.result(question) if s["metric"]["__name__"] != ENGINE]
        return answer_of(kept, warnings=["store 3 is unreachable"])

    with serving(half) as address:
        cluster = connected(address, tmp_path)
        assert read(cluster, HOUR) == 0
        assert "source_warning" in {row["code"] for row in report("issues")}
        assert usage("pod")["train-0"]["coverage"] == 0
        is_partial = False
        let_time_pass()
        assert compute(cluster) == 0

    assert "source_warning" not in {row["code"] for row in report("issues")}
    row = usage("pod")["train-0"]
    assert row["coverage"] == 1
    assert hours(row["busy_ms"]) == 0.5
    assert gpus()["GPU-1"]["wall_ms"] == HOUR_MS
