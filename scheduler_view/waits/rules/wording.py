"""Causes and overlays as short texts for pages and commands."""

from collections.abc import Mapping

from scheduler_view.clusters.rules.wording import units
from scheduler_view.waits.rules.cause import Overlay, Stage, WaitCause

CAUSE_TEXTS: Mapping[WaitCause, str] = {
    WaitCause.QUOTA: "The quota is used up",
    WaitCause.SCOPE_QUOTA: "The quota of this priority class is used up",
    WaitCause.QUOTA_OTHER: "A quota of another resource rejects it",
    WaitCause.LIMIT_RANGE: "A LimitRange rejects it",
    WaitCause.PRIORITY_CLASS_MISSING: "Its priority class does not exist",
    WaitCause.ADMISSION_OTHER: "The API server rejects its pods",
    WaitCause.BACK_OFF: "Its pods failed; new ones are created after a pause",
    WaitCause.SUSPENDED: "A person suspended it",
    WaitCause.QUEUE: "Its queue has not admitted it",
    WaitCause.QUEUE_CHECK: "An admission check of its queue has not passed",
    WaitCause.QUEUE_LIMIT: "It requests more than its queue can ever admit",
    WaitCause.QUEUE_STOPPED: "Its queue admits no work",
    WaitCause.QUEUE_MISSING: "Its queue does not exist",
    WaitCause.QUEUE_DEACTIVATED: "It is deactivated in its queue",
    WaitCause.GATED: "A scheduling gate holds it back",
    WaitCause.CLAIM_MISSING: "Its resource claim or template does not exist",
    WaitCause.NOT_TRIED: "No scheduler has tried to place it",
    WaitCause.PREEMPTING: "Lower-priority pods are terminating for it",
    WaitCause.NO_NODES: "The cluster has no nodes",
    WaitCause.VOLUME_MISSING: "Its volume claim does not exist",
    WaitCause.DEVICE_CLASS_MISSING: "Its device class does not exist",
    WaitCause.CLAIM_UNALLOCATABLE: "No node has the devices of its claim",
    WaitCause.CLAIM_ELSEWHERE: "Its claim is allocated on a node that cannot take it",
    WaitCause.RESOURCE_UNKNOWN: "No node has this kind of GPU resource",
    WaitCause.NO_DEVICE_PLUGIN: "The device plugin of a GPU node reports no GPUs",
    WaitCause.NO_MATCHING_NODE: "No node matches its selector or affinity",
    WaitCause.TAINT: "It does not tolerate the taints of the nodes",
    WaitCause.CORDONED: "The nodes are cordoned",
    WaitCause.NODE_NOT_READY: "The node is not ready",
    WaitCause.NODE_SETUP: "The node is not set up, or is being removed",
    WaitCause.TOO_BIG: "It requests more than a node has",
    WaitCause.GPU_UNHEALTHY: "The GPUs of the node are not available",
    WaitCause.NO_FREE_GPU: "Not enough free GPUs on matching nodes",
    WaitCause.FRAGMENTED: "Enough GPUs are free, but not on one node",
    WaitCause.CPU_MEMORY: "CPU, memory or another resource is short",
    WaitCause.POD_SLOTS: "The nodes have reached their pod limit",
    WaitCause.HOST_PORT: "Its host port is in use",
    WaitCause.VOLUME_IN_USE: "Another pod uses its volume",
    WaitCause.VOLUME_ZONE: "Its volume cannot be used on these nodes",
    WaitCause.VOLUME_UNBOUND: "No volume can be bound",
    WaitCause.SPREAD: "It would violate its topology spread constraint",
    WaitCause.POD_AFFINITY: "The pods that its affinity requires do not run",
    WaitCause.POD_ANTI_AFFINITY: "Pods that its anti-affinity excludes run there",
    WaitCause.RETRY_PENDING: "Nothing blocks it; the scheduler tries again soon",
    WaitCause.OTHER: "Other reason",
    WaitCause.IMAGE_PULL: "Its image cannot be pulled; it holds its GPUs",
    WaitCause.CONTAINER_CONFIG: "Its containers cannot be created; it holds its GPUs",
    WaitCause.CRASH_LOOP: "A container keeps failing; it holds its GPUs",
    WaitCause.INIT_CONTAINER: "An init container runs first; it holds its GPUs",
    WaitCause.STARTING: "Its containers are starting; it holds its GPUs",
}
OVERLAY_TEXTS: Mapping[Overlay, str] = {
    Overlay.GANG_PARTIAL: "Part of the gang holds GPUs and waits for the rest",
    Overlay.GANG_DEADLOCK: "Gangs are deadlocked: each holds GPUs that another needs",
    Overlay.PRIORITY_INVERSION: "Lower-priority work holds the GPUs it needs",
    Overlay.OWN_ROLLOUT: "It waits for its own old pods",
    Overlay.HOLDS_WHILE_STARTING: "It holds GPUs while it starts",
}

_TEXTS_BY_CAUSE = {one.value: text for one, text in CAUSE_TEXTS.items()}


def cause_text(cause: str) -> str:
    """A cause as a sentence without a period; the name itself for an unknown one."""
    return _TEXTS_BY_CAUSE.get(cause, cause)


_FROM_METRICS = {
    WaitCause.SUSPENDED.value: "It is suspended, by a person or a queue",
    WaitCause.OTHER.value: "Metrics do not show why",
}


def metric_cause_text(cause: str) -> str:
    """A cause that is from metrics alone, which show less: as `cause_text`."""
    return _FROM_METRICS.get(cause) or cause_text(cause)


def overlay_text(overlay: str, stage: str = "") -> str:
    """An overlay as a sentence without a period; of refused work, as a quota has it."""
    if (overlay, stage) == (Overlay.PRIORITY_INVERSION, Stage.REFUSED):
        return "Lower-priority work holds enough of its quota"
    known = {one.value: text for one, text in OVERLAY_TEXTS.items()}
    return known.get(overlay, overlay)


def queue_text(subject: str) -> str:
    """`the LocalQueue batch in the namespace lab`, `the ClusterQueue large`, `the queue b`."""
    kind, _, path = subject.partition("/")
    if kind == "Queue":
        return f"the queue {path}"
    namespace, _, name = path.rpartition("/")
    return f"the {kind} {name}" + (
        f" in the namespace {namespace}" if namespace else ""
    )


def amount_text(amount: float | str, resource: str) -> str:
    """`8 GPUs`, `2 MIG 1g.10gb`; other resources as `4 of cpu`."""
    if isinstance(amount, str):
        return f"{amount} of {resource}"
    return f"{amount:,.10g} {units(resource, 1 if amount == 1 else None)}"
