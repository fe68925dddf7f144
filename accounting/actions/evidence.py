"""Loads the part of a cluster's evidence that a period needs, and saves what changed.

Callers hold the cluster's `evidence` lock, so that merges of two workers cannot lose each
other's samples.
"""

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Q

from accounting.actions import bulk, claims
from accounting.domain.fold import Touched
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
from accounting.mapping import (
    pack_steps,
    pack_times,
    pod_from_row,
    pod_to_json,
    unpack_steps,
    unpack_times,
)
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
    Owner,
    OwnPod,
    Pod,
    ScrapeHour,
    Scraper,
)
from accounting.queries.policies import share_policies
from accounting.queries.resources import added_resources
from accounting.sources.catalogue import lifecycle_of, normal_model

LABEL_REACH_MS = HOUR_MS  # labels further away say nothing new (docs/decisions/0007)
POD_REACH_MS = 2 * HOUR_MS  # wider than labels: a label must find its pod
BATCH = 2000


@dataclass(slots=True)
class Ids:
    """Row ids by identity, of one cluster."""

    nodes: dict[str, int] = field(default_factory=dict)
    gpus: dict[str, int] = field(default_factory=dict)
    pods: dict[str, int] = field(default_factory=dict)
    namespaces: dict[str, int] = field(default_factory=dict)
    scrapers: dict[ScraperKey, int] = field(default_factory=dict)


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


def save(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: Touched, period: Period
) -> None:
    """Write what a fold changed. Rows that are there already are updated."""
    _save_nodes(cluster, inventory, ids, touched)
    _save_scrapers(cluster, inventory, ids, touched, period)
    _save_gpus(cluster, inventory, ids, touched)
    _save_labels(inventory, ids, touched, period)
    _save_namespaces(cluster, inventory, ids, touched)
    _save_pods(cluster, inventory, ids, touched)
    OwnPod.objects.bulk_create(
        [OwnPod(cluster=cluster, namespace=n, pod=p) for n, p in inventory.own_pods],
        ignore_conflicts=True,
    )
    _save_owners(inventory, ids, touched)
    claims.save(cluster, inventory, touched.claims)


def _save_nodes(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: Touched
) -> None:
    seen = set(touched.nodes)
    for record in inventory.gpus.values():
        seen.update(place.node for place in record.spans)
    ensure_nodes(cluster, ids, seen)
    changed = [ids.nodes[name] for name in touched.nodes]
    NodeSpan.objects.filter(node_id__in=changed).delete()
    NodeFact.objects.filter(node_id__in=changed).delete()
    spans: list[NodeSpan] = []
    facts: list[NodeFact] = []
    for name in touched.nodes:
        node = inventory.nodes[name]
        pk = ids.nodes[name]
        spans.extend(
            NodeSpan(
                node_id=pk, first_ms=s.first_ms, last_ms=s.last_ms, step_ms=s.step_ms
            )
            for s in node.spans
        )
        facts.extend(_facts(pk, node))
    NodeSpan.objects.bulk_create(spans, batch_size=BATCH)
    NodeFact.objects.bulk_create(facts, batch_size=BATCH)


def _facts(node_id: int, node: NodeRecord) -> Iterable[NodeFact]:
    for at in sorted({at for at, _ in node.capacity} | {at for at, _ in node.labels}):
        capacity = next((v for t, v in reversed(node.capacity) if t <= at), {})
        labels = next((v for t, v in reversed(node.labels) if t <= at), {})
        product = labels.get("label_nvidia_com_gpu_product") or labels.get(
            "label_cloud_google_com_gke_accelerator", ""
        )
        yield NodeFact(
            node_id=node_id,
            valid_from=to_instant(at),
            capacity=capacity,
            labels=labels,
            model=normal_model(product),
            lifecycle=lifecycle_of(labels),
            instance_type=labels.get("label_node_kubernetes_io_instance_type", ""),
            zone=labels.get("label_topology_kubernetes_io_zone", ""),
        )


def ensure_nodes(cluster: Cluster, ids: Ids, names: Iterable[str]) -> None:
    """Make the rows of nodes that have none."""
    missing = [name for name in sorted(names) if name not in ids.nodes]
    Node.objects.bulk_create(
        [Node(cluster=cluster, name=name) for name in missing], ignore_conflicts=True
    )
    found = Node.objects.filter(cluster=cluster, name__in=missing)
    ids.nodes.update(found.values_list("name", "pk"))


def _save_gpus(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: Touched
) -> None:
    bulk.merge(
        Gpu,
        ["cluster", "uuid", "model", "is_placeholder"],
        [
            (cluster.pk, uuid, inventory.gpus[uuid].model, False)
            for uuid in sorted(touched.gpus)
        ],
        key=["cluster", "uuid"],
        update=["model"],
    )
    found = Gpu.objects.filter(cluster=cluster, uuid__in=touched.gpus)
    ids.gpus.update(found.values_list("uuid", "pk"))
    changed = [ids.gpus[uuid] for uuid in touched.gpus]
    GpuSpan.objects.filter(gpu_id__in=changed).delete()
    bulk.append(
        GpuSpan,
        ["gpu", "node", "scraper", "first_ms", "last_ms", "step_ms"],
        [
            (
                ids.gpus[uuid],
                ids.nodes[place.node],
                ids.scrapers[place.scraper],
                span.first_ms,
                span.last_ms,
                span.step_ms,
            )
            for uuid in touched.gpus
            for place, spans in inventory.gpus[uuid].spans.items()
            for span in spans
        ],
    )
    GpuGeometry.objects.filter(gpu_id__in=changed).delete()
    GpuGeometry.objects.bulk_create(
        [
            GpuGeometry(gpu_id=ids.gpus[uuid], from_ms=at, instances=divided)
            for uuid in touched.gpus
            for at, divided in inventory.gpus[uuid].geometry
        ],
        batch_size=BATCH,
    )


def _save_scrapers(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: Touched, period: Period
) -> None:
    Scraper.objects.bulk_create(
        [
            Scraper(
                cluster=cluster,
                job=key.job,
                instance=key.instance,
                replica=key.replica,
                shows_exported=inventory.scrapers[key].shows_exported,
                is_kube_state=inventory.scrapers[key].kube_times is not None,
            )
            for key in sorted(touched.scrapers)
        ],
        update_conflicts=True,
        unique_fields=["cluster", "job", "instance", "replica"],
        update_fields=["shows_exported", "is_kube_state"],
    )
    for row in Scraper.objects.filter(cluster=cluster):
        ids.scrapers[ScraperKey(row.job, row.instance, row.replica)] = row.pk
    hours: list[ScrapeHour] = []
    for key in touched.scrapers:
        times = inventory.scrapers[key].kube_times
        if times is not None:
            hours.extend(
                ScrapeHour(
                    scraper_id=ids.scrapers[key],
                    hour_start=to_instant(hour),
                    times=pack_times(times[part], hour),
                )
                for hour, part in _by_hour(times, period)
            )
    ScrapeHour.objects.bulk_create(
        hours,
        update_conflicts=True,
        unique_fields=["scraper", "hour_start"],
        update_fields=["times"],
    )


def _by_hour(times: Times, period: Period) -> Iterable[tuple[int, slice]]:
    """The hours that a period touches, each with where its times are."""
    for hour in period.hours():
        low, high = np.searchsorted(times, [hour.start_ms, hour.end_ms])
        if high > low:
            yield hour.start_ms, slice(int(low), int(high))


def _save_labels(
    inventory: Inventory, ids: Ids, touched: Touched, period: Period
) -> None:
    bulk.merge(
        GpuLabelHour,
        [*_LABEL_KEY, "times", "steps"],
        [
            (
                ids.gpus[key.uuid],
                ids.nodes[key.place.node],
                ids.scrapers[key.place.scraper],
                to_instant(hour),
                key.instance,
                key.profile,
                key.vgpu,
                key.pod.namespace,
                key.pod.pod,
                key.pod.uid,
                key.is_plain,
                pack_times(shown.times[part], hour),
                pack_steps(shown.steps[part]),
            )
            for key in touched.labels
            for shown in [inventory.gpu_labels[key]]
            for hour, part in _by_hour(shown.times, period)
        ],
        key=_LABEL_KEY,
        update=["times", "steps"],
    )


_LABEL_KEY = (
    "gpu",
    "node",
    "scraper",
    "hour_start",
    "instance",
    "profile",
    "vgpu",
    "namespace",
    "pod",
    "pod_uid",
    "is_plain",
)


def _save_namespaces(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: Touched
) -> None:
    names = set(touched.namespaces)
    names.update(inventory.pods[uid].namespace for uid in touched.pods)
    names.update(key[0] for key in touched.owners)
    ensure_namespaces(cluster, ids, names)
    NamespaceLabels.objects.filter(
        namespace__cluster=cluster, namespace__name__in=touched.namespaces
    ).delete()
    NamespaceLabels.objects.bulk_create(
        [
            NamespaceLabels(
                namespace_id=ids.namespaces[name],
                valid_from=to_instant(at),
                labels=labels,
            )
            for name in touched.namespaces
            for at, labels in inventory.namespaces[name]
        ]
    )


def ensure_namespaces(cluster: Cluster, ids: Ids, names: Iterable[str]) -> None:
    """Make the rows of namespaces that have none."""
    missing = [name for name in sorted(names) if name not in ids.namespaces]
    Namespace.objects.bulk_create(
        [Namespace(cluster=cluster, name=name) for name in missing],
        ignore_conflicts=True,
    )
    found = Namespace.objects.filter(cluster=cluster, name__in=missing)
    ids.namespaces.update(found.values_list("name", "pk"))


_POD_KEY = ("cluster", "uid")
_POD_STATE = ("node", "priority_class", "is_inferred", "first_ms", "last_ms", "record")


def _save_pods(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: Touched
) -> None:
    ensure_nodes(
        cluster,
        ids,
        {inventory.pods[u].node for u in touched.pods if inventory.pods[u].node},
    )
    bulk.merge(
        Pod,
        [*_POD_KEY, "namespace", "name", *_POD_STATE],
        [
            (
                cluster.pk,
                uid,
                ids.namespaces[pod.namespace],
                pod.name,
                ids.nodes[pod.node] if pod.node else None,
                pod.priority_class,
                False,  # labels may have shown it before kube-state did
                pod.first_ms,
                pod.last_ms,
                pod_to_json(pod),
            )
            for uid, pod in ((uid, inventory.pods[uid]) for uid in sorted(touched.pods))
        ],
        key=_POD_KEY,
        update=_POD_STATE,
    )
    found = Pod.objects.filter(cluster=cluster, uid__in=touched.pods)
    ids.pods.update(found.values_list("uid", "pk"))


def _save_owners(inventory: Inventory, ids: Ids, touched: Touched) -> None:
    Owner.objects.bulk_create(
        [
            Owner(
                namespace_id=ids.namespaces[namespace],
                kind=kind,
                name=name,
                owner_kind=owner_kind,
                owner_name=owner_name,
            )
            for namespace, kind, name in sorted(touched.owners)
            for owner_kind, owner_name in [inventory.owners[namespace, kind, name]]
        ],
        ignore_conflicts=True,
        batch_size=BATCH,
    )
