"""A cluster with some nodes, pods and volumes different, for rules that look at many of them.

Rules between pods and rules of volumes depend on more than the node that changed; other demands
need no such index (`places.py`).
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property

from scheduler_view.waits.rules.placement.gpu_requests import is_gpu
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.trial.changed import Changed
from scheduler_view.waits.rules.world.pod_spec import PodTerm
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.selectors import LabelSelector


class ChangedIndex(WorldIndex):
    """The index after changes; what they do not touch is shared with the index before.

    Args:
        more: pods that were placed since, by node.
    """

    def __init__(
        self, changed: Changed, more: Sequence[tuple[str, PodObject]] = ()
    ) -> None:
        base = changed.work.index
        self._base, self._gone = base, changed.ended
        self._more = [replace(pod, node=node) for node, pod in more]
        self.world = base.world
        if changed.volumes or changed.volume_claims:
            self.world = replace(
                base.world,
                volume_claims={**base.world.volume_claims, **changed.volume_claims},
                volumes={**base.world.volumes, **changed.volumes},
            )
        rooms = dict(changed.rooms)
        for pod in self._more:
            room = rooms.get(pod.node) or base.rooms[pod.node]
            rooms[pod.node] = NodeRoom(room.node, (*room.pods, pod), base.world)
        self.rooms = {**base.rooms, **rooms}
        self.table = base.table.patched(rooms)
        self.placed = base.placed
        self._candidates = {}
        self.selected_keys = base.selected_keys
        self.rooms_with = base.rooms_with
        if changed.added or changed.nodes:
            self.rooms_with = base.rooms_with | {
                name: []
                for room in changed.rooms.values()
                for name in room.node.allocatable
                if name not in base.rooms_with and is_gpu(name, base.world.added)
            }
        if not self._more:
            self._kept_away_by = base._kept_away_by  # noqa: SLF001  # of the same class
        self.holders = base.holders

    @cached_property
    def placed_in(self) -> Mapping[str, list[PodObject]]:
        """Pods on nodes by their namespace."""
        touched = {pod.namespace for pod in (*self._gone.values(), *self._more)}
        found = {
            name: [
                pod
                for pod in self._base.placed_in.get(name, ())
                if pod.uid not in self._gone
            ]
            + [pod for pod in self._more if pod.namespace == name]
            for name in touched
        }
        return {**self._base.placed_in, **found}

    @property
    def placed_namespaces(self) -> Set[str]:
        """Namespaces with pods on nodes."""
        own = {pod.namespace for pod in self._more}
        return self._base.placed_namespaces | own

    def placed_matching(
        self, namespace: str, selector: LabelSelector
    ) -> list[PodObject]:
        """Pods on nodes of a namespace that a selector matches."""
        known = self._base.placed_matching(namespace, selector)
        more = [
            pod
            for pod in self._more
            if pod.namespace == namespace and selector.matches(pod.labels)
        ]
        return [pod for pod in known if pod.uid not in self._gone] + more

    @cached_property
    def kept_away(self) -> Mapping[tuple[PodTerm, str], list[PodObject]]:
        """Placed pods by each of their anti-affinity terms and their namespace."""
        found = dict(self._base.kept_away)
        for pod in self._gone.values():
            for term in pod.spec.anti_affinity:
                key = term, pod.namespace
                found[key] = [p for p in found.get(key, ()) if p.uid != pod.uid]
        for pod in self._more:
            for term in pod.spec.anti_affinity:
                key = term, pod.namespace
                found[key] = [*found.get(key, ()), pod]
        return found
