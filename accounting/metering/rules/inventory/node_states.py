"""The newest state of each node as kube-state-metrics shows it: capacity, taints, cordon.

Not part of the ledger: it says only where waiting work could run now (scheduling.md S14).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import within
from accounting.metering.rules.samples.series import Reading, ScraperIdentity
from accounting.metering.rules.units.resources import kubernetes_resource

CAPACITY, ALLOCATABLE = "kube_node_status_capacity", "kube_node_status_allocatable"
TAINT, CORDON = "kube_node_spec_taint", "kube_node_spec_unschedulable"
METRICS = frozenset({CAPACITY, ALLOCATABLE, TAINT, CORDON})


class NodeTaint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(slots=True)
class ScrapedNode:
    """A node in one scrape.

    Attributes:
        at_ms: when it was scraped, in milliseconds since 1970.
        capacity, allocatable: units of GPU resources, in Kubernetes' spelling; empty if the
            metric does not show any.
    """

    at_ms: int
    capacity: dict[str, int] = field(default_factory=dict)
    allocatable: dict[str, int] = field(default_factory=dict)
    taints: set[NodeTaint] = field(default_factory=set)
    is_cordoned: bool = False


class _NodeSample(NamedTuple):
    at_ms: int
    scraper: ScraperIdentity
    metric: str
    value: float
    labels: Mapping[str, str]


def newest_states(
    readings: Iterable[Reading], period: Interval, added: Mapping[str, str]
) -> dict[str, ScrapedNode]:
    """The state of each node in the newest scrape of a period, by name.

    Values of older scrapes and of other scrapers are not mixed in: a taint that is no longer shown
    has been removed. A node without a capacity is left out: what it offers is not known.

    Args:
        added: resources that an administrator added, by kube-state's spelling.
    """
    by_node: dict[str, list[_NodeSample]] = defaultdict(list)
    for reading in readings:
        for series in reading.series:
            node = series.labels.get("node", "")
            if series.metric not in METRICS or not node:
                continue
            inside = within(series, period)
            times = series.times_ms[inside]
            if len(times):
                at, value = int(times[-1]), float(series.values[inside][-1])
                found = _NodeSample(
                    at, series.scraper, series.metric, value, series.labels
                )
                by_node[node].append(found)
    states = {name: _state(samples, added) for name, samples in by_node.items()}
    return {name: state for name, state in states.items() if state is not None}


def _state(samples: list[_NodeSample], added: Mapping[str, str]) -> ScrapedNode | None:
    at, scraper = max((one.at_ms, one.scraper) for one in samples)
    newest = [one for one in samples if (one.at_ms, one.scraper) == (at, scraper)]
    if not any(one.metric in (CAPACITY, ALLOCATABLE) for one in newest):
        return None
    state = ScrapedNode(at)
    for one in newest:
        if math.isnan(one.value):
            continue
        resource = kubernetes_resource(one.labels.get("resource", ""), added)
        if one.metric == TAINT and one.value == 1:
            names = ("key", "value", "effect")
            state.taints.add(NodeTaint(*(one.labels.get(name, "") for name in names)))
        elif one.metric == CORDON:
            state.is_cordoned = state.is_cordoned or one.value == 1
        elif one.metric == CAPACITY and resource:
            state.capacity[resource] = int(one.value)
        elif one.metric == ALLOCATABLE and resource:
            state.allocatable[resource] = int(one.value)
    return state
