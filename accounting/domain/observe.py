"""Folds samples into the evidence of a cluster: what kube-state shows; GPUs are beside it."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from accounting.domain.fold import (
    Everything,
    Touched,
    merge_changes,
    put_spans,
    scraper_record,
    spans_of,
    within,
)
from accounting.domain.fraction import FRACTIONS
from accounting.domain.inventory import Inventory, NodeRecord, PodRecord
from accounting.domain.observe_gpus import observe_gpus
from accounting.domain.period import Period
from accounting.domain.resource import kubernetes_resource, part_resource
from accounting.domain.series import Reading, Scraper, Series
from accounting.domain.track import Steps

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


def observe(
    inventory: Inventory, readings: Sequence[Reading], period: Period
) -> Touched:
    """Fold every sample of `readings` that lies in `period` into `inventory`.

    Args:
        inventory: changed in place.
        readings: of all sources of the cluster, with their margins.
        period: half-open; samples outside are context only.

    Returns:
        What was touched.
    """
    touched = Touched()
    everything = [
        (series, reading) for reading in readings for series in reading.series
    ]
    _kube_times(inventory, everything, period, touched)
    _objects(inventory, everything, period, touched)
    observe_gpus(inventory, everything, period, touched)
    return touched


def _kube_times(
    inventory: Inventory, everything: Everything, period: Period, touched: Touched
) -> None:
    """When each kube-state scraper was read, in the period."""
    seen: dict[Scraper, set[bytes]] = defaultdict(set)
    times: dict[Scraper, set[int]] = defaultdict(set)
    for series, reading in everything:
        if not series.metric.startswith("kube_"):
            continue
        scraper_record(inventory, series.scraper).interval_ms = reading.interval_ms
        inside = series.times_ms[within(series, period)]
        key = inside.tobytes()
        if key and key not in seen[series.scraper]:
            seen[series.scraper].add(key)
            times[series.scraper].update(inside.tolist())
    for scraper, found in times.items():
        record = scraper_record(inventory, scraper)
        known = [] if record.kube_times is None else record.kube_times.tolist()
        union = sorted(found.union(known))
        if len(union) != len(known):
            record.kube_times = np.array(union, np.int64)
            touched.scrapers.add(scraper)


def kube_steps(inventory: Inventory) -> dict[Scraper, Steps]:
    """The steps of every kube-state scraper (rules.md N9)."""
    return {
        scraper: Steps(record.kube_times.tolist(), record.interval_ms)
        for scraper, record in inventory.scrapers.items()
        if record.kube_times is not None
    }


def _objects(
    inventory: Inventory, everything: Everything, period: Period, touched: Touched
) -> None:
    nodes: dict[str, list[Series]] = defaultdict(list)
    for series, _ in everything:
        metric = series.metric
        if metric.startswith("kube_pod_"):
            _pod(inventory, series, period, touched)
        elif metric.startswith("kube_node_"):
            nodes[series.labels.get("node", "")].append(series)
        elif metric == "kube_namespace_labels":
            _namespace(inventory, series, period, touched)
        elif metric in _OWNED:
            _owner(inventory, series, touched)
    steps = kube_steps(inventory)
    for name, found in nodes.items():
        if name:
            _node(inventory, name, found, period, steps, touched)


_OWNED = {"kube_replicaset_owner": "ReplicaSet", "kube_job_owner": "Job"}
_OWNED_LABEL = {"kube_replicaset_owner": "replicaset", "kube_job_owner": "job_name"}


def _owner(inventory: Inventory, series: Series, touched: Touched) -> None:
    labels = series.labels
    kind, name = labels.get("owner_kind", ""), labels.get("owner_name", "")
    if kind in ("", "<none>") or labels.get("owner_is_controller") == "false":
        return
    own = labels.get(_OWNED_LABEL[series.metric], "")
    key = (labels.get("namespace", ""), _OWNED[series.metric], own)
    inventory.owners[key] = (kind, name)
    touched.owners.add(key)


def _namespace(
    inventory: Inventory, series: Series, period: Period, touched: Touched
) -> None:
    times = series.times_ms[within(series, period)]
    name = series.labels.get("namespace", "")
    if not len(times) or not name:
        return
    history = inventory.namespaces.setdefault(name, [])
    if merge_changes(history, [(int(times[0]), _labels(series))], int(times[-1])):
        touched.namespaces.add(name)


def _labels(series: Series) -> dict[str, str]:
    return {
        key: value for key, value in series.labels.items() if key.startswith("label_")
    }


def _pod(
    inventory: Inventory, series: Series, period: Period, touched: Touched
) -> None:
    inside = within(series, period)
    times = series.times_ms[inside]
    labels = series.labels
    if not len(times) or not labels.get("pod"):
        return
    first, last = int(times[0]), int(times[-1])
    namespace, name = labels.get("namespace", ""), labels["pod"]
    uid = labels.get("uid") or f"{namespace}/{name}"
    pod = inventory.pods.get(uid)
    if pod is None:
        pod = PodRecord(uid, namespace, name, first, last)
        inventory.pods[uid] = pod
    pod.first_ms, pod.last_ms = min(pod.first_ms, first), max(pod.last_ms, last)
    pod.scrapers.add(series.scraper)
    touched.pods.add(uid)
    node = labels.get("node", "")
    if node and (pod.node_first_ms is None or first < pod.node_first_ms):
        pod.node, pod.node_first_ms = node, first
    fold = _POD_METRICS.get(series.metric)
    if fold is not None:
        fold(pod, series, inside)
    kind = _REQUESTS.get(series.metric)
    if kind is not None:
        _requests(kind, pod, series, inside, inventory.added_names)


def _pod_info(pod: PodRecord, series: Series, inside: slice) -> None:
    pod.priority_class = series.labels.get("priority_class") or pod.priority_class


def _pod_owner(pod: PodRecord, series: Series, inside: slice) -> None:
    labels = series.labels
    kind = labels.get("owner_kind", "")
    if labels.get("owner_is_controller") == "true" and kind not in ("", "<none>"):
        pod.owner_kind, pod.owner_name = kind, labels.get("owner_name", "")


def _pod_labels(pod: PodRecord, series: Series, inside: slice) -> None:
    times = series.times_ms[inside]
    merge_changes(pod.labels, [(int(times[0]), _labels(series))], int(times[-1]))


def _seconds(series: Series, inside: slice) -> int | None:
    """The last value inside, a Unix time, in milliseconds; None where it is no time."""
    value = float(series.values[inside][-1])
    return round(value * 1000) if np.isfinite(value) and value > 0 else None


def _pod_claims(pod: PodRecord, series: Series, inside: slice) -> None:
    name = series.labels.get("resourceclaim_name", "")
    if name:  # empty until the claim of a template is made
        pod.claims.add(name)


def _pod_annotations(pod: PodRecord, series: Series, inside: slice) -> None:
    for key in FRACTIONS:
        value = series.labels.get(f"annotation_{key}")
        if value:
            pod.annotations[key] = value


def _pod_created(pod: PodRecord, series: Series, inside: slice) -> None:
    pod.created_ms = _seconds(series, inside) or pod.created_ms


def _pod_scheduled(pod: PodRecord, series: Series, inside: slice) -> None:
    pod.scheduled_ms = _seconds(series, inside) or pod.scheduled_ms


def _pod_completion(pod: PodRecord, series: Series, inside: slice) -> None:
    at, value = int(series.times_ms[inside][-1]), _seconds(series, inside)
    if value is not None and at >= (pod.completion_at_ms or 0):
        pod.completion_ms, pod.completion_at_ms = value, at


def _pod_phase(pod: PodRecord, series: Series, inside: slice) -> None:
    phase = series.labels.get("phase", "")
    if phase not in TERMINAL_PHASES:
        return
    shown = series.times_ms[inside][series.values[inside] == 1]
    if len(shown):
        first = int(shown[0])
        if pod.terminal_first_ms is None or first < pod.terminal_first_ms:
            pod.terminal_phase, pod.terminal_first_ms = phase, first


def _requests(
    kind: str, pod: PodRecord, series: Series, inside: slice, added: Mapping[str, str]
) -> None:
    name = series.labels.get("resource", "")
    resource = kubernetes_resource(name, added) or part_resource(name)
    value = float(series.values[inside][-1])
    if resource is not None and np.isfinite(value):
        pod.requests[kind, series.labels.get("container", ""), resource] = int(value)


def _init_info(pod: PodRecord, series: Series, inside: slice) -> None:
    if series.labels.get("restart_policy") == "Always":
        pod.sidecars.add(series.labels.get("container", ""))


_REQUESTS = {
    "kube_pod_container_resource_requests": "main",
    "kube_pod_init_container_resource_requests": "init",
}
_POD_METRICS: dict[str, Callable[[PodRecord, Series, slice], None]] = {
    "kube_pod_info": _pod_info,
    "kube_pod_owner": _pod_owner,
    "kube_pod_resourceclaim_info": _pod_claims,
    "kube_pod_annotations": _pod_annotations,
    "kube_pod_labels": _pod_labels,
    "kube_pod_created": _pod_created,
    "kube_pod_status_scheduled_time": _pod_scheduled,
    "kube_pod_completion_time": _pod_completion,
    "kube_pod_status_phase": _pod_phase,
    "kube_pod_init_container_info": _init_info,
}


def _node(
    inventory: Inventory,
    name: str,
    found: Sequence[Series],
    period: Period,
    steps: dict[Scraper, Steps],
    touched: Touched,
) -> None:
    node = inventory.nodes.setdefault(name, NodeRecord(name))
    times: dict[int, int] = {}
    seen: set[bytes] = set()
    for series in found:
        inside = series.times_ms[within(series, period)]
        key = inside.tobytes()
        if key and key not in seen:
            seen.add(key)
            for at in inside.tolist():
                times[at] = max(times.get(at, 0), steps[series.scraper].at(at))
    if not times:
        return
    changed = put_spans(node.spans, spans_of(sorted(times), times.__getitem__))
    capacity = _capacities(found, period, inventory.added_names)
    if capacity:
        changed |= merge_changes(node.capacity, capacity, max(times))
    shown = _node_labels(found, period)
    if shown:
        changed |= merge_changes(node.labels, shown, max(times))
    if changed:
        touched.nodes.add(name)


CORDONED = {"unschedulable": "true"}  # beside a node's labels while it is cordoned


def _node_labels(
    found: Sequence[Series], period: Period
) -> list[tuple[int, dict[str, str]]]:
    """The labels of a node at each change in the period, and whether it is cordoned."""
    labels: list[tuple[int, dict[str, str]]] = []
    cordoned: dict[int, bool] = {}
    for series in found:
        inside = within(series, period)
        times = series.times_ms[inside].tolist()
        if series.metric == "kube_node_labels" and times:
            labels.append((times[0], _labels(series)))
        elif series.metric == "kube_node_spec_unschedulable":
            for at, value in zip(times, series.values[inside].tolist(), strict=True):
                cordoned[at] = cordoned.get(at, False) or value == 1
    labels.sort(key=lambda item: item[0])
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
    found: Sequence[Series], period: Period, added: Mapping[str, str]
) -> list[tuple[int, dict[str, int]]]:
    """The GPU capacity of a node at each change in the period.

    `kube_node_status_capacity`; where it shows no GPU resource, `_allocatable`.
    """
    for metric in ("kube_node_status_capacity", "kube_node_status_allocatable"):
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
        changes: list[tuple[int, dict[str, int]]] = []
        for t in sorted(at):
            if not changes or changes[-1][1] != at[t]:
                changes.append((t, at[t]))
        if changes:
            return changes
    return []
