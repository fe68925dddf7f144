"""The words of explanations: stages, causes, preemption and overlays (scheduling.md S4-S11)."""

from enum import StrEnum
from functools import lru_cache


class Stage(StrEnum):
    """How far a pod came (S4), earliest first."""

    REFUSED = "refused"
    HELD_BACK = "held_back"
    UNSCHEDULABLE = "unschedulable"
    STARTING = "starting"


class WaitCause(StrEnum):
    """Why it waits, in the order of tables A and B of scheduling.md."""

    QUOTA = "quota"
    SCOPE_QUOTA = "scope_quota"
    QUOTA_OTHER = "quota_other"
    LIMIT_RANGE = "limit_range"
    PRIORITY_CLASS_MISSING = "priority_class_missing"
    ADMISSION_OTHER = "admission_other"
    BACK_OFF = "back_off"
    SUSPENDED = "suspended"
    QUEUE = "queue"
    QUEUE_CHECK = "queue_check"
    QUEUE_LIMIT = "queue_limit"
    QUEUE_STOPPED = "queue_stopped"
    QUEUE_MISSING = "queue_missing"
    QUEUE_DEACTIVATED = "queue_deactivated"
    GATED = "gated"
    CLAIM_MISSING = "claim_missing"
    NOT_TRIED = "not_tried"
    PREEMPTING = "preempting"
    NO_NODES = "no_nodes"
    VOLUME_MISSING = "volume_missing"
    DEVICE_CLASS_MISSING = "device_class_missing"
    CLAIM_UNALLOCATABLE = "claim_unallocatable"
    CLAIM_ELSEWHERE = "claim_elsewhere"
    RESOURCE_UNKNOWN = "resource_unknown"
    NO_DEVICE_PLUGIN = "no_device_plugin"
    NO_MATCHING_NODE = "no_matching_node"
    TAINT = "taint"
    CORDONED = "cordoned"
    NODE_NOT_READY = "node_not_ready"
    NODE_SETUP = "node_setup"
    TOO_BIG = "too_big"
    GPU_UNHEALTHY = "gpu_unhealthy"
    NO_FREE_GPU = "no_free_gpu"
    FRAGMENTED = "fragmented"
    CPU_MEMORY = "cpu_memory"
    POD_SLOTS = "pod_slots"
    HOST_PORT = "host_port"
    VOLUME_IN_USE = "volume_in_use"
    VOLUME_ZONE = "volume_zone"
    VOLUME_UNBOUND = "volume_unbound"
    SPREAD = "spread"
    POD_AFFINITY = "pod_affinity"
    POD_ANTI_AFFINITY = "pod_anti_affinity"
    RETRY_PENDING = "retry_pending"
    OTHER = "other"
    IMAGE_PULL = "image_pull"
    CONTAINER_CONFIG = "container_config"
    CRASH_LOOP = "crash_loop"
    INIT_CONTAINER = "init_container"
    STARTING = "starting"


QUEUES = frozenset(
    {
        *(WaitCause.QUEUE, WaitCause.QUEUE_CHECK, WaitCause.QUEUE_LIMIT),
        *(WaitCause.QUEUE_STOPPED, WaitCause.QUEUE_MISSING),
        WaitCause.QUEUE_DEACTIVATED,
    }
)
"""A queue of Kueue, Volcano or KAI keeps the work; of these, only `QUEUE` ends when others do."""


class PreemptionOutcome(StrEnum):
    """What preemption can do for a pod (S10)."""

    IN_PROGRESS = "in_progress"
    NEVER = "never"
    NOT_ENOUGH = "not_enough"
    NO_VICTIMS = "no_victims"
    NOT_HELPFUL = "not_helpful"
    NONE = "none"
    UNKNOWN = "unknown"


class Overlay(StrEnum):
    """What makes a wait worse than its cause shows (S11, S4)."""

    GANG_PARTIAL = "gang_partial"
    GANG_DEADLOCK = "gang_deadlock"
    PRIORITY_INVERSION = "priority_inversion"
    OWN_ROLLOUT = "own_rollout"
    HOLDS_WHILE_STARTING = "holds_while_starting"


_ORDER = list(WaitCause)
PER_NODE = tuple(
    _ORDER[
        _ORDER.index(WaitCause.NO_MATCHING_NODE) : _ORDER.index(WaitCause.RETRY_PENDING)
    ]
)
"""The causes that hold on a node, in table order."""

BIT = {cause: 1 << place for place, cause in enumerate(PER_NODE)}
"""A set of causes on a node as a number: the lowest bit is the first cause."""


def first_of(mask: int) -> WaitCause | None:
    """The earliest cause of a set; None if it is empty."""
    return PER_NODE[(mask & -mask).bit_length() - 1] if mask else None


@lru_cache(maxsize=4096)
def causes_of(mask: int) -> tuple[WaitCause, ...]:
    """The causes of a set, in table order."""
    return tuple(cause for cause in PER_NODE if mask & BIT[cause])


def mask_of(*causes: WaitCause) -> int:
    """The set of some causes."""
    return sum(BIT[cause] for cause in causes)
