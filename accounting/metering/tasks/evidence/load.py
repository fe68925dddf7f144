"""Loads the part of a cluster's evidence that a period needs.

Callers hold the cluster's `evidence` lock, so that merges of two workers cannot lose each
other's samples. It runs for each hour of windows, so it uses SQL: building these queries with the
ORM took longer than executing them.
"""

from collections import defaultdict
from collections.abc import Container, Iterable

import msgspec
import numpy as np

from accounting.core.interval import HOUR_MS, Interval, to_instant, to_ms
from accounting.kit.reads.database_clock import database_now
from accounting.metering.mapping import pod_from_row, scales_from_json, unpack_times
from accounting.metering.models.cluster import Cluster, Node
from accounting.metering.reads.data_health.retirement import retired_ms
from accounting.metering.reads.resources import added_resources
from accounting.metering.reads.share_policies import share_policies
from accounting.metering.rules.inventory.amd_partitions import note_partitions
from accounting.metering.rules.inventory.divided_nodes import note_divided
from accounting.metering.rules.inventory.records import (
    GpuRecord,
    Inventory,
    NodeRecord,
    PodRecord,
    SampleSpan,
    ScrapeLocation,
    ScraperRecord,
)
from accounting.metering.rules.samples.series import ScraperIdentity, Times
from accounting.metering.rules.units.gpu_units import (
    DIVIDED,
    SAMPLED_CARDS,
    SAMPLED_MODEL,
    SAMPLED_PARTITION,
)
from accounting.metering.rules.units.resources import is_counted
from accounting.metering.tasks.evidence import gpu_labels, gpu_models, resource_claims
from accounting.metering.tasks.evidence.ids import Ids, rows_of

POD_REACH_MS = 2 * HOUR_MS  # wider than labels, so that a label always finds its pod


def load(
    cluster: Cluster, period: Interval, uids: Iterable[str] = ()
) -> tuple[Inventory, Ids]:
    """The evidence that a period depends on, and all evidence of the pods `uids`."""
    end_ms = retired_ms(cluster.pk)
    inventory = Inventory(
        added=added_resources(),
        policies=share_policies(cluster.pk),
        retired_ms=end_ms,
        is_retired=end_ms is not None and end_ms <= to_ms(database_now()),
    )
    ids = Ids()
    _load_nodes(cluster, inventory, ids)
    _load_scrapers(cluster, inventory, ids)
    near = gpu_labels.label_period(period)
    inventory.reach = gpu_labels.reach_of(inventory, near)
    _load_pods(cluster, near, uids, inventory, ids)
    _load_scrapes(cluster, near, inventory, ids)
    _load_gpus(cluster, inventory, ids)
    gpu_models.forget_likely(inventory)
    _load_geometries(cluster, inventory)
    note_partitions(inventory)
    note_divided(inventory)
    gpu_labels.load_near(cluster, near, inventory, ids)
    resource_claims.load(cluster, inventory)
    inventory.own_pods = set(rows_of(_OWN_PODS, cluster))
    return inventory, ids


_OWN_PODS = """
    SELECT namespace, pod FROM accounting_ownpod WHERE cluster_id = %(cluster)s
"""
_NODES = "SELECT id, name FROM accounting_node WHERE cluster_id = %(cluster)s"
_NODE_SPANS = """
    SELECT n.name, s.first_ms, s.last_ms, s.step_ms
    FROM accounting_nodespan s JOIN accounting_node n ON n.id = s.node_id
    WHERE n.cluster_id = %(cluster)s ORDER BY s.first_ms
"""
_NODE_FACTS = """
    SELECT n.name, f.valid_from, f.capacity, f.labels
    FROM accounting_nodefact f JOIN accounting_node n ON n.id = f.node_id
    WHERE n.cluster_id = %(cluster)s ORDER BY f.valid_from
"""


def shown_nodes(cluster: Cluster) -> frozenset[str]:
    """The names of nodes that kube-state ever showed."""
    nodes = Node.objects.filter(cluster=cluster, spans__isnull=False)
    return frozenset(nodes.values_list("name", flat=True))


_SAMPLED = frozenset({SAMPLED_PARTITION, SAMPLED_MODEL, SAMPLED_CARDS, DIVIDED})


def _load_nodes(cluster: Cluster, inventory: Inventory, ids: Ids) -> None:
    for pk, name in rows_of(_NODES, cluster):
        ids.nodes[name] = pk
        inventory.nodes[name] = NodeRecord(name)
    for name, first, last, step in rows_of(_NODE_SPANS, cluster):
        inventory.nodes[name].spans.append(SampleSpan(first, last, step))
    for name, at, units, shown in rows_of(_NODE_FACTS, cluster):
        every = msgspec.json.decode(shown)
        labels = {
            key: value
            for key, value in every.items()
            if key not in _SAMPLED  # samples may have a better name by now
        }
        node = inventory.nodes[name]
        node.is_divided |= DIVIDED in every
        capacity = {
            resource: count
            for resource, count in msgspec.json.decode(units).items()
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
    """Drop requests of resources that an administrator added once and has removed."""
    gone = [key for key in pod.requests if not is_counted(key[2], added)]
    for key in gone:
        del pod.requests[key]


_GPUS = """
    SELECT id, uuid, model, is_placeholder FROM accounting_gpu
    WHERE cluster_id = %(cluster)s
"""
_GPU_SPANS = """
    SELECT g.uuid, n.name, s.scraper_id, s.first_ms, s.last_ms, s.step_ms
    FROM accounting_gpuspan s
    JOIN accounting_gpu g ON g.id = s.gpu_id
    JOIN accounting_node n ON n.id = s.node_id
    WHERE g.cluster_id = %(cluster)s ORDER BY s.first_ms
"""
_GEOMETRIES = """
    SELECT g.uuid, d.from_ms, d.instances
    FROM accounting_gpugeometry d JOIN accounting_gpu g ON g.id = d.gpu_id
    WHERE g.cluster_id = %(cluster)s ORDER BY d.from_ms
"""


def _load_gpus(cluster: Cluster, inventory: Inventory, ids: Ids) -> None:
    for pk, uuid, model, placeholder in rows_of(_GPUS, cluster):
        ids.gpus[uuid] = pk
        if not placeholder:
            inventory.gpus[uuid] = GpuRecord(uuid, model)
    by_id = {pk: key for key, pk in ids.scrapers.items()}
    for uuid, node, scraper, first, last, step in rows_of(_GPU_SPANS, cluster):
        place = ScrapeLocation(node, by_id[scraper])
        inventory.gpus[uuid].spans.setdefault(place, []).append(
            SampleSpan(first, last, step)
        )


def _load_geometries(cluster: Cluster, inventory: Inventory) -> None:
    for uuid, at, instances in rows_of(_GEOMETRIES, cluster):
        pairs = msgspec.json.decode(instances)
        divided = tuple((number, profile) for number, profile in pairs)
        inventory.gpus[uuid].geometry.append((at, divided))


_PODS = """
    SELECT p.id, p.uid, n.name, p.name, p.first_ms, p.last_ms, p.record
    FROM accounting_pod p JOIN accounting_namespace n ON n.id = p.namespace_id
    WHERE p.cluster_id = %(cluster)s AND NOT p.is_inferred AND p.first_ms IS NOT NULL
      AND ((p.last_ms >= %(since)s AND p.first_ms < %(until)s)
           OR p.id IN (SELECT pod_id FROM accounting_podhold
                       WHERE NOT is_inferred
                         AND (ended_ms IS NULL
                              OR (bound_ms < %(until)s AND booked_until_ms >= %(since)s)))
           OR p.uid = ANY(%(uids)s))
"""
_NAMESPACES = "SELECT name, id FROM accounting_namespace WHERE cluster_id = %(cluster)s"
_NAMESPACE_LABELS = """
    SELECT n.name, l.valid_from, l.labels
    FROM accounting_namespacelabels l
    JOIN accounting_namespace n ON n.id = l.namespace_id
    WHERE n.cluster_id = %(cluster)s ORDER BY l.valid_from
"""


def _load_pods(
    cluster: Cluster,
    near: Interval,
    uids: Iterable[str],
    inventory: Inventory,
    ids: Ids,
) -> None:
    reach = inventory.reach
    around = {
        "since": min(near.start_ms - HOUR_MS, reach.start_ms - POD_REACH_MS),
        "until": max(near.end_ms, reach.end_ms) + POD_REACH_MS,
        "uids": list(uids),
    }
    for row in rows_of(_PODS, cluster, **around):
        pk, uid, namespace, name, first, last, record = row
        ids.pods[uid] = pk
        inventory.pods[uid] = pod_from_row(
            uid, namespace, name, first, last, msgspec.json.decode(record)
        )
        _forget_uncounted(inventory.pods[uid], inventory.added)
    for name, at, labels in rows_of(_NAMESPACE_LABELS, cluster):
        value = msgspec.json.decode(labels)
        inventory.namespaces.setdefault(name, []).append((to_ms(at), value))
    ids.namespaces = dict(rows_of(_NAMESPACES, cluster))


_SCRAPERS = """
    SELECT id, job, instance, replica, shows_exported, interval_ms, scales
    FROM accounting_scraper WHERE cluster_id = %(cluster)s
"""
_SCRAPE_SPANS = """
    SELECT p.scraper_id, p.first_ms, p.last_ms, p.step_ms
    FROM accounting_scrapespan p JOIN accounting_scraper s ON s.id = p.scraper_id
    WHERE s.cluster_id = %(cluster)s ORDER BY p.first_ms
"""
_NODE_SCRAPERS = """
    SELECT n.name, h.scraper_id
    FROM accounting_nodescraper h JOIN accounting_node n ON n.id = h.node_id
    WHERE n.cluster_id = %(cluster)s
"""
_SCRAPES = """
    SELECT h.scraper_id, h.hour_start, h.times
    FROM accounting_scrapehour h JOIN accounting_scraper s ON s.id = h.scraper_id
    WHERE s.cluster_id = %(cluster)s AND h.hour_start >= %(since)s ORDER BY h.hour_start
"""


def _load_scrapers(cluster: Cluster, inventory: Inventory, ids: Ids) -> None:
    """Every scraper; of kube-state also its scrape times and the nodes that it showed."""
    for pk, job, instance, replica, shows_exported, interval, scales in rows_of(
        _SCRAPERS, cluster
    ):
        key = ScraperIdentity(job, instance, replica)
        ids.scrapers[key] = pk
        inventory.scrapers[key] = ScraperRecord(
            key, shows_exported, interval_ms=interval, scales=scales_from_json(scales)
        )
    by_id = {pk: key for key, pk in ids.scrapers.items()}
    for pk, first, last, step in rows_of(_SCRAPE_SPANS, cluster):
        record = inventory.scrapers[by_id[pk]]
        record.spans.append(SampleSpan(first, last, step))
        if record.kube_times is None:
            record.kube_times = np.empty(0, np.int64)
    for name, pk in rows_of(_NODE_SCRAPERS, cluster):
        inventory.nodes[name].scrapers.add(by_id[pk])


def _load_scrapes(
    cluster: Cluster, near: Interval, inventory: Inventory, ids: Ids
) -> None:
    """The scrapes from before the last sample of every loaded pod and of the reach on."""
    oldest = min(
        [pod.last_ms for pod in inventory.pods.values()]
        + [near.start_ms, inventory.reach.start_ms]
    )
    start = to_instant(max(0, oldest - oldest % HOUR_MS - HOUR_MS))
    by_id = {pk: key for key, pk in ids.scrapers.items()}
    parts: dict[int, list[Times]] = defaultdict(list)
    for pk, hour, packed in rows_of(_SCRAPES, cluster, since=start):
        parts[pk].append(unpack_times(bytes(packed), to_ms(hour)))
    for pk, found in parts.items():
        inventory.scrapers[by_id[pk]].kube_times = np.concatenate(found)
