"""On which node kube-state shows a pod (rules.md N10; trap T31).

Prometheus may add the node of the scraped target to each series without a `node`, so also to
those of a pod that has no node yet: an empty label does not count.
"""

from collections import defaultdict

from accounting.core.interval import FAR_MS, Interval
from accounting.metering.rules.inventory.merge.operations import Everything, within
from accounting.metering.rules.inventory.records import Inventory, PodRecord
from accounting.metering.rules.samples.series import (
    TARGET_NODE,
    ScraperIdentity,
    Series,
    Times,
)


def pod_nodes(inventory: Inventory, everything: Everything, period: Interval) -> None:
    """Merge the nodes of pods that `observe_pod` has seen, with all else of the period.

    The node of the scraped target counts as a pod's only from its bind on. If a pod is shown on
    several nodes, the one of its last sample counts: a pod never leaves its node.
    """
    targets = _targets(everything)
    bound = _bound(everything)
    for series, _ in everything:
        node = series.labels.get("node", "")
        pod = inventory.pods.get(pod_uid(series))
        if not node or pod is None or not series.metric.startswith("kube_pod_"):
            continue
        times = series.times_ms[within(series, period)]
        if node in targets[series.scraper]:
            times = times[times >= _bound_ms(pod, bound)]
        if len(times):
            _show(pod, node, int(times[0]), int(times[-1]))


def pod_uid(series: Series) -> str:
    """The identity of a series' pod: its uid, else its namespace and name."""
    labels = series.labels
    return labels.get("uid") or f"{labels.get('namespace', '')}/{labels.get('pod', '')}"


def _targets(everything: Everything) -> dict[ScraperIdentity, set[str]]:
    """The nodes that each scraper of kube-state adds, where it also shows when pods are bound."""
    found: dict[ScraperIdentity, set[str]] = defaultdict(set)
    telling = {series.scraper for series, _ in everything if series.metric in _BINDS}
    for series, _ in everything:
        key = "node" if series.metric == "up" else TARGET_NODE
        if series.scraper in telling and series.labels.get(key):
            found[series.scraper].add(series.labels[key])
    return found


_BINDS = frozenset({"kube_pod_status_phase", "kube_pod_status_scheduled_time"})


def _bound(everything: Everything) -> dict[str, int]:
    """The first sample of each pod with a phase that only pods with a node have."""
    found: dict[str, int] = {}
    for series, _ in everything:
        if (
            series.metric == "kube_pod_status_phase"
            and series.labels.get("phase") in _ON
        ):
            shown: Times = series.times_ms[series.values == 1]
            if len(shown):
                uid = pod_uid(series)
                found[uid] = min(int(shown[0]), found.get(uid, int(shown[0])))
    return found


_ON = frozenset({"Running", "Succeeded", "Failed"})


def _bound_ms(pod: PodRecord, bound: dict[str, int]) -> int:
    """From when on a pod is known to have a node."""
    known = [pod.scheduled_ms, bound.get(pod.uid)]
    return min((at for at in known if at is not None), default=FAR_MS)


def _show(pod: PodRecord, node: str, first_ms: int, last_ms: int) -> None:
    if pod.node == node:
        pod.node_first_ms = min(first_ms, pod.node_first_ms or first_ms)
        pod.node_last_ms = max(last_ms, pod.node_last_ms or last_ms)
    elif not pod.node or (last_ms, node) > (_last_ms(pod), pod.node):
        pod.node, pod.node_first_ms, pod.node_last_ms = node, first_ms, last_ms


def _last_ms(pod: PodRecord) -> int:
    """The last sample on its node; a record of an older version has only the first."""
    return pod.node_last_ms or pod.node_first_ms or 0
