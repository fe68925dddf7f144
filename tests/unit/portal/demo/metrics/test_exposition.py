"""The text is what a real exporter and kube-state-metrics write: two parsers agree."""

from http import HTTPStatus

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.node_states import NodeTaint, newest_states
from accounting.metering.rules.samples.series import Reading, ScraperIdentity, Series
from accounting.metering.sources.catalogue import is_kept, is_unknown_gpu_metric
from accounting.metering.sources.exposition import Parser
from portal.demo.bootstrap.server import KUBE_PATH, SimulatedCluster, places
from portal.demo.metrics.exposition import kube_text, node_text
from portal.demo.scenario.engine import Engine
from tests.unit.portal.demo.conftest import NOW_S

pytestmark = pytest.mark.timeout(30)


def parsed(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Samples by our own parser."""
    parser = Parser(default_ms=NOW_S * 1000)
    lines = text.splitlines(keepends=True)
    found = {}
    for series, _, value in parser.samples(lines, is_openmetrics=False):
        raw = parser.series[series]
        assert raw is not None
        found[raw.name, frozenset(raw.labels)] = value
    return found


def texts(engine: Engine) -> list[str]:
    """All that the cluster says now."""
    nodes = engine.nodes_at(NOW_S)
    return [kube_text(engine, NOW_S), *(node_text(engine, n, NOW_S) for n in nodes)]


def test_two_parsers_read_the_same(small: Engine) -> None:
    for text in texts(small):
        theirs = {
            (
                # the client's parser adds this ending to counters that lack it
                sample.name.removesuffix("_total")
                if sample.name not in text
                else sample.name,
                frozenset(sample.labels.items()),
            ): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        assert parsed(text) == theirs
        assert len(theirs) == sum(
            not line.startswith("#") for line in text.splitlines()
        )


def test_every_name_is_in_the_catalogue(engine: Engine) -> None:
    for text in texts(engine):
        for name, _ in parsed(text):
            assert is_kept(name)
            assert not is_unknown_gpu_metric(name)


def test_every_gpu_of_a_node_is_shown_and_names_its_holder(engine: Engine) -> None:
    for node in engine.nodes_at(NOW_S):
        rows = parsed(node_text(engine, node, NOW_S))
        utilizations = {
            labels: v
            for (name, labels), v in rows.items()
            if name == node.pool.flavour.utilization
        }
        gpus = {
            dict(labels).get("UUID") or dict(labels)["gpu_uuid"]
            for labels in utilizations
        }
        assert len(gpus) == node.pool.gpus
        if node.shape.replicas == 1:
            assert len(utilizations) == len(engine.seats[node.name])
        most = 100 if node.pool.flavour.is_percent else 1
        assert all(0 <= value <= most for value in utilizations.values())
        shown = {dict(labels).get("pod") for labels in utilizations} - {None}
        held = {
            p.request.name for p in engine.pods if p.node is node and p.holds(NOW_S)
        }
        assert shown == held


def test_requests_add_up_to_what_is_held(engine: Engine) -> None:
    rows = parsed(kube_text(engine, NOW_S))
    asked = sum(
        value
        for (name, labels), value in rows.items()
        if name == "kube_pod_container_resource_requests" and dict(labels)["node"]
    )
    bound = sum(
        pod.request.gpus
        for pod in engine.pods
        if pod.is_seen(NOW_S) and pod.is_bound(NOW_S)
    )
    assert asked == bound


def test_what_waits_is_marked_and_tolerates_what_every_pod_tolerates(
    engine: Engine,
) -> None:
    rows = parsed(kube_text(engine, NOW_S))
    waiting = {
        pod.uid
        for pod in engine.pods_between(NOW_S, NOW_S + 1)
        if not pod.is_bound(NOW_S)
    }
    assert waiting
    for metric in ("kube_pod_status_unschedulable", "kube_pod_tolerations"):
        shown = {dict(labels)["uid"] for name, labels in rows if name == metric}
        assert shown == waiting


def test_cordons_are_shown_as_values_and_taints(engine: Engine) -> None:
    """At the start of the newest cordon, and when it has ended."""
    node = max(
        (one for one in engine.nodes_at(NOW_S) if one.cordons),
        key=lambda one: one.cordons[-1].start_s,
    )
    span = node.cordons[-1]
    for at_s, is_cordoned in ((span.start_s, True), (span.start_s - 1, False)):
        states = newest_states(
            [Reading(_series(kube_text(engine, at_s)))], Interval(0, 2), {}
        )
        taint = NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule")
        state = states[node.name]
        assert state.is_cordoned is is_cordoned
        assert state.taints == ({taint} if is_cordoned else set())
        assert state.capacity == state.allocatable != {}


def _series(text: str) -> tuple[Series, ...]:
    """Each sample at 1 ms."""
    times, scraper = np.array([1], np.int64), ScraperIdentity("ksm", "one")
    return tuple(
        Series(name, name, scraper, times, np.array([value]), dict(labels))
        for (name, labels), value in parsed(text).items()
    )


def test_the_server_answers_by_place(small: Engine) -> None:
    cluster = SimulatedCluster(small, clock=lambda: float(NOW_S))
    status, text = cluster.answer(KUBE_PATH)
    assert status == HTTPStatus.OK
    assert "kube_pod_info" in text
    for _, place in places(small.story):
        status, _ = cluster.answer(f"/nodes/{place}/metrics")
        there = small.node_in(place, NOW_S) is not None
        assert (status == HTTPStatus.OK) == there
    assert cluster.answer("/nodes/none-01/metrics")[0] == HTTPStatus.SERVICE_UNAVAILABLE
    assert cluster.answer("/secret")[0] == HTTPStatus.NOT_FOUND
