"""Entries of queues for work: Kueue's Workloads, pod groups of Volcano, KAI and coscheduling.

They are read alike for work of any kind, so that its own object need not be read.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from scheduler_view.waits.rules.world.controllers import MAKERS, ControllerObject
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.world import World

Key = tuple[str, str, str]  # kind, namespace, name
GROUP_LABELS = (
    *("scheduling.x-k8s.io/pod-group", "kueue.x-k8s.io/pod-group-name"),
    *("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name"),
    "pod-group-name",
)
_SAME_NAME = {"VolcanoJob": ("Job",), "JobSet": ("JobSet", "TrainJob")}
"""Kinds of owners of the entries for a unit; a TrainJob makes a JobSet of its name."""
_HAVE_PODS = MAKERS | {"Pod", "Deployment", "LeaderWorkerSet"}
"""Kinds whose pods, or what they will require, are known before a queue lets them in."""


class QueueEntries:
    """Entries of queues by the work that they are for, and pod groups by their name."""

    def __init__(self, world: World) -> None:
        self._of: dict[Key, list[ControllerObject]] = defaultdict(list)
        self._groups: dict[tuple[str, str], ControllerObject] = {}
        self._held: list[tuple[Key, ControllerObject]] = []
        for one in world.controllers:
            if one.kind == "PodGroup":
                self._groups[one.namespace, one.name] = one
            if one.kind not in ("Workload", "PodGroup") or one.controller is None:
                continue
            key = one.controller.kind, one.namespace, one.controller.name
            self._of[key].append(one)
            if one.pod_sets and one.is_held:
                self._held.append((key, one))

    def of(
        self,
        key: Key,
        makers: Iterable[ControllerObject],
        pods: Iterable[PodObject],
    ) -> tuple[ControllerObject, ...]:
        """Entries for a unit and its makers, and the pod group that it is or its pods name."""
        kind, namespace, name = key
        keys = {(other, namespace, name) for other in _SAME_NAME.get(kind, (kind,))}
        keys |= {(one.kind, one.namespace, one.name) for one in makers}
        found = [entry for one in sorted(keys) for entry in self._of.get(one, ())]
        named = {next((n for _, n in group_names(pod)), "") for pod in pods}
        group = self._groups.get((namespace, named.pop() if len(named) == 1 else ""))
        if group is not None and group not in found:
            found.append(group)
        return tuple(found)

    def not_made(
        self, known: Collection[Key]
    ) -> Iterator[tuple[Key, list[ControllerObject]]]:
        """Work that Kueue has not admitted and that makes its pods only then, by its entry.

        Args:
            known: units that have pods, or makers that say what their pods will require.
        """
        for (kind, namespace, name), entry in self._held:
            kinds = next((own for own in _SAME_NAME.values() if kind in own), (kind,))
            if kind in _HAVE_PODS or any((k, namespace, name) in known for k in kinds):
                continue
            makers = [
                ControllerObject(
                    kind,
                    namespace,
                    name,
                    created_ms=entry.created_ms,
                    wanted=count,
                    is_suspended=True,
                    template=spec,
                    queue=entry.queue,
                )
                for count, spec in entry.pod_sets
                if count
            ]
            yield (kind, namespace, name), makers


def group_names(pod: PodObject) -> Iterator[tuple[str, str]]:
    """The label, and the name, of each pod group that a pod names; the first one counts."""
    for label in GROUP_LABELS:
        name = pod.labels.get(label) or pod.annotations.get(label)
        if name:
            yield label, name
