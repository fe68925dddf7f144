"""How many GPUs there are now, and how their nodes offer them: whole, shared or in parts.

The only place that counts a fleet, so that pages and REST agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from django.db import connection

from accounting.fleet.reads.node_facts import alike_nodes
from accounting.metering.models.cluster import NodeFact
from accounting.metering.reads.clusters import clusters_named
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.units.gpu_units import WHOLE, NodeFacts, unit_of
from accounting.metering.rules.units.resources import kubernetes_resource, sanitised


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """One present node.

    Attributes:
        gpus: present GPUs.
        whole: those that a pod gets as a whole.
        shared, shared_units: GPUs that several pods can hold, and their number of units.
        divided, parts: GPUs that are partitioned, and the instances that are offered.
        is_cordoned: it gets no new pods.
    """

    cluster: str
    node: str
    gpus: int
    whole: int
    shared: int = 0
    shared_units: int = 0
    divided: int = 0
    parts: int = 0
    is_cordoned: bool = False


@dataclass(frozen=True, slots=True)
class FleetCount:
    """The sums over nodes: `gpus` is whole + shared + divided + unoffered."""

    nodes: int
    gpus: int
    whole: int
    shared: int
    shared_units: int
    divided: int
    parts: int

    @property
    def unoffered(self) -> int:
        """Present GPUs that are in no resource of their node: broken, or not reported."""
        return self.gpus - self.whole - self.shared - self.divided

    @property
    def units(self) -> int:
        """The sum of the capacities of all resources."""
        return self.whole + self.shared_units + self.parts


def fleet_count(offers: Iterable[NodeOffer]) -> FleetCount:
    """The sum over nodes."""
    return _sum((1, offer) for offer in offers)


def _sum(offers: Iterable[tuple[int, NodeOffer]]) -> FleetCount:
    """The sum of as many nodes of each kind."""
    found = list(offers)
    names = ("gpus", "whole", "shared", "shared_units", "divided", "parts")
    sums = {name: sum(n * getattr(one, name) for n, one in found) for name in names}
    return FleetCount(nodes=sum(n for n, _ in found), **sums)


def fleets_by_cluster() -> dict[str, FleetCount]:
    """The current fleet of each cluster with GPUs, by its name; nodes are read by kind."""
    added = added_resources()
    found = {
        one.name: [
            (
                group.nodes,
                _offer("", "", group.gpus, group.capacity, group.labels, added),
            )
            for group in alike_nodes(one.pk)
            if group.gpus
        ]
        for one in clusters_named()
    }
    return {name: _sum(offers) for name, offers in found.items() if offers}


_PRESENT = """
    SELECT c.name, n.name, n.id, count(DISTINCT p.gpu_id)
    FROM accounting_gpupresence p
    JOIN accounting_node n ON n.id = p.node_id
    JOIN accounting_cluster c ON c.id = n.cluster_id
    WHERE p.end_ms IS NULL AND (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))
    GROUP BY c.name, n.name, n.id ORDER BY c.name, n.name
"""


def node_offers(clusters: Sequence[str] | None = None) -> list[NodeOffer]:
    """Every present node with GPUs, in some clusters or all; three queries."""
    names = None if clusters is None else list(clusters)
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, {"clusters": names})
        present = cursor.fetchall()
    rows = NodeFact.objects.filter(node__in=[node for _, _, node, _ in present])
    latest = rows.order_by("node_id", "-valid_from").distinct("node_id")
    facts = {
        node: (capacity, labels)
        for node, capacity, labels in latest.values_list(
            "node_id", "capacity", "gpu_labels"
        )
    }
    added = added_resources()
    return [
        _offer(cluster, name, gpus, *facts.get(node, (None, {})), added)
        for cluster, name, node, gpus in present
    ]


def _offer(
    cluster: str,
    node: str,
    gpus: int,
    said_capacity: Mapping[str, int] | None,
    labels: Mapping[str, str],
    added: Mapping[str, Fraction],
) -> NodeOffer:
    if not said_capacity:  # not known how they are offered
        return NodeOffer(cluster, node, gpus, gpus)
    spelled = {sanitised(resource): resource for resource in added}
    capacity = {
        kubernetes_resource(name, spelled) or name: int(count)
        for name, count in said_capacity.items()
    }
    said = NodeFacts(capacity, labels)
    whole = shared = shared_units = parts = 0
    for resource, count in capacity.items():
        unit = unit_of(resource, said, added)
        if unit is None or not count:
            continue
        if unit.kind != WHOLE:
            parts += count
        elif unit.share < 1:
            shared += ceil(count * unit.share)
            shared_units += count
        else:
            whole += count
    whole = min(whole, gpus)
    shared = min(shared, gpus - whole)
    return NodeOffer(
        cluster,
        node,
        gpus,
        whole,
        shared,
        shared_units,
        gpus - whole - shared if parts else 0,
        parts,
        labels.get("unschedulable") == "true",
    )
