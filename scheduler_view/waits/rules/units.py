"""Work units and gangs: what a person submitted, instead of its pods (scheduling.md S1, S2)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from scheduler_view.waits.rules.queue_entries import Key, QueueEntries, group_names
from scheduler_view.waits.rules.world.controllers import (
    MAKERS,
    REPLICA_SPECS,
    ControllerObject,
)
from scheduler_view.waits.rules.world.events import REFUSED
from scheduler_view.waits.rules.world.pods import ControllerRef, PodObject
from scheduler_view.waits.rules.world.world import World

GANG_KINDS = frozenset(
    {"PodGroup", "LeaderWorkerSet", "JobSet", "TrainJob", *REPLICA_SPECS}
    | {"VolcanoJob", "RayCluster", "RayJob", "RayService"}
)
_RAY = frozenset({"RayCluster", "RayJob", "RayService"})
LASTING = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})
_NOT_A_UNIT = frozenset({"CronJob", "Workload", "PodGroup"})  # owners above a unit
_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_LWS, _LWS_GROUP = (
    "leaderworkerset.sigs.k8s.io/name",
    "leaderworkerset.sigs.k8s.io/group-index",
)
_LWS_SIZE = "leaderworkerset.sigs.k8s.io/size"
_VOLCANO_JOB = "volcano.sh/job-name"
_QUEUE_LABELS = (
    *("kueue.x-k8s.io/queue-name", "kai.scheduler/queue"),
    *("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"),
)
_TOTAL = "kueue.x-k8s.io/pod-group-total-count"


@dataclass(frozen=True)
class WorkUnit:
    """One unit of work.

    Attributes:
        top: its own object; None if it is not known here, as for a bare pod.
        makers: objects that create its pods.
        pods: those that have not ended.
        group: the label that joins a pod group; empty for other kinds.
        entries: of queues for it: Kueue's Workload, pod groups of Volcano, KAI and coscheduling.
        cluster_size: pods that a Ray cluster of it needs; None for other kinds or if not known.
    """

    kind: str
    namespace: str
    name: str
    top: ControllerObject | None = None
    makers: tuple[ControllerObject, ...] = ()
    pods: tuple[PodObject, ...] = ()
    group: str = ""
    entries: tuple[ControllerObject, ...] = ()
    cluster_size: int | None = None

    @property
    def subject(self) -> str:
        """`Kind/namespace/name`."""
        kind = "Job" if self.kind == "VolcanoJob" else self.kind
        return f"{kind}/{self.namespace}/{self.name}"

    @cached_property
    def bound(self) -> tuple[PodObject, ...]:
        """Pods on a node, which hold what they request."""
        return tuple(one for one in self.pods if one.node)

    @cached_property
    def waiting(self) -> tuple[PodObject, ...]:
        """Pods that are on no node."""
        return tuple(one for one in self.pods if not one.node)

    @cached_property
    def missing(self) -> tuple[tuple[ControllerObject, int], ...]:
        """How many pods each maker has not made yet; makers that miss none are left out."""
        live: dict[str, int] = defaultdict(int)
        for one in self.pods:
            if one.controller is not None:
                live[one.controller.name] += 1
        found = [(m, (m.wanted or 0) - live[m.name]) for m in self.makers]
        return tuple((maker, count) for maker, count in found if count > 0)

    @property
    def is_lasting(self) -> bool:
        """A service: it replaces its pods and stays, so its age is not the age of their wait."""
        return self.kind in LASTING

    @property
    def missing_count(self) -> int:
        """Pods that were not made yet."""
        return sum(count for _, count in self.missing)

    @property
    def wanted(self) -> int:
        """Pods that it should have now, including pods that were not created (S9)."""
        seen = len(self.pods) + self.missing_count
        return max(seen, (self.top.wanted or 0) if self.top else 0)

    @cached_property
    def gang_size(self) -> int | None:
        """How many of its pods are of use only together; None if it is not a gang (S2)."""
        grouped = [one.gang_size or 0 for one in self.entries if one.kind == "PodGroup"]
        if max(grouped, default=0) > 1:
            return max(grouped)
        if self.kind == "Job":
            is_gang = self.top is not None and self.top.is_indexed and self.wanted > 1
            return self.wanted if is_gang else None
        if self.kind not in GANG_KINDS:
            return None
        declared = self.top.gang_size if self.top else None
        return declared or self.cluster_size or self._counted() or self.wanted

    def _counted(self) -> int | None:
        """As labels of its pods, else its entry of Kueue count them."""
        for one in self.pods:
            for notes in (one.annotations, one.labels):
                number = notes.get(_TOTAL) or notes.get(_LWS_SIZE) or ""
                if number.isascii() and number.isdigit() and int(number[:6]) > 0:
                    return int(number[:6])
        entries = (one for one in self.entries if one.kind == "Workload")
        return next((one.gang_size for one in entries), None)

    @property
    def is_partial(self) -> bool:
        """Whether some, not all, members of a gang hold what they request."""
        size = self.gang_size
        return size is not None and 0 < len(self.bound) < size


STILL_TRIES_MS = 1_200_000  # Kubernetes' controllers try again within 17 minutes


def _unknown_makers(world: World, owners: "_Owners") -> list[ControllerObject]:
    """Controllers that may not be read, by the events of their refused pods."""
    live = Counter(
        (pod.controller.kind, pod.namespace, pod.controller.name)
        for pod in world.pods
        if pod.is_live and pod.controller is not None
    )
    found = {}
    for event in world.events:
        key = (event.kind, event.namespace, event.name)
        is_recent = event.at_ms >= world.now_ms - STILL_TRIES_MS
        may_exist = event.kind in world.unread or event.kind not in MAKERS
        if event.reason == REFUSED and is_recent and not owners.find(key) and may_exist:
            found[key] = ControllerObject(*key, uid=event.uid, wanted=live[key] + 1)
    return list(found.values())


@dataclass
class _Draft:
    pods: list[PodObject] = field(default_factory=list)
    makers: list[ControllerObject] = field(default_factory=list)
    group: str = ""


def find_units(world: World) -> tuple[WorkUnit, ...]:
    """Every unit of a cluster, in the order of kind, namespace and name."""
    owners = _Owners(world)
    drafts: dict[Key, _Draft] = defaultdict(_Draft)
    groups, entries = _groups(world, owners), QueueEntries(world)
    for pod in world.pods:
        if pod.is_live:
            key, label = groups.get(pod.uid) or (owners.root_of_pod(pod), "")
            drafts[key].pods.append(pod)
            drafts[key].group = drafts[key].group or label
    for one in world.controllers:
        if one.kind in MAKERS and one.wanted:
            drafts[owners.root_of(one)].makers.append(one)
    for one in _unknown_makers(world, owners):
        drafts[owners.root_of(one)].makers.append(one)
    for key, makers in entries.not_made(frozenset(drafts)):
        drafts[key].makers += makers
    return tuple(
        WorkUnit(
            *key,
            owners.find(key),
            tuple(draft.makers),
            tuple(sorted(draft.pods, key=lambda pod: pod.name)),
            draft.group,
            entries.of(key, draft.makers, draft.pods),
            owners.cluster_size(draft.pods) if key[0] in _RAY else None,
        )
        for key, draft in sorted(drafts.items())
    )


def queue_of(unit: WorkUnit) -> str:
    """The queue that a unit waits in; empty if none is named."""
    for one in (unit.top, *unit.makers):
        for label in _QUEUE_LABELS if one is not None else ():
            if one is not None and one.labels.get(label):
                return one.labels[label]
        if one is not None and one.queue:
            return one.queue
    for pod in unit.pods:
        for label in _QUEUE_LABELS:
            if found := pod.labels.get(label) or pod.annotations.get(label):
                return found
    return ""


class _Owners:
    """Owners upward, by uid and else by kind and name."""

    def __init__(self, world: World) -> None:
        self._by_uid = {one.uid: one for one in world.controllers if one.uid}
        self._by_key: Mapping[Key, ControllerObject] = {
            (one.kind, one.namespace, one.name): one for one in world.controllers
        }

    def find(self, key: Key) -> ControllerObject | None:
        return self._by_key.get(key)

    def cluster_size(self, pods: Iterable[PodObject]) -> int | None:
        """Pods that the largest Ray cluster of some pods needs; None if none is known."""
        made = {
            pod.controller.uid for pod in pods if pod.controller is not None
        } & self._by_uid.keys()
        clusters = [self._by_uid[uid] for uid in made]
        sizes = [c.gang_size or 0 for c in clusters if c.kind == "RayCluster"]
        return max(sizes, default=0) or None

    def root_of_pod(self, pod: PodObject) -> Key:
        labelled = _by_label(pod.labels, pod.namespace)
        if labelled is not None:
            return labelled
        if pod.controller is None:
            return "Pod", pod.namespace, pod.name
        return self._up(pod.controller, pod.namespace, pod.labels)

    def root_of(self, one: ControllerObject) -> Key:
        labelled = _by_label(one.labels, one.namespace)
        if labelled is not None:
            return labelled
        if one.controller is None:
            return one.kind, one.namespace, one.name
        above = self._up(one.controller, one.namespace, one.labels)
        return (
            above
            if above[0] not in _NOT_A_UNIT
            else (one.kind, one.namespace, one.name)
        )

    def _up(self, ref: ControllerRef, namespace: str, labels: Mapping[str, str]) -> Key:
        """The highest owner that is a unit; a cycle of owners ends the way up."""
        key = _key_of(ref, namespace, labels)
        seen = {key}
        while True:
            owner = self._by_uid.get(ref.uid) or self._by_key.get(key)
            if owner is None or owner.controller is None:
                return key
            ref = owner.controller
            above = _key_of(ref, namespace, {})
            if above in seen or above[0] in _NOT_A_UNIT:
                return key
            seen.add(above)
            key = above


def _key_of(ref: ControllerRef, namespace: str, labels: Mapping[str, str]) -> Key:
    kind = "VolcanoJob" if ref.kind == "Job" and _VOLCANO_JOB in labels else ref.kind
    return kind, namespace, ref.name


def _by_label(labels: Mapping[str, str], namespace: str) -> Key | None:
    if _JOBSET in labels:
        return "JobSet", namespace, labels[_JOBSET]
    if _LWS in labels:
        group = labels.get(_LWS_GROUP, "")
        name = f"{labels[_LWS]}-{group}" if group else labels[_LWS]
        return "LeaderWorkerSet", namespace, name
    return None


def _groups(world: World, owners: _Owners) -> dict[str, tuple[Key, str]]:
    """Pods of a pod group that have no common controller, by uid."""
    members: dict[tuple[str, str], list[tuple[PodObject, str]]] = defaultdict(list)
    for pod in world.pods:
        for label, name in group_names(pod) if pod.is_live else ():
            members[pod.namespace, name].append((pod, label))
            break
    found: dict[str, tuple[Key, str]] = {}
    for (namespace, name), pods in members.items():
        roots = {owners.root_of_pod(pod) for pod, _ in pods}
        if len(roots) > 1 or next(iter(roots))[0] == "Pod":
            key = ("PodGroup", namespace, name)
            found |= {pod.uid: (key, label) for pod, label in pods}
    return found
