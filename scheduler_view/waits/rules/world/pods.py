"""A pod as observed: what it requires, where it is, and what was reported of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_view.waits.rules.world.container_states import (
    MAIN,
    ContainerState,
    containers_of,
)
from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    instant_ms,
    is_true,
    items,
    labels,
    part,
    text,
    texts,
    whole,
)
from scheduler_view.waits.rules.world.pod_spec import PodSpec, pod_spec

ENDED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class ControllerRef:
    """The controller that made an object."""

    kind: str
    name: str
    uid: str = ""


def controller_of(metadata: Manifest) -> ControllerRef | None:
    """The owner that controls an object; None without one."""
    for one in items(metadata, "ownerReferences"):
        if is_true(one, "controller"):
            return ControllerRef(text(one, "kind"), text(one, "name"), text(one, "uid"))
    return None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The `PodScheduled` condition."""

    is_true: bool
    reason: str
    message: str
    since_ms: int | None


@dataclass(frozen=True, slots=True)
class PodObject:
    """One pod.

    Attributes:
        annotations: those that name a pod group or a queue, or keep its node.
        ending_ms: when it was deleted; None if it was not.
        is_stuck: it should have ended more than five minutes ago.
        finalizers: of a pod that is ending.
        nominated: the node that preemption chose; empty without one.
        scheduled: None if no scheduler reported anything.
        claims: names of the claims that were made for it, by the name in its spec.
        containers: those that are not simply running or done.
        started_ms: when the last of its main containers first ran; None if one has not.
        failure: of a pod that failed, the words of the kubelet.
        failed_ms: when it failed; None if it did not, or that is not reported.
    """

    uid: str
    namespace: str
    name: str
    spec: PodSpec
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    controller: ControllerRef | None = None
    created_ms: int | None = None
    is_ending: bool = False
    ending_ms: int | None = None
    is_stuck: bool = False
    finalizers: tuple[str, ...] = ()
    phase: str = "Pending"
    node: str = ""
    nominated: str = ""
    scheduled: Scheduled | None = None
    claims: tuple[tuple[str, str], ...] = ()
    containers: tuple[ContainerState, ...] = ()
    started_ms: int | None = None
    failure: str = ""
    failed_ms: int | None = None

    @property
    def path(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_live(self) -> bool:
        """Whether it has not ended and is not ending."""
        return not self.is_ending and self.phase not in ENDED

    @property
    def holds(self) -> bool:
        """Whether it is on a node and reserves there what it requests."""
        return bool(self.node) and self.phase not in ENDED

    @property
    def waits(self) -> bool:
        """Whether it is there and on no node."""
        return self.is_live and not self.node

    @property
    def starts(self) -> bool:
        """Whether it is on a node, and its containers have not begun."""
        return self.is_live and bool(self.node) and self.phase != "Running"

    def fails(self, now_ms: int) -> bool:
        """Whether one of its main containers fails again and again, although it had begun."""
        is_there = self.is_live and bool(self.node)
        return is_there and any(
            one.kind == MAIN and one.fails(now_ms) for one in self.containers
        )


_GROUPS = (
    *("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"),
    *("pod-group-name", "kueue.x-k8s.io/pod-group-name"),
    *("kueue.x-k8s.io/pod-group-total-count", "scheduling.volcano.sh/queue-name"),
    "leaderworkerset.sigs.k8s.io/size",
)
KEEP_NODE = {  # annotations by which a pod keeps its node from being removed, and their values
    "karpenter.sh/do-not-disrupt": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}
_NOTES = (*_GROUPS, *KEEP_NODE)


STUCK_MS = 300_000  # after the end of its grace period


def pod_object(manifest: Manifest, now_ms: int = 0) -> PodObject:
    """A pod from the API server's JSON.

    Args:
        now_ms: of the observation; without it no pod is stuck.
    """
    metadata, status = part(manifest, "metadata"), part(manifest, "status")
    spec = part(manifest, "spec")
    notes = labels(metadata, "annotations")
    is_ending = bool(text(metadata, "deletionTimestamp"))
    over = instant_ms(metadata, "deletionTimestamp")  # with its grace period
    grace_ms = 1000 * max(0, whole(metadata, "deletionGracePeriodSeconds") or 0)
    return PodObject(
        uid=text(metadata, "uid"),
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        spec=pod_spec(spec),
        labels=labels(metadata, "labels"),
        annotations={name: notes[name] for name in _NOTES if name in notes},
        controller=controller_of(metadata),
        created_ms=instant_ms(metadata, "creationTimestamp"),
        is_ending=is_ending,
        ending_ms=None if over is None else over - grace_ms,
        is_stuck=over is not None and now_ms - over > STUCK_MS,
        finalizers=texts(metadata, "finalizers") if is_ending else (),
        phase=text(status, "phase") or "Pending",
        node=text(spec, "nodeName"),
        nominated=text(status, "nominatedNodeName"),
        scheduled=_scheduled(status),
        claims=tuple(
            (text(one, "name"), text(one, "resourceClaimName"))
            for one in items(status, "resourceClaimStatuses")
        ),
        containers=containers_of(spec, status),
        started_ms=_started(spec, status),
        failure=_failure(spec, status),
        failed_ms=_failed_ms(spec, status),
    )


_RAN = (("state", "running"), ("state", "terminated"), ("lastState", "terminated"))


def _started(spec: Manifest, status: Manifest) -> int | None:
    """When all main containers had run; of each the earliest attempt that is known."""
    begun = []
    for one in items(status, "containerStatuses"):
        found = [instant_ms(one, *path, "startedAt") for path in _RAN]
        begun.append(min((at for at in found if at is not None), default=None))
    known = [at for at in begun if at is not None]
    is_complete = len(known) == len(begun) >= len(items(spec, "containers")) > 0
    return max(known) if is_complete else None


def _scheduled(status: Manifest) -> Scheduled | None:
    for one in items(status, "conditions"):
        if text(one, "type") == "PodScheduled":
            return Scheduled(
                text(one, "status") == "True",
                text(one, "reason"),
                text(one, "message"),
                instant_ms(one, "lastTransitionTime"),
            )
    return None


def _failure(spec: Manifest, status: Manifest) -> str:
    """What the kubelet says of a pod that failed: of the pod itself, else of a container."""
    if text(status, "phase") != "Failed":
        return ""
    reason, message = text(status, "reason"), text(status, "message")
    if reason or message:
        return ": ".join(one for one in (reason, message) if one)
    failed = [one for one in containers_of(spec, status) if one.exit_code is not None]
    return f"Container {failed[0].name}: {failed[0].failure}" if failed else "Failed"


def _failed_ms(spec: Manifest, status: Manifest) -> int | None:
    """When its last container ended; of a pod that never ran, when the kubelet took it."""
    if text(status, "phase") != "Failed":
        return None
    ended = [one.ended_ms for one in containers_of(spec, status)]
    known = [at for at in ended if at is not None]
    return max(known) if known else instant_ms(status, "startTime")
