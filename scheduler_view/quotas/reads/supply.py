"""The capacity of a cluster for each resource, and the rate of a unit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction

from accounting.core.read_once import read_once
from accounting.core.rounding import half_even
from accounting.fleet.reads.node_facts import alike_nodes
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.units.gpu_units import NodeFacts, unit_of
from accounting.metering.rules.units.resources import kubernetes_resource, sanitised
from accounting.prices.models.price import PriceKind, UnitPrice
from accounting.prices.rules.price_match import PricedTime, match_price
from scheduler_view.clusters.rules.quota_key import is_dra
from scheduler_view.quotas.rules.spend import UnitRates


@dataclass(frozen=True, slots=True)
class NodeKind:
    """One kind of node: its model, lifecycle, capacity, and number."""

    model: str
    lifecycle: str
    facts: NodeFacts
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class Supply:
    """The capacity of present nodes.

    Attributes:
        capacity: units by resource.
        kinds: distinct kinds of nodes.
        added: the share of a GPU of each added resource.
    """

    capacity: Mapping[str, int]
    kinds: Sequence[NodeKind]
    added: Mapping[str, Fraction] = field(default_factory=dict)


@read_once
def supply_of(cluster: Cluster) -> Supply:
    """The latest capacity of each present node; two queries."""
    added = added_resources()
    names = {sanitised(resource): resource for resource in added}
    capacity: dict[str, int] = {}
    kinds: dict[str, NodeKind] = {}
    for group in alike_nodes(cluster.pk):
        if group.capacity is None:
            continue
        units = {
            resource: int(count)
            for name, count in group.capacity.items()
            if (resource := kubernetes_resource(name, names) or name)
        }
        for resource, count in units.items():
            capacity[resource] = capacity.get(resource, 0) + count * group.nodes
        kind = NodeKind(group.model, group.lifecycle, NodeFacts(units, group.labels), 0)
        known = kinds.setdefault(repr(kind), kind)
        kinds[repr(kind)] = replace(known, nodes=known.nodes + group.nodes)
    return Supply(capacity, list(kinds.values()), added)


def rates_of(
    cluster: Cluster,
    supply: Supply,
    resources: Iterable[tuple[str, tuple[str, ...]]],
    at: datetime,
) -> dict[tuple[str, tuple[str, ...]], UnitRates]:
    """Rates per hour of one unit, by (resource, priority classes of a tier).

    A quota does not distinguish models: the rates are of all models of the resource.
    """
    models = {kind.model for kind in supply.kinds}
    prices = list(UnitPrice.objects.filter(kind=PriceKind.RATE, model__in=models))
    here = PricedTime("", cluster.pk, "", at)
    return {
        (resource, classes): _rates(prices, here, supply, resource, classes)
        for resource, classes in set(resources)
    }


def _rates(
    prices: Sequence[UnitPrice],
    here: PricedTime,
    supply: Supply,
    resource: str,
    classes: tuple[str, ...],
) -> UnitRates:
    found = []
    unpriced: dict[str, int] = {}
    tiers = classes or ("", *{price.tier for price in prices if price.tier})
    for kind in supply.kinds:
        units = kind.facts.capacity.get(resource, 0)
        if not is_dra(resource) and not units:
            continue
        unit = None if is_dra(resource) else unit_of(resource, kind.facts, supply.added)
        share = Fraction(1) if unit is None else unit.share
        profile = resource.rpartition("/mig-")[2] if "/mig-" in resource else ""
        time = replace(
            here, model=kind.model, lifecycle=kind.lifecycle, profile=profile
        )
        best = [match_price(prices, replace(time, tier=tier)) for tier in tiers]
        if None in best:
            unpriced[kind.model] = unpriced.get(kind.model, 0) + units * kind.nodes
        found += [
            half_even(Fraction(price.rate_per_gpu_hour) * share, 6)
            for price in best
            if price is not None
        ]
    return UnitRates(
        min(found, default=None),
        max(found, default=None),
        tuple(sorted(unpriced.items())),
    )
