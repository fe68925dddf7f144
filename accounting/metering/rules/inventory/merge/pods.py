"""Merges what kube-state shows of a pod: its times, requests, owner, labels and claims."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.fractional_requests import FRACTIONS
from accounting.metering.rules.inventory.label_names import object_labels
from accounting.metering.rules.inventory.merge.operations import (
    ChangedRecords,
    Everything,
    changes_of,
    merge_changes,
    within,
)
from accounting.metering.rules.inventory.merge.pod_nodes import pod_uid
from accounting.metering.rules.inventory.records import Inventory, PodRecord
from accounting.metering.rules.samples.series import Series, Times
from accounting.metering.rules.units.resources import kubernetes_resource, part_resource

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


def observe_pod(
    inventory: Inventory, series: Series, period: Interval, touched: ChangedRecords
) -> None:
    """Merge one series of a pod; samples outside the period are ignored."""
    inside = within(series, period)
    times = series.times_ms[inside]
    labels = series.labels
    if not len(times) or not labels.get("pod"):
        return
    first, last = int(times[0]), int(times[-1])
    namespace, name = labels.get("namespace", ""), labels["pod"]
    uid = pod_uid(series)
    pod = inventory.pods.get(uid)
    if pod is None:
        pod = PodRecord(uid, namespace, name, first, last)
        inventory.pods[uid] = pod
    pod.first_ms, pod.last_ms = min(pod.first_ms, first), max(pod.last_ms, last)
    pod.scrapers.add(series.scraper)
    touched.pods.add(uid)
    fold = _POD_METRICS.get(series.metric)
    if fold is not None:
        fold(pod, series, inside)
    kind = _REQUESTS.get(series.metric)
    if kind is not None:
        _requests(kind, pod, series, inside, inventory.added_names)


def _pod_info(pod: PodRecord, series: Series, inside: slice) -> None:
    pod.priority_class = series.labels.get("priority_class") or pod.priority_class
    pod.has_run |= bool(series.labels.get("pod_ip"))


def _pod_owner(pod: PodRecord, series: Series, inside: slice) -> None:
    labels = series.labels
    kind = labels.get("owner_kind", "")
    if labels.get("owner_is_controller") == "true" and kind not in ("", "<none>"):
        pod.owner_kind, pod.owner_name = kind, labels.get("owner_name", "")


def pod_labels(inventory: Inventory, everything: Everything, period: Interval) -> None:
    """Merge the labels of pods that `observe_pod` has seen."""
    parts: dict[str, list[tuple[Times, dict[str, str]]]] = defaultdict(list)
    for series, _ in everything:
        if series.metric == "kube_pod_labels":
            uid = pod_uid(series)
            inside = series.times_ms[within(series, period)]
            if len(inside) and uid in inventory.pods:
                parts[uid].append((inside, object_labels(series.labels)))
    for uid, found in parts.items():
        merge_changes(inventory.pods[uid].labels, *changes_of(found))


def _seconds(series: Series, inside: slice) -> int | None:
    """The last value inside, a Unix time, in milliseconds; None if it is not a time."""
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
    shown = series.times_ms[inside][series.values[inside] == 1]
    pod.has_run |= phase == "Running" and len(shown) > 0
    if phase in TERMINAL_PHASES and len(shown):
        first = int(shown[0])
        if pod.terminal_first_ms is None or first < pod.terminal_first_ms:
            pod.terminal_phase, pod.terminal_first_ms = phase, first


def _pod_reason(pod: PodRecord, series: Series, inside: slice) -> None:
    if np.any(series.values[inside] == 1):
        reason = series.labels.get("reason", "")
        pod.failed_reason = min(reason, pod.failed_reason or reason)


def _pod_unschedulable(pod: PodRecord, series: Series, inside: slice) -> None:
    shown = series.times_ms[inside][series.values[inside] == 1]
    if len(shown):
        pod.unschedulable_ms = max(int(shown[-1]), pod.unschedulable_ms or 0)


def _pod_tolerations(pod: PodRecord, series: Series, inside: slice) -> None:
    labels = series.labels
    names = ("key", "operator", "value", "effect")
    key, operator, value, effect = (labels.get(name, "") for name in names)
    pod.tolerations.add((key, operator, value, effect))


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
    "kube_pod_status_unschedulable": _pod_unschedulable,
    "kube_pod_tolerations": _pod_tolerations,
    "kube_pod_resourceclaim_info": _pod_claims,
    "kube_pod_annotations": _pod_annotations,
    "kube_pod_created": _pod_created,
    "kube_pod_status_scheduled_time": _pod_scheduled,
    "kube_pod_completion_time": _pod_completion,
    "kube_pod_status_phase": _pod_phase,
    "kube_pod_status_reason": _pod_reason,
    "kube_pod_init_container_info": _init_info,
}
