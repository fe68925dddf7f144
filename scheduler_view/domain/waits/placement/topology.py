"""Rules between pods: topology spread, pod affinity and anti-affinity, prepared for one demand."""

from collections import Counter
from collections.abc import Iterator

from scheduler_view.domain.waits.cause import BIT, WaitCause
from scheduler_view.domain.waits.placement.demand import (
    Demand,
    matches_node,
    untolerated,
)
from scheduler_view.domain.waits.placement.index import NodeRoom, WorldIndex
from scheduler_view.domain.waits.world.nodes import ClusterNode
from scheduler_view.domain.waits.world.pod_spec import PodTerm, SpreadRule
from scheduler_view.domain.waits.world.pods import PodObject

_SPREAD = BIT[WaitCause.SPREAD]
_AFFINITY = BIT[WaitCause.POD_AFFINITY]
_ANTI = BIT[WaitCause.POD_ANTI_AFFINITY]


class TopologyRules:
    """Which nodes the pods that are placed keep a demand away from."""

    def __init__(self, index: WorldIndex, demand: Demand) -> None:
        self._index, self._demand = index, demand
        self._spread = [(rule, *self._counts(rule)) for rule in demand.spec.spread]
        self._near = [
            (term.topology_key, self._values(term)) for term in demand.spec.affinity
        ]
        if not any(values for _, values in self._near) and all(
            self._matches_itself(term) for term in demand.spec.affinity
        ):
            self._near = []  # the first of a group may run anywhere
        self._apart = [
            (term.topology_key, self._values(term))
            for term in demand.spec.anti_affinity
        ]
        self._away = list(self._kept_away())

    @property
    def is_empty(self) -> bool:
        """Whether no node is affected."""
        return not (self._spread or self._near or self._apart or self._away)

    def mask(self, node: ClusterNode) -> int:
        """The causes that hold on a node."""
        found = 0
        labels = node.labels
        if any(self._skews(node, *one) for one in self._spread):
            found |= _SPREAD
        if any(labels.get(key) not in values for key, values in self._near):
            found |= _AFFINITY
        if any(
            labels.get(key) in values for key, values in (*self._apart, *self._away)
        ):
            found |= _ANTI
        return found

    def keepers(self, room: NodeRoom) -> list[PodObject]:
        """Placed pods that keep the demand off a node by anti-affinity."""
        demand, index = self._demand, self._index
        near = [(term, self._matching(term)) for term in demand.spec.anti_affinity]
        near += [
            (term, iter(pods))
            for (term, namespace), pods in index.kept_away.items()
            if self._is_meant(term, namespace)
        ]
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
        for pod in index.placed:
            if term.selector.matches(pod.labels) and index.in_namespaces(
                term, own, pod.namespace
            ):
                yield pod

    def _values(self, term: PodTerm) -> set[str]:
        """Values of the topology key where a matching pod runs."""
        found = set()
        for pod in self._matching(term):
            room = self._index.rooms.get(pod.node)
            value = room.node.labels.get(term.topology_key) if room else None
            if value is not None:
                found.add(value)
        return found

    def _matches_itself(self, term: PodTerm) -> bool:
        own = self._demand.namespace
        return (
            term.selector is not None
            and term.selector.matches(self._demand.label_map)
            and self._index.in_namespaces(term, own, own)
        )

    def _is_meant(self, term: PodTerm, namespace: str) -> bool:
        """Whether an anti-affinity term of a placed pod is about this demand."""
        demand = self._demand
        return (
            term.selector is not None
            and term.selector.matches(demand.label_map)
            and self._index.in_namespaces(term, namespace, demand.namespace)
        )

    def _kept_away(self) -> Iterator[tuple[str, set[str]]]:
        for (term, namespace), pods in self._index.kept_away.items():
            if self._is_meant(term, namespace):
                rooms = [self._index.rooms.get(pod.node) for pod in pods]
                labels = [r.node.labels.get(term.topology_key) for r in rooms if r]
                yield term.topology_key, {one for one in labels if one is not None}

    def _counts(self, rule: SpreadRule) -> tuple[Counter[str], int, int]:
        """Matching pods by value of the key, the minimum, and whether this pod counts itself."""
        demand, index = self._demand, self._index
        counts: Counter[str] = Counter()
        values: dict[str, str] = {}
        for room in index.rooms.values():
            value = room.node.labels.get(rule.topology_key)
            if value is not None and self._counts_node(rule, room.node):
                counts.setdefault(value, 0)
                values[room.node.name] = value
        for pod in index.placed:
            place = values.get(pod.node)
            if (
                place is not None
                and pod.is_live
                and pod.namespace == demand.namespace
                and rule.selector is not None
                and rule.selector.matches(pod.labels)
                and all(
                    pod.labels.get(key) == demand.label_map.get(key)
                    for key in rule.match_keys
                )
            ):
                counts[place] += 1
        least = min(counts.values(), default=0)
        if len(counts) < rule.min_domains:
            least = 0
        counts_itself = rule.selector is not None and rule.selector.matches(
            demand.label_map
        )
        return counts, least, int(counts_itself)

    def _counts_node(self, rule: SpreadRule, node: ClusterNode) -> bool:
        spec = self._demand.spec
        if any(one.topology_key not in node.labels for one in spec.spread):
            return False
        if rule.honors_affinity and not matches_node(spec, node):
            return False
        return not (
            rule.honors_taints and (node.is_cordoned or untolerated(spec, node))
        )

    def _skews(
        self,
        node: ClusterNode,
        rule: SpreadRule,
        counts: Counter[str],
        least: int,
        own: int,
    ) -> bool:
        value = node.labels.get(rule.topology_key)
        return value is None or counts[value] + own - least > rule.max_skew
