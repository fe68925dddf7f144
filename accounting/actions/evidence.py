"""Loads the part of a cluster's evidence that a period needs.

Callers hold the cluster's `evidence` lock, so that merges of two workers cannot lose each
other's samples.
"""

from collections import defaultdict
from collections.abc import Container, Iterable

import numpy as np
from django.db.models import Q

from accounting.actions import claims, gpu_models
from accounting.actions.evidence_ids import Ids
from accounting.domain.inventory import (
    GpuRecord,
    Inventory,
    LabelKey,
    Naming,
    NodeRecord,
    Place,
    PodRecord,
    ScraperRecord,
    Span,
)
from accounting.domain.label import union_of
from accounting.domain.period import HOUR_MS, Period, to_instant, to_ms
from accounting.domain.resource import is_counted
from accounting.domain.series import PodName, Times
from accounting.domain.series import Scraper as ScraperKey
from accounting.mapping import pod_from_row, unpack_steps, unpack_times
from accounting.models import (
    Cluster,
    Gpu,
    GpuGeometry,
    GpuLabelHour,
    GpuSpan,
    Namespace,
    NamespaceLabels,
    Node,
    NodeFact,
    NodeSpan,
    OwnPod,
    Pod,
    ScrapeHour,
    Scraper,
)
from accounting.queries.policies import share_policies
from accounting.queries.resources import added_resources

LABEL_REACH_MS = HOUR_MS  # labels further away say nothing new (docs/decisions/0007)
POD_REACH_MS = 2 * HOUR_MS  # wider than labels: a label must find its pod


def load(
    cluster: Cluster, period: Period, uids: Iterable[str] = ()
) -> tuple[Inventory, Ids]:
    """The evidence that decides about a period, and all there is of the pods `uids`."""
    inventory = Inventory(added=added_resources(), policies=share_policies(cluster.pk))
    ids = Ids()
    _load_nodes(cluster, inventory, ids)
    _load_pods(cluster, period, uids, inventory, ids)
    _load_scrapers(cluster, period, inventory, ids)
    _load_gpus(cluster, inventory, ids)
    gpu_models.forget_likely(inventory)
    _load_geometries(cluster, inventory)
    _load_labels(cluster, period, inventory, ids)
    claims.load(cluster, inventory)
    inventory.own_pods = set(
        OwnPod.objects.filter(cluster=cluster).values_list("namespace", "pod")
    )
    return inventory, ids


def _load_nodes(cluster: Cluster, inventory: Inventory, ids: Ids) -> None:
    for pk, name in Node.objects.filter(cluster=cluster).values_list("pk", "name"):
        ids.nodes[name] = pk
        inventory.nodes[name] = NodeRecord(name)
    spans = NodeSpan.objects.filter(node__cluster=cluster).order_by("first_ms")
    for name, first, last, step in spans.values_list(
        "node__name", "first_ms", "last_ms", "step_ms"
    ):
        inventory.nodes[name].spans.append(Span(first, last, step))
    facts = NodeFact.objects.filter(node__cluster=cluster).order_by("valid_from")
    for name, at, units, labels in facts.values_list(
        "node__name", "valid_from", "capacity", "labels"
    ):
        node = inventory.nodes[name]
        capacity = {
            resource: count
            for resource, count in units.items()
            if is_counted(resource, inventory.added)
        }
        if not node.capacity or node.capacity[-1][1] != capacity:
            node.capacity.append((to_ms(at), capacity))
        if not node.labels or node.labels[-1][1] != labels:
            node.labels.append((to_ms(at), labels))
    for node in inventory.nodes.values():
        node.capacity = [item for item in node.capacity if item[1]]
        node.labels = [item for item in node.labels if item[1]]


def _forget_uncounted(pod: PodRecord, added: Container[str]) -> None:
    """Drop requests of resources that an administrator named once, and no more."""
    gone = [key for key in pod.requests if not is_counted(key[2], added)]
    for key in gone:
        del pod.requests[key]


def _load_gpus(cluster: Cluster, inventory: Inventory, ids: Ids) -> None:
    rows = Gpu.objects.filter(cluster=cluster)
    for pk, uuid, model, placeholder in rows.values_list(
        "pk", "uuid", "model", "is_placeholder"
    ):
        ids.gpus[uuid] = pk
        if not placeholder:
            inventory.gpus[uuid] = GpuRecord(uuid, model)
    spans = GpuSpan.objects.filter(gpu__cluster=cluster).order_by("first_ms")
    by_id = {pk: key for key, pk in ids.scrapers.items()}
    for uuid, node, scraper, first, last, step in spans.values_list(
        "gpu__uuid", "node__name", "scraper_id", "first_ms", "last_ms", "step_ms"
    ):
        place = Place(node, by_id[scraper])
        inventory.gpus[uuid].spans.setdefault(place, []).append(Span(first, last, step))


def _load_geometries(cluster: Cluster, inventory: Inventory) -> None:
    rows = GpuGeometry.objects.filter(gpu__cluster=cluster).order_by("from_ms")
    for uuid, at, instances in rows.values_list("gpu__uuid", "from_ms", "instances"):
        divided = tuple((number, profile) for number, profile in instances)
        inventory.gpus[uuid].geometry.append((at, divided))


def _load_pods(
    cluster: Cluster,
    period: Period,
    uids: Iterable[str],
    inventory: Inventory,
    ids: Ids,
) -> None:
    near = (
        Q(
            last_ms__gte=period.start_ms - period.start_ms % HOUR_MS - POD_REACH_MS,
            first_ms__lt=period.end_ms + POD_REACH_MS + HOUR_MS,
        )
        | Q(holds__ended_ms__isnull=True, holds__isnull=False)
        | Q(uid__in=list(uids))
    )
    rows = Pod.objects.filter(near, cluster=cluster, is_inferred=False).distinct()
    for pk, uid, namespace, name, first, last, record in rows.values_list(
        "pk", "uid", "namespace__name", "name", "first_ms", "last_ms", "record"
    ):
        ids.pods[uid] = pk
        inventory.pods[uid] = pod_from_row(
            uid, namespace, name, first or 0, last or 0, record
        )
        _forget_uncounted(inventory.pods[uid], inventory.added)
    labels = NamespaceLabels.objects.filter(namespace__cluster=cluster)
    for name, at, value in labels.order_by("valid_from").values_list(
        "namespace__name", "valid_from", "labels"
    ):
        inventory.namespaces.setdefault(name, []).append((to_ms(at), value))
    ids.namespaces = dict(
        Namespace.objects.filter(cluster=cluster).values_list("name", "pk")
    )


def _load_scrapers(
    cluster: Cluster, period: Period, inventory: Inventory, ids: Ids
) -> None:
    for row in Scraper.objects.filter(cluster=cluster):
        key = ScraperKey(row.job, row.instance, row.replica)
        ids.scrapers[key] = row.pk
        record = ScraperRecord(key, row.shows_exported)
        inventory.scrapers[key] = record
    oldest = min(
        [p.last_ms for p in inventory.pods.values()] + [label_period(period).start_ms]
    )
    start = to_instant(max(0, oldest - oldest % HOUR_MS - HOUR_MS))
    by_id = {pk: key for key, pk in ids.scrapers.items()}
    parts: dict[int, list[Times]] = defaultdict(list)
    hours = ScrapeHour.objects.filter(scraper__cluster=cluster, hour_start__gte=start)
    for pk, hour, packed in hours.order_by("hour_start").values_list(
        "scraper_id", "hour_start", "times"
    ):
        parts[pk].append(unpack_times(bytes(packed), to_ms(hour)))
    for pk, found in parts.items():
        inventory.scrapers[by_id[pk]].kube_times = np.concatenate(found)


def label_period(period: Period) -> Period:
    """The hours whose GPU labels are loaded for a period."""
    start = period.start_ms - period.start_ms % HOUR_MS
    end = -(-period.end_ms // HOUR_MS) * HOUR_MS
    return Period(max(0, start - LABEL_REACH_MS), end + LABEL_REACH_MS)


def _load_labels(
    cluster: Cluster, period: Period, inventory: Inventory, ids: Ids
) -> None:
    reach = label_period(period)
    rows = GpuLabelHour.objects.filter(
        gpu__cluster=cluster,
        hour_start__gte=reach.start,
        hour_start__lt=reach.end,
    ).order_by("hour_start")
    by_id = {pk: key for key, pk in ids.scrapers.items()}
    parts: dict[LabelKey, list[Naming]] = defaultdict(list)
    for row in rows.select_related("gpu", "node"):
        key = LabelKey(
            row.gpu.uuid,
            Place(row.node.name, by_id[row.scraper_id]),
            row.instance,
            row.vgpu,
            PodName(row.namespace, row.pod, row.pod_uid),
            row.is_plain,
            row.profile,
        )
        times = unpack_times(bytes(row.times), to_ms(row.hour_start))
        parts[key].append(Naming(times, unpack_steps(bytes(row.steps))))
    inventory.gpu_labels = {key: union_of(found) for key, found in parts.items()}
