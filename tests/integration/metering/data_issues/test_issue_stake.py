"""What is at stake in an issue: adds up over time, and counts no time twice."""

from functools import partial
from pathlib import Path

import pytest

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DataIssue
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.data_issues.record import record
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.reading.scrape_targets import SCRAPE_S
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from portal.timetable import TIMETABLE
from tests.builders import HOUR_ZERO
from tests.integration.metering.support import report, run
from tests.traps.scene import HOUR_MS, Scene

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> int:
    return Cluster.objects.create(name="north").pk


def tell(cluster: int, first_s: int, last_s: int, stake_s: int, code: str) -> int:
    """What is at stake, in seconds, once this was found as well."""
    issue = Issue(
        code=code,
        subject="GPU-1",
        message="A fault.",
        first_ms=(HOUR_ZERO + first_s) * 1000,
        last_ms=(HOUR_ZERO + last_s) * 1000,
        at_stake_ms=stake_s * 1000,
    )
    record(cluster, [issue])
    found = DataIssue.objects.get(cluster=cluster, code=code).at_stake_ms
    assert found % 1000 == 0
    return found // 1000


def test_windows_add_up_and_are_not_counted_twice(cluster: int) -> None:
    said = [
        ((0, 300, 200), 200),  # a window
        ((300, 600, 100), 300),  # the next
        ((300, 600, 100), 300),  # read again
        ((-600, -300, 50), 350),  # history, behind it
        ((-600, 600, 350), 350),  # all of it read again
        ((300, 900, 240), 470),  # half of it is new
        (
            (-900, 1200, 700),
            700,
        ),  # 600 s of 2,100 are new; together not less than it says
        ((0, 300, 900), 900),  # nor here
    ]
    for told, expected in said:
        assert tell(cluster, *told, code="utilization_scale") == expected


def test_single_samples_add_up(cluster: int) -> None:
    for at, expected in ((0, 30), (0, 30), (60, 60), (-60, 90), (30, 90)):
        assert tell(cluster, at, at, 30, code="utilization_out_of_range") == expected


def test_what_comes_as_a_total_stays_one(cluster: int) -> None:
    assert tell(cluster, 0, 3600, 500, code="unpriced_gpu") == 500
    assert tell(cluster, 0, 7200, 600, code="unpriced_gpu") == 600
    assert tell(cluster, 0, 90_000, 550, code="unpriced_gpu") == 600


def test_what_is_found_between_is_left_out(cluster: int) -> None:
    """A lower bound, as docs/data-health.md says: one period is kept, not its gaps."""
    assert tell(cluster, 0, 300, 100, code="suspect_silence") == 100
    assert tell(cluster, 900, 1200, 100, code="suspect_silence") == 200
    assert tell(cluster, 300, 600, 150, code="suspect_silence") == 200


# --- while a source is silent ------------------------------------------------------

EXPORTER, OTHER, KUBE = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"  # nobody listens
END_MS = HOUR_ZERO * 1000 + HOUR_MS


def known_cluster(folder: Path, source: str) -> Cluster:
    """An hour of three GPUs behind two exporters; then a source that never answers."""
    told = Scene()
    for node, instance, gpus in (("n1", EXPORTER, 2), ("n2", OTHER, 1)):
        told.node(node, gpus, instance=KUBE)
        for n in range(gpus):
            told.gpu(f"{node}-{n}", 0, {"instance": instance}, node)
    settings, data = folder / "setup.yaml", folder / "all.om"
    data.write_text(told.openmetrics())
    run("import_metrics", "--cluster=north", data)
    settings.write_text(f"""
prices: [{{model: NVIDIA-A100-SXM4-80GB, rate_per_gpu_hour: "2.10"}}]
clusters: [{{name: north, sources: [{{{source}}}]}}]
""")
    run("configure", settings)
    roll_up_dirty_hours(Cluster.objects.get(name="north").pk)
    return Cluster.objects.get(name="north")


def scraped(*targets: tuple[str, str]) -> str:
    """A source of (job, instance)."""
    listed = ", ".join(
        f'{{job: {job}, urls: ["http://{at}/metrics"]}}' for job, at in targets
    )
    return f"kind: scrape, timeout_s: 1, targets: [{listed}]"


def stakes(code: str) -> dict[str, tuple[int, str | None]]:
    """Seconds and money at stake, by subject."""
    rows = [row for row in report("issues") if row["code"] == code]
    return {
        row["subject"]: (row["at_stake_ms"] // 1000, row["at_stake_charge"])
        for row in rows
    }


def test_each_failed_scrape_of_an_exporter_is_a_step_of_its_gpus(
    tmp_path: Path,
) -> None:
    source = scraped(("dcgm-exporter", EXPORTER), ("node", KUBE))
    cluster = known_cluster(tmp_path, source)
    for now in range(END_MS, END_MS + 90_000, 30_000):
        live_sources.scrape_cluster(cluster, partial(int, now))
    assert stakes("target_down") == {
        f"http://{EXPORTER}/metrics": (2 * 90, "0.105000"),
        f"http://{KUBE}/metrics": (0, None),  # of another job: nobody knows its GPUs
    }


def test_a_declared_interval_is_not_the_time_between_two_scrapes(
    tmp_path: Path,
) -> None:
    assert TIMETABLE["scrape"]["schedule"] == SCRAPE_S
    source = f"{scraped(('dcgm-exporter', EXPORTER))}, interval: 60"
    cluster = known_cluster(tmp_path, source)
    for now in range(END_MS, END_MS + 90_000, 30_000):
        live_sources.scrape_cluster(cluster, partial(int, now))
    assert stakes("target_down") == {f"http://{EXPORTER}/metrics": (2 * 90, "0.105000")}


def test_kube_state_tells_who_holds_every_gpu(tmp_path: Path) -> None:
    cluster = known_cluster(tmp_path, scraped(("kube-state-metrics", KUBE)))
    live_sources.scrape_cluster(cluster, partial(int, END_MS))
    assert stakes("target_down") == {f"http://{KUBE}/metrics": (3 * 30, "0.052500")}


def test_windows_that_wait_have_the_time_of_their_gpus_at_stake(tmp_path: Path) -> None:
    source = f'kind: prometheus, timeout_s: 1, url: "http://{EXPORTER}"'
    cluster = known_cluster(tmp_path, source)
    schedule.mark(
        cluster.pk, [Interval(END_MS, END_MS + HOUR_MS)], "asked", create=True
    )
    assert ingest_all(cluster).failed == 12
    # the first of the twelve was computed already: the file's last samples reach into it
    assert stakes("source_failed") == {"north": (3 * 11 * 300, "5.775000")}
