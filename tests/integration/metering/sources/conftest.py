"""What Django's own clean-up does not reach, and one set-up for all doors."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks import live_sources
from tests.builders import SETUP
from tests.integration.metering.sources import hour
from tests.integration.metering.sources.faults import GOOD, TIMEOUT_S
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.sources.source import Source, make_due
from tests.integration.metering.support import clear, facts, run

Configure = Callable[..., Cluster]


@pytest.fixture(autouse=True)
def no_facts_of_others(request: pytest.FixtureRequest) -> None:
    """Start without facts."""
    if request.node.get_closest_marker("django_db") is not None:
        request.getfixturevalue("transactional_db")


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Sets up cluster `north` with the given sources, the way a person does."""

    def _configure(*sources: dict[str, Any]) -> Cluster:
        document = yaml.safe_load(SETUP)
        document["clusters"] = [{"name": "north", "sources": list(sources)}]
        path = tmp_path / "setup.yaml"
        path.write_text(yaml.safe_dump(document))
        run("configure", path)
        return Cluster.objects.get(name="north")

    return _configure


@pytest.fixture
def source(configure: Configure) -> Iterator[Source]:
    """A good source, with one hour due."""

    def answer(question: Question) -> Answer:
        return found.script(question)

    with serving(answer) as address:
        settings = {"kind": "prometheus", "url": address, "timeout_s": TIMEOUT_S}
        found = Source(configure(settings), GOOD, address)
        make_due(found.cluster)
        yield found


Facts = list[tuple[Any, ...]]


@pytest.fixture(scope="session")
def known_facts() -> Facts:
    """Those of a source without fault, once a test has asked for them."""
    return []


@pytest.fixture
def facts_without_fault(source: Source, known_facts: Facts) -> Facts:
    """The facts of a source without fault, computed once; measured data are gone again."""
    if known_facts:
        return known_facts
    assert source.read() == 0
    known_facts += facts()
    assert known_facts
    clear()
    setting = source.cluster.sources
    source.cluster = Cluster.objects.create(pk=source.cluster.pk, name="north")
    setting.model.objects.create(
        cluster=source.cluster,
        name="prometheus",
        kind="prometheus",
        settings={"url": source.address, "timeout_s": TIMEOUT_S},
    )
    make_due(source.cluster)
    return known_facts


Replay = Callable[..., Callable[[int], Cluster]]


@pytest.fixture
def replay(configure: Configure) -> Iterator[Replay]:
    """Targets that show the hour of `hour.py`, scraped with a clock that a test sets.

    Takes what targets answer while they are down, in turn, and the time from which all of
    them are on another port, if they move; gives what scrapes them all once at a time in
    seconds.
    """
    with ExitStack() as servers:

        def _replay(
            failures: Iterator[Answer], moved_at: float = math.inf
        ) -> Callable[[int], Cluster]:
            now = hour.START

            def answer(question: Question) -> Answer:
                text = hour.page(question.path.split("/")[1], now)
                return next(failures) if text is None else Answer(body=text.encode())

            def configured() -> Cluster:
                address = servers.enter_context(serving(answer))
                targets = [
                    {"job": job, "urls": [f"{address}/{target}/metrics"]}
                    for target, job in hour.JOBS.items()
                ]
                return configure({"kind": "scrape", "targets": targets})

            cluster = configured()

            def scrape_at(at: int) -> Cluster:
                nonlocal now
                if now < moved_at <= at:
                    configured()
                now = at
                live_sources.scrape_cluster(cluster, lambda: at * 1000)
                return cluster

            return scrape_at

        yield _replay
