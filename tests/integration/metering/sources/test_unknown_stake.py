"""What a metric name outside the catalogue may cost: held time without any metric there.

The same hour through each door: on n1 and n3 the exporter has a name that nobody knows, on n2
it has none at all; only n3 shows a utilization too.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.builders import HOUR_ZERO, MODEL, SETUP, Text, times
from tests.integration.metering.sources.conftest import Configure
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.sources.source import HOUR
from tests.integration.metering.support import report, run
from tests.prometheus_server import prometheus

pytestmark = pytest.mark.django_db(transaction=True)
SCRAPES = times(HOUR_ZERO, HOUR_ZERO + 3600)
NEW = "DCGM_FI_DEV_BUSY_NEW"
NODELESS = "gpu_new_meter"
HOUR_MS = 3_600_000


def history() -> Text:
    text = Text()
    for n in (1, 2, 3):
        name = f"n{n}"
        text.node(name, 1, SCRAPES)
        text.pod(f"on-{name}", SCRAPES, node=name, bound=HOUR_ZERO)
        gpu = {"UUID": f"GPU-{n}", "Hostname": name, "modelName": MODEL, "job": "dcgm"}
        for at in SCRAPES:
            text.add("DCGM_FI_DEV_FB_FREE", gpu, 1, at)
            if n != 2:
                text.add(NEW, gpu, 1, at)
            if n == 3:
                text.add("DCGM_FI_DEV_GPU_UTIL", gpu, 50, at)
    for at in SCRAPES:
        text.add(NODELESS, {"job": "app"}, 1, at)
    return text


def issues() -> dict[str, dict[str, Any]]:
    rows = report("issues")
    return {row["subject"]: row for row in rows if row["code"] == "unknown_metric"}


def expect(at_stake_ms: int, charge: str) -> None:
    found = issues()
    assert found[NEW]["at_stake_ms"] == at_stake_ms
    assert found[NEW]["at_stake_charge"] == charge
    assert found[NEW]["severity"] == "warning"
    assert found[NODELESS]["at_stake_ms"] == 0
    assert found[NODELESS]["at_stake_charge"] is None
    assert found[NODELESS]["severity"] == "info"


def test_a_file_tells_which_nodes_a_name_is_of(tmp_path: Path) -> None:
    path = tmp_path / "setup.yaml"
    path.write_text(SETUP)
    run("configure", path)
    run("import_metrics", "--cluster=north", history().write(tmp_path / "a.om"))
    unknown = {row["pod"]: row["unknown_ms"] for row in report("usage", by="pod")}
    assert unknown == {"on-n1": HOUR_MS, "on-n2": HOUR_MS, "on-n3": 0}
    expect(HOUR_MS, "2.100000")
    run("import_metrics", "--cluster=north", tmp_path / "a.om")  # says nothing new
    expect(HOUR_MS, "2.100000")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("stake")
    with prometheus(3, history().text(), folder) as address:
        yield address


@pytest.mark.prometheus
def test_a_prometheus_is_asked_for_the_nodes_of_a_name(
    server: str, configure: Configure
) -> None:
    cluster = configure({"kind": "prometheus", "url": server})
    schedule.mark(cluster.pk, [HOUR], "asked", create=True)
    assert ingest_all(cluster).failed == 0
    roll_up_dirty_hours(cluster.pk)
    expect(HOUR_MS, "2.100000")


def clock(second: int) -> Callable[[], int]:
    """A clock that stands `second` seconds into the hour."""
    return lambda: (HOUR_ZERO + second) * 1000


def test_a_scrape_weighs_the_hour_before_it(configure: Configure) -> None:
    second = 0

    def answer(_: Question) -> Answer:
        at = HOUR_ZERO + second
        lines = history().between(at, at + 30).splitlines()
        bare = [line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")]
        return Answer(body="\n".join([*bare, ""]).encode())

    with serving(answer) as address:
        targets = [{"job": "all", "urls": [address]}]
        cluster: Cluster = configure({"kind": "scrape", "targets": targets})
        for second in range(0, 1200, 30):  # `answer` reads it
            live_sources.scrape_cluster(cluster, clock(second))
        assert issues()[NEW]["at_stake_ms"] == 0  # no window is computed yet
        schedule.mark(cluster.pk, [HOUR], "asked", create=True)
        ingest_all(cluster)
        roll_up_dirty_hours(cluster.pk)
        live_sources.scrape_cluster(cluster, clock(1200))
    [held] = [row for row in report("usage", by="pod") if row["pod"] == "on-n1"]
    assert issues()[NEW]["at_stake_ms"] == held["unknown_ms"] >= 1_190_000
