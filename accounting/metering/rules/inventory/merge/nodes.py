"""Merges what kube-state shows of a node: when it existed, its machine, capacity and labels."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.label_names import object_labels
from accounting.metering.rules.inventory.merge.operations import (
    ChangedRecords,
    changes_of,
    merge_changes,
    put_spans,
    spans_of,
    within,
)
from accounting.metering.rules.inventory.records import Inventory, NodeRecord
from accounting.metering.rules.samples.scraper_series import ScrapeSteps
from accounting.metering.rules.samples.series import ScraperIdentity, Series, Times
from accounting.metering.rules.units.resources import kubernetes_resource


def observe_node(
    inventory: Inventory,
    name: str,
    found: Sequence[Series],
    period: Interval,
    steps: dict[ScraperIdentity, ScrapeSteps],
    touched: ChangedRecords,
) -> None:
    """Merge a node's series of a period.

    Args:
        inventory: changed in place.
        name: of the node.
        found: every kube-state series of it.
        period: half-open; samples outside are ignored.
        steps: of kube-state's scrapers (N9).
        touched: changed records are added.
    """
    node = inventory.nodes.setdefault(name, NodeRecord(name))
    times: dict[int, int] = {}
    seen: set[tuple[ScraperIdentity, bytes]] = set()
    for series in found:
        inside = series.times_ms[within(series, period)]
        key = (series.scraper, inside.tobytes())
        if len(inside) and key not in seen:
            seen.add(key)
            for at in inside.tolist():
                times[at] = max(times.get(at, 0), steps[series.scraper].at(at))
    if not times:
        return
    changed = put_spans(node.spans, spans_of(sorted(times), times.__getitem__))
    showing = {scraper for scraper, _ in seen}
    if not showing <= node.scrapers:
        node.scrapers |= showing
        changed = True
    capacity = _capacities(found, period, inventory.added_names)
    if capacity:
        changed |= merge_changes(node.capacity, capacity, max(times))
    shown = _node_labels(found, period)
    if shown:
        changed |= merge_changes(node.labels, shown, max(times))
    _provider_ids(node, found, period)
    if changed:
        touched.nodes.add(name)


def _provider_ids(node: NodeRecord, found: Sequence[Series], period: Interval) -> None:
    """Note the provider's ids of the machine, and when they were seen."""
    for series in found:
        provider_id = series.labels.get("provider_id", "")
        if series.metric != "kube_node_info" or not provider_id:
            continue
        times = series.times_ms[within(series, period)]
        if len(times):
            first, last = int(times.min()), int(times.max())
            known = node.provider_ids.get(provider_id, (first, last))
            node.provider_ids[provider_id] = min(first, known[0]), max(last, known[1])


CORDONED = {"unschedulable": "true"}  # added to the labels of a cordoned node


def _node_labels(
    found: Sequence[Series], period: Interval
) -> list[tuple[int, dict[str, str]]]:
    """The labels of a node at each change in the period, and whether it is cordoned."""
    parts: list[tuple[Times, dict[str, str]]] = []
    cordoned: dict[int, bool] = {}
    for series in found:
        inside = within(series, period)
        times = series.times_ms[inside]
        if series.metric == "kube_node_labels" and len(times):
            parts.append((times, object_labels(series.labels)))
        elif series.metric == "kube_node_spec_unschedulable":
            values = series.values[inside].tolist()
            for at, value in zip(times.tolist(), values, strict=True):
                cordoned[at] = cordoned.get(at, False) or value == 1
    labels = changes_of(parts)[0] if parts else []
    if not labels or not any(cordoned.values()):
        return labels
    changes: list[tuple[int, dict[str, str]]] = []
    for at in sorted({*cordoned, *(at for at, _ in labels)}):
        own = next((shown for t, shown in reversed(labels) if t <= at), labels[0][1])
        since = max((t for t in cordoned if t <= at), default=None)
        is_cordoned = since is not None and cordoned[since]
        now = own | (CORDONED if is_cordoned else {})
        if not changes or changes[-1][1] != now:
            changes.append((at, now))
    return changes


def _capacities(
    found: Sequence[Series], period: Interval, added: Mapping[str, str]
) -> list[tuple[int, dict[str, int]]]:
    """The GPU capacity of a node at each change in the period.

    `kube_node_status_capacity`, without what is left over; if that has no GPU resource,
    `_allocatable`.
    """
    there = _units("kube_node_status_capacity", found, period, added)
    usable = _units("kube_node_status_allocatable", found, period, added)
    changes: list[tuple[int, dict[str, int]]] = []
    for t in sorted(there or usable):
        units = _without_leftovers(there[t], usable.get(t, {})) if there else usable[t]
        if not changes or changes[-1][1] != units:
            changes.append((t, units))
    return changes


def _units(
    metric: str, found: Sequence[Series], period: Interval, added: Mapping[str, str]
) -> dict[int, dict[str, int]]:
    """Units by GPU resource, by sample time."""
    at: dict[int, dict[str, int]] = defaultdict(dict)
    for series in found:
        resource = kubernetes_resource(series.labels.get("resource", ""), added)
        if series.metric != metric or resource is None:
            continue
        inside = within(series, period)
        values = series.values[inside].tolist()
        for t, value in zip(series.times_ms[inside].tolist(), values, strict=True):
            if not math.isnan(value):
                at[t][resource] = int(value)
    return dict(at)


def _without_leftovers(
    capacity: dict[str, int], usable: Mapping[str, int]
) -> dict[str, int]:
    """A capacity without resources of an earlier partitioning (trap T32).

    The kubelet keeps them, with nothing allocatable, until a person patches the node. If nothing
    at all is allocatable, the node is out of order, and its GPUs are there.
    """
    if not any(usable.values()):
        return capacity
    return {name: n for name, n in capacity.items() if usable.get(name, n) or not n}
