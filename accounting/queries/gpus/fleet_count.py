"""How many GPUs there are now, and how their nodes offer them: whole, shared or in parts.

The only place that counts a fleet, so that pages and REST agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from django.db import connection

from accounting.domain.core.read_once import together
from accounting.domain.units.gpu_units import WHOLE, NodeFacts, unit_of
from accounting.domain.units.resources import kubernetes_resource, sanitised
from accounting.models import NodeFact
from accounting.queries.gpus.node_facts import present_facts
from accounting.queries.resources import added_resources


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
    found = list(offers)
    names = ("gpus", "whole", "shared", "shared_units", "divided", "parts")
    sums = {name: sum(getattr(one, name) for one in found) for name in names}
    return FleetCount(nodes=len(found), **sums)


def fleets_by_cluster(
    clusters: Sequence[str] | None = None,
) -> dict[str, FleetCount]:
    """The current fleet of each cluster with GPUs, by the cluster's name."""
    found: dict[str, list[NodeOffer]] = {}
    for offer in node_offers(clusters):
        found.setdefault(offer.cluster, []).append(offer)
    return {name: fleet_count(offers) for name, offers in found.items()}


_PRESENT = """
    SELECT c.id, c.name, n.name, n.id, count(DISTINCT p.gpu_id)
    FROM accounting_gpupresence p
    JOIN accounting_node n ON n.id = p.node_id
    JOIN accounting_cluster c ON c.id = n.cluster_id
    WHERE p.end_ms IS NULL AND (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))
    GROUP BY c.id, c.name, n.name, n.id ORDER BY c.name, n.name
"""


def node_offers(clusters: Sequence[str] | None = None) -> list[NodeOffer]:
    """Every present node with GPUs, in some clusters or all; three queries."""
    names = None if clusters is None else list(clusters)
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, {"clusters": names})
        present = cursor.fetchall()
    numbers = dict.fromkeys(number for number, *_ in present)
    together(numbers)
    facts = {fact.node_id: fact for one in numbers for fact in present_facts(one)}
    added = added_resources()
    return [
        _offer(cluster, name, gpus, facts.get(node), added)
        for _, cluster, name, node, gpus in present
    ]


def _offer(
    cluster: str,
    node: str,
    gpus: int,
    fact: NodeFact | None,
    added: Mapping[str, Fraction],
) -> NodeOffer:
    if fact is None or not fact.capacity:  # not known how they are offered
        return NodeOffer(cluster, node, gpus, gpus)
    spelled = {sanitised(resource): resource for resource in added}
    capacity = {
        kubernetes_resource(name, spelled) or name: int(count)
        for name, count in fact.capacity.items()
    }
    said = NodeFacts(capacity, fact.labels)
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
        fact.labels.get("unschedulable") == "true",
    )
