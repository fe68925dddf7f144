"""What preemption can do for a waiting pod (scheduling.md S10)."""

from scheduler_view.domain.waits.cause import (
    PreemptionOutcome,
    Stage,
    WaitCause,
    mask_of,
)
from scheduler_view.domain.waits.finding import PodFinding
from scheduler_view.domain.waits.placement.index import NodeRoom, WorldIndex
from scheduler_view.domain.waits.placement.verdicts import Verdicts

_ENDS_HELP = mask_of(
    *(
        WaitCause.NO_FREE_GPU,
        WaitCause.FRAGMENTED,
        WaitCause.CPU_MEMORY,
        WaitCause.POD_SLOTS,
    ),
    *(
        WaitCause.HOST_PORT,
        WaitCause.VOLUME_IN_USE,
        WaitCause.SPREAD,
        WaitCause.POD_ANTI_AFFINITY,
    ),
)
_NOT_BY_NODE = frozenset(
    {
        WaitCause.VOLUME_MISSING,
        WaitCause.DEVICE_CLASS_MISSING,
        WaitCause.CLAIM_UNALLOCATABLE,
    }
)


def preemption_of(index: WorldIndex, finding: PodFinding) -> PreemptionOutcome:
    """Whether the scheduler can end other pods for this one; disruption budgets do not stop it."""
    cause, spec = finding.cause, finding.spec
    if finding.stage is not Stage.UNSCHEDULABLE or cause is WaitCause.RETRY_PENDING:
        return PreemptionOutcome.NONE
    if cause is WaitCause.PREEMPTING:
        return PreemptionOutcome.IN_PROGRESS
    if spec is not None and spec.never_preempts:
        return PreemptionOutcome.NEVER
    if finding.verdicts is None:
        return PreemptionOutcome.UNKNOWN
    if cause in _NOT_BY_NODE or (cause is WaitCause.VOLUME_UNBOUND and finding.name):
        return PreemptionOutcome.NOT_HELPFUL
    return _by_nodes(index, finding.verdicts)


def _by_nodes(index: WorldIndex, verdicts: Verdicts) -> PreemptionOutcome:
    found = PreemptionOutcome.NOT_HELPFUL
    own = index.world.priority_of(verdicts.demand.spec)
    for room, mask in zip(verdicts.rooms, verdicts.masks, strict=True):
        if not mask or mask & ~_ENDS_HELP:
            continue
        has_lower = room.lowest is not None and room.lowest < own
        if found is PreemptionOutcome.NO_VICTIMS and not has_lower:
            continue
        if _could_hold(room, verdicts):
            found = PreemptionOutcome.NO_VICTIMS
            if has_lower:
                return PreemptionOutcome.NOT_ENOUGH
    return found


def _could_hold(room: NodeRoom, verdicts: Verdicts) -> bool:
    offered = room.node.allocatable
    return all(
        need <= offered.get(name, 0) for name, need in verdicts.demand.spec.requests
    )
