"""Saves changed evidence of a cluster: nodes, pods, namespaces, owners.

Callers hold the cluster's `evidence` lock.
"""

from collections.abc import Iterable, Sequence

from accounting.core.interval import Interval, to_instant
from accounting.metering.mapping import pod_to_json
from accounting.metering.models.cluster import Cluster, NodeFact, NodeSpan
from accounting.metering.models.evidence import OwnPod
from accounting.metering.models.pod import NamespaceLabels, Owner, Pod
from accounting.metering.rules.inventory.amd_partitions import sampled_partition
from accounting.metering.rules.inventory.divided_nodes import sampled_cards
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.records import Inventory, NodeRecord
from accounting.metering.rules.units.gpu_units import DIVIDED, NodeFacts
from accounting.metering.sources.catalogue import lifecycle_of
from accounting.metering.tasks import bulk_copy
from accounting.metering.tasks.evidence import (
    node_lifecycles,
    provider_ids,
    resource_claims,
)
from accounting.metering.tasks.evidence.gpu_models import model_of_node
from accounting.metering.tasks.evidence.ids import (
    BATCH,
    Ids,
    ensure_namespaces,
    ensure_nodes,
)
from accounting.metering.tasks.evidence.save_gpus import (
    save_gpus,
    save_labels,
    save_scrapers,
)


def save(
    cluster: Cluster,
    inventory: Inventory,
    ids: Ids,
    touched: ChangedRecords,
    period: Interval,
) -> None:
    """Write the records that a merge changed. Existing rows are updated."""
    _save_nodes(cluster, inventory, ids, touched)
    save_scrapers(cluster, inventory, ids, touched, period)
    save_gpus(cluster, inventory, ids, touched)
    save_labels(inventory, ids, touched, period)
    _save_namespaces(cluster, inventory, ids, touched)
    _save_pods(cluster, inventory, ids, touched)
    OwnPod.objects.bulk_create(
        [OwnPod(cluster=cluster, namespace=n, pod=p) for n, p in inventory.own_pods],
        ignore_conflicts=True,
    )
    _save_owners(inventory, ids, touched)
    resource_claims.save(cluster, inventory, touched.claims)


def _save_nodes(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: ChangedRecords
) -> None:
    seen = set(touched.nodes)
    for record in inventory.gpus.values():
        seen.update(place.node for place in record.spans)
    ensure_nodes(cluster, ids, seen)
    changed = [ids.nodes[name] for name in touched.nodes]
    before = node_lifecycles.lifecycles_of(NodeFact.objects.filter(node_id__in=changed))
    NodeSpan.objects.filter(node_id__in=changed).delete()
    NodeFact.objects.filter(node_id__in=changed).delete()
    spans: list[NodeSpan] = []
    facts: list[NodeFact] = []
    spelled = node_lifecycles.spelled_by() if touched.nodes else ()
    for name in touched.nodes:
        node = inventory.nodes[name]
        pk = ids.nodes[name]
        spans.extend(
            NodeSpan(
                node_id=pk, first_ms=s.first_ms, last_ms=s.last_ms, step_ms=s.step_ms
            )
            for s in node.spans
        )
        facts.extend(_facts(pk, node, spelled))
    NodeSpan.objects.bulk_create(spans, batch_size=BATCH)
    NodeFact.objects.bulk_create(facts, batch_size=BATCH)
    node_lifecycles.mark_changed(cluster.pk, changed, before)
    provider_ids.save(inventory, ids)


def _facts(
    node_id: int, node: NodeRecord, spelled: Sequence[str]
) -> Iterable[NodeFact]:
    changes = {at for at, _ in (*node.capacity, *node.labels)}
    changes.update(item.from_ms for item in node.partitions)
    first = node.labels[0][1] if node.labels else {}  # they count back (rules.md N24)
    for at in sorted(changes):
        capacity = next((v for t, v in reversed(node.capacity) if t <= at), {})
        labels = next((v for t, v in reversed(node.labels) if t <= at), {})
        in_force = labels or first
        labels = labels | sampled_partition(node, at) | sampled_cards(node)
        labels |= {DIVIDED: "on"} if node.is_divided else {}
        yield NodeFact(
            node_id=node_id,
            valid_from=to_instant(at),
            capacity=capacity,
            labels=labels,
            model=model_of_node(NodeFacts(capacity, in_force | labels)),
            lifecycle=lifecycle_of(in_force, spelled),
            instance_type=in_force.get("label_node_kubernetes_io_instance_type", ""),
            zone=in_force.get("label_topology_kubernetes_io_zone", ""),
        )


def _save_namespaces(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: ChangedRecords
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


_POD_KEY = ("cluster", "uid")
_POD_STATE = ("node", "priority_class", "is_inferred", "first_ms", "last_ms", "record")


def _save_pods(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: ChangedRecords
) -> None:
    ensure_nodes(
        cluster,
        ids,
        {inventory.pods[u].node for u in touched.pods if inventory.pods[u].node},
    )
    bulk_copy.merge(
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


def _save_owners(inventory: Inventory, ids: Ids, touched: ChangedRecords) -> None:
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
