"""Pods that have a node and have not begun, or fail; and controllers whose pods failed (S4)."""

from collections.abc import Sequence
from dataclasses import replace

from scheduler_view.waits.rules.cause import Stage, WaitCause
from scheduler_view.waits.rules.explanation import Evidence
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.placement.gpu_requests import gpu_request
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.container_states import INIT, ContainerState
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.events import NO_SANDBOX, NOT_MOUNTED
from scheduler_view.waits.rules.world.pods import PodObject

REPEATED_WITHIN_MS = 600_000  # what lasts is reported again within this time
JOB_RETRY_MS = 600_000  # the Job controller waits at most as long after a failure
_PULL = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName"})
_CONFIG = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)


def findings_of_starting(index: WorldIndex, unit: WorkUnit) -> list[PodFinding]:
    """A finding for each pod of a unit that is starting, or whose main containers fail."""
    held = sum(_units_of(index, pod) for pod in unit.bound)
    return [
        _of_pod(index, pod, held)
        for pod in unit.bound
        if pod.starts or pod.fails(index.world.now_ms)
    ]


def is_after(failed: Sequence[PodObject], at_ms: int) -> bool:
    """Whether the newest pod failed after an instant; of a refusal without one (0) it did not."""
    last = next((one.failed_ms for one in failed), None)
    return bool(at_ms) and last is not None and last > at_ms


def of_failed(
    base: PodFinding, maker: ControllerObject, failed: Sequence[PodObject]
) -> PodFinding:
    """A controller whose pods failed waits before it makes new ones.

    Args:
        failed: pods that are still there, the newest first.
    """
    last = failed[0]
    facts: dict[str, object] = {
        "failed": max(len(failed), maker.failed),
        "maker": f"{maker.kind}/{maker.namespace}/{maker.name}",
    }
    if maker.backoff_limit is not None:
        facts["backoff_limit"] = maker.backoff_limit
    if last.failed_ms is not None:
        facts["failed_ms"] = last.failed_ms
    said = Evidence(f"Pod/{last.path}", "status", last.failure, last.failed_ms)
    return replace(base, cause=WaitCause.BACK_OFF, evidence=(said,), facts=facts)


def _units_of(index: WorldIndex, pod: PodObject) -> int:
    found = gpu_request(index.world, pod.namespace, pod.spec, pod.claims)
    return (found.units or 0) if found is not None else 0


def _of_pod(index: WorldIndex, pod: PodObject, held: int) -> PodFinding:
    cause, container = _cause(index, pod)
    facts: dict[str, object] = {"node": pod.node, "holds": held}
    evidence: tuple[Evidence, ...] = ()
    if cause is WaitCause.STARTING:
        evidence = _not_ready(index, pod)
    if container is not None:
        facts |= _facts(cause, container)
        evidence = _said(pod, cause, container)
    return PodFinding(
        Stage.STARTING,
        cause,
        spec=pod.spec,
        pod=pod,
        name=_name(pod, cause, container),
        evidence=evidence,
        facts=facts,
    )


def _not_ready(index: WorldIndex, pod: PodObject) -> tuple[Evidence, ...]:
    """What the kubelet says of volumes that it cannot mount, or of the network of the pod."""
    found = [
        event
        for reason in (NOT_MOUNTED, NO_SANDBOX)
        if (
            event := index.newest_event(reason, "Pod", pod.namespace, pod.name, pod.uid)
        )
        and index.world.now_ms - event.at_ms < REPEATED_WITHIN_MS
    ]
    if not found:
        return ()
    event = max(found, key=lambda one: one.at_ms)
    about = f"Event/Pod {pod.path} {event.reason}"
    return (Evidence(about, "message", event.message, event.at_ms),)


def _name(pod: PodObject, cause: WaitCause, container: ContainerState | None) -> str:
    if container is None:
        return pod.node
    return container.image if cause is WaitCause.IMAGE_PULL else container.name


def _cause(
    index: WorldIndex, pod: PodObject
) -> tuple[WaitCause, ContainerState | None]:
    """The first of these that holds, and the container that shows it."""
    for cause, reasons in (
        (WaitCause.IMAGE_PULL, _PULL),
        (WaitCause.CONTAINER_CONFIG, _CONFIG),
    ):
        for one in pod.containers:
            if one.waiting in reasons:
                return cause, one
    room = index.rooms.get(pod.node)
    is_gone = room is None and "Node" not in index.world.unread
    if is_gone or (room is not None and not room.node.is_ready):
        return WaitCause.NODE_NOT_READY, None
    for one in pod.containers:
        if one.fails(index.world.now_ms):
            return WaitCause.CRASH_LOOP, one
    for one in pod.containers:
        if one.kind == INIT and one.running_ms is not None:
            return WaitCause.INIT_CONTAINER, one
    return WaitCause.STARTING, None


def _facts(cause: WaitCause, one: ContainerState) -> dict[str, object]:
    found: dict[str, object] = {"container": one.name, "container_kind": one.kind}
    if cause is WaitCause.CRASH_LOOP:
        found |= {"restarts": one.restarts}
        if one.exit_code is not None:
            found |= {"exit_code": one.exit_code, "exit_reason": one.exit_reason}
    if cause is WaitCause.INIT_CONTAINER:
        found["running_ms"] = one.running_ms
    return found


def _said(
    pod: PodObject, cause: WaitCause, one: ContainerState
) -> tuple[Evidence, ...]:
    """The words of the kubelet; of an image only what does not name it."""
    words = one.message
    if cause is WaitCause.IMAGE_PULL:
        words = _without_image(one)
    elif cause is WaitCause.CRASH_LOOP:
        words = one.failure
    if not words:
        return ()
    statuses = "containerStatuses" if one.kind == "main" else "initContainerStatuses"
    path = f"status.{statuses}[{one.name}]"
    return (Evidence(f"Pod/{pod.path}", path, words, one.ended_ms),)


def _without_image(one: ContainerState) -> str:
    """The reason and the end of the message: names of images may be confidential."""
    end = one.message.rpartition(": ")[2]
    is_named = any(sign in end for sign in "/\"'@") or (one.image and one.image in end)
    return one.waiting if is_named or not end else f"{one.waiting}: {end}"
