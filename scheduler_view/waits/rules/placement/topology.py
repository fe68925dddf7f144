"""Rules between pods: topology spread, pod affinity and anti-affinity, prepared for one demand."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scheduler_view.waits.rules.cause import BIT, WaitCause
from scheduler_view.waits.rules.placement.demand import Demand, is_tolerated
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.node_table import Flags
from scheduler_view.waits.rules.world.nodes import ClusterNode
from scheduler_view.waits.rules.world.pod_spec import PodTerm, SpreadRule
from scheduler_view.waits.rules.world.pods import PodObject

_SPREAD = BIT[WaitCause.SPREAD]
_AFFINITY = BIT[WaitCause.POD_AFFINITY]
_ANTI = BIT[WaitCause.POD_ANTI_AFFINITY]


class TopologyRules:
    """Which nodes the pods that are placed keep a demand away from."""

    def __init__(self, index: WorldIndex, demand: Demand) -> None:
        self._index, self._demand = index, demand
        spec = demand.spec
        self._near = [(term.topology_key, self._values(term)) for term in spec.affinity]
        if not any(values for _, values in self._near) and all(
            self._matches_itself(term) for term in spec.affinity
        ):
            self._near = []  # the first of a group may run anywhere
        self._away = (
            index.keeping_away(demand.label_map, demand.namespace)
            if demand.reads_pods
            else []
        )

    @property
    def is_empty(self) -> bool:
        """Whether no node is affected."""
        spec = self._demand.spec
        return not (spec.spread or spec.anti_affinity or self._near or self._away)

    @cached_property
    def masks(self) -> NDArray[np.int32]:
        """The causes that hold on each node."""
        table, spec = self._index.table, self._demand.spec
        found = np.zeros(len(table), dtype=np.int32)
        for rule in spec.spread:
            found[self._skewed(rule)] |= _SPREAD
        for key, values in self._near:
            found[~table.label(key).among(values)] |= _AFFINITY
        apart = [(term.topology_key, self._values(term)) for term in spec.anti_affinity]
        apart += [
            (one[0].topology_key, self._places(one[0], self._index.kept_away[one]))
            for one in self._away
        ]
        for key, values in apart:
            found[table.label(key).among(values)] |= _ANTI
        return found

    def keepers(self, room: NodeRoom) -> list[PodObject]:
        """Placed pods that keep the demand off a node by anti-affinity."""
        demand, index = self._demand, self._index
        near = [(term, self._matching(term)) for term in demand.spec.anti_affinity]
        near += [(one[0], iter(index.kept_away[one])) for one in self._away]
        found = {
            pod.uid: pod
            for term, pods in near
            for pod in pods
            if self._is_together(room.node, pod, term.topology_key)
        }
        return list(found.values())

    def _is_together(self, node: ClusterNode, pod: PodObject, key: str) -> bool:
        room, value = self._index.rooms.get(pod.node), node.labels.get(key)
        return (
            value is not None
            and room is not None
            and room.node.labels.get(key) == value
        )

    def _matching(self, term: PodTerm) -> Iterator[PodObject]:
        own, index = self._demand.namespace, self._index
        if term.selector is None:
            return
        for namespace in index.placed_namespaces:
            if index.in_namespaces(term, own, namespace):
                yield from index.placed_matching(namespace, term.selector)

    def _values(self, term: PodTerm) -> set[str]:
        """Values of the topology key where a matching pod runs."""
        return self._places(term, self._matching(term))

    def _places(self, term: PodTerm, pods: Iterable[PodObject]) -> set[str]:
        rooms = (self._index.rooms.get(pod.node) for pod in pods)
        found = (r.node.labels.get(term.topology_key) for r in rooms if r is not None)
        return {one for one in found if one is not None}

    def _matches_itself(self, term: PodTerm) -> bool:
        own = self._demand.namespace
        return (
            term.selector is not None
            and term.selector.matches(self._demand.label_map)
            and self._index.in_namespaces(term, own, own)
        )

    def _skewed(self, rule: SpreadRule) -> Flags:
        """Nodes where one pod more would exceed the spread."""
        table, demand = self._index.table, self._demand
        column, counted = table.label(rule.topology_key), self._counted_nodes(rule)
        domains = {column.values[code] for code in set(column.codes[counted].tolist())}
        counts: Counter[str] = Counter(dict.fromkeys(domains, 0))
        selector = rule.selector
        for pod in (
            self._index.placed_matching(demand.namespace, selector) if selector else ()
        ):
            place = table.position.get(pod.node)
            if place is not None and counted[place] and self._is_counted(rule, pod):
                counts[column.values[column.codes[place]]] += 1
        least = min(counts.values(), default=0)
        if len(counts) < rule.min_domains:
            least = 0
        own = rule.selector is not None and rule.selector.matches(demand.label_map)
        most = rule.max_skew + least - int(own)
        return column.where(lambda value: value is None or counts[value] > most)

    def _is_counted(self, rule: SpreadRule, pod: PodObject) -> bool:
        return pod.is_live and all(
            pod.labels.get(key) == self._demand.label_map.get(key)
            for key in rule.match_keys
        )

    def _counted_nodes(self, rule: SpreadRule) -> Flags:
        """Nodes whose pods count: with all the keys, and as the rule honors the rest."""
        table, spec = self._index.table, self._demand.spec
        found = np.ones(len(table), dtype=np.bool_)
        for one in spec.spread:
            found &= table.label(one.topology_key).where(lambda v: v is not None)
        if rule.honors_affinity:
            found &= table.matches(spec)
        if rule.honors_taints:
            found &= ~table.is_cordoned
            found &= table.by_taints(lambda taints: is_tolerated(spec, taints)) == 1
        return found
