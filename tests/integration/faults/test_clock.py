"""A clock that goes back an hour while a cluster is scraped.

Aspects: nothing is lost or doubled, the ledger is that of all samples together, a person
is told, and the telling ends. Not here: exporters with clocks of their own (doors).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from accounting.core.interval import to_instant
from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.models.ledger import DataIssue
from accounting.metering.tasks import live_sources
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.reading.scrape_targets import targets_of
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.builders import HOUR_ZERO, SETUP, STEP, Text
from tests.integration.faults.support import unfinished
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.support import clear, facts, report, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

FORWARD = range(HOUR_ZERO, HOUR_ZERO + 4500, STEP)  # to 11:15, then an hour back
AGAIN = range(HOUR_ZERO + 907, HOUR_ZERO + 6300, STEP)  # from 10:15:07 to 11:45
SCRAPED = {"kube": "kube-state-metrics", "n1": "dcgm-exporter"}
ODD_SECOND = 7  # of the scrapes of the second time, so that none falls on an older one


def sampled(at: int) -> Text:
    """What the cluster shows: one GPU, held by one pod, of other utilization the second time."""
    text = Text()
    text.node("n1", 1, [at])
    text.pod("train", [at], node="n1", bound=HOUR_ZERO - 600)
    value = 0.75 if at % STEP == ODD_SECOND else 0.25
    text.utilization("GPU-1a", "n1", {at: value}, pod="train")
    return text


class World:
    """The cluster's pages at the time that its clock shows."""

    def __init__(self) -> None:
        self.at = HOUR_ZERO
        self.shown: dict[str, list[str]] = {}

    def clock_ms(self) -> int:
        """The time now."""
        return self.at * 1000

    def page(self, question: Question) -> Answer:
        """What a target answers now: samples without a time of their own."""
        name = question.path.strip("/").partition("/")[0]
        prefix = "kube_" if name == "kube" else "DCGM_"
        lines = [
            line.rsplit(" ", 1)[0]
            for family, samples in sampled(self.at).families.items()
            for line in samples
            if family.startswith(prefix)
        ]
        return Answer(body="\n".join([*lines, ""]).encode())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A cluster `north` that is scraped."""
    world = World()
    file = {"kind": "openmetrics", "name": "files", "interval": STEP}
    with serving(world.page) as address:
        targets = [
            {"job": job, "urls": [f"{address}/{name}/metrics"]}
            for name, job in SCRAPED.items()
        ]
        source = {
            "kind": "scrape",
            "name": "live",
            "interval": STEP,
            "targets": targets,
        }
        document = yaml.safe_load(SETUP)
        document["clusters"] = [{"name": "north", "sources": [file]}]
        (tmp_path / "files.yaml").write_text(yaml.safe_dump(document))
        document["clusters"] = [{"name": "north", "sources": [source]}]
        (tmp_path / "setup.yaml").write_text(yaml.safe_dump(document))
        run("configure", tmp_path / "setup.yaml")
        yield world


def live_through(world: World, times: range) -> None:
    """Scrape at these times, and do what a worker does each minute."""
    cluster = Cluster.objects.get(name="north")
    for at in times:
        world.at = at
        assert live_sources.scrape_cluster(cluster, world.clock_ms) > 0
        if at // 60 % 2 == 0:
            live_sources.find_due(cluster, world.clock_ms)
            assert ingest_all(cluster).failed == 0
            roll_up_dirty_hours(cluster.pk)


@contextmanager
def told() -> Iterator[None]:
    """Within, a person is told that a clock went back."""
    assert not told_of()
    yield
    assert told_of()


def told_of() -> bool:
    """True while the issue is open."""
    open_ones = DataIssue.objects.filter(resolved_at=None)
    return open_ones.filter(code="clock_went_back").exists()


def test_clock_that_goes_back_loses_and_doubles_nothing(
    world: World, tmp_path: Path
) -> None:
    live_through(world, FORWARD)
    with told():
        live_through(world, AGAIN[:10])
    live_through(world, AGAIN[10:])
    assert unfinished() == []
    assert "FAIL" not in run("verify")
    assert not told_of(), "it ended when the clock had caught up"

    last = FORWARD[-1] + STEP  # from here on there is the second time only
    [hold] = report(
        "usage", by="pod", **{"from": iso(HOUR_ZERO), "to": iso(last - 900)}
    )
    assert hold["unknown_ms"] == 0
    assert hold["allocated_ms"] == (last - 900 - HOUR_ZERO) * 1000
    # each sample lasts to the next one: of 30 s 7 s at 0.25 and 23 s at 0.75 are 19 s
    assert hold["busy_ms"] == 900 * 250 + 2700 * 19_000 // 30
    assert_facts_are_those_of_one_file(tmp_path)


def assert_facts_are_those_of_one_file(tmp_path: Path) -> None:
    """An import of all samples together gives the facts that are stored now."""
    end = AGAIN[-1] // 300 * 300 - 300
    found = [row for row in facts() if row[0].timestamp() < end]
    sources = [target.instance for target in targets_of(source_of("north"))]
    clear()
    run("configure", tmp_path / "files.yaml")
    whole = Text()
    for at in sorted({*FORWARD, *AGAIN}):
        for family, samples in sampled(at).families.items():
            kind = "kube" if family.startswith("kube_") else "n1"
            scraper = f'job="{SCRAPED[kind]}",instance="{sources[kind == "n1"]}"'
            whole.families.setdefault(family, []).extend(
                line.replace("{", f"{{{scraper},", 1) for line in samples
            )
    run("import_metrics", "--cluster=north", whole.write(tmp_path / "all.om"))
    assert [row for row in facts() if row[0].timestamp() < end] == found
    assert len(found) > 12


def source_of(cluster: str) -> Source:
    """The scrape source of a cluster."""
    return Cluster.objects.get(name=cluster).sources.get(name="live")


def iso(at: int) -> str:
    """A time as reports take it."""
    return to_instant(at * 1000).isoformat()
