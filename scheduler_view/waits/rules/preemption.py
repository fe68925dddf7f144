"""What preemption can do for a waiting pod (scheduling.md S10)."""

from scheduler_view.waits.rules.cause import (
    PreemptionOutcome,
    Stage,
    WaitCause,
    mask_of,
)
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_table import LARGEST
from scheduler_view.waits.rules.placement.verdicts import Verdicts

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
        WaitCause.CLAIM_ELSEWHERE,
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
    masks, table, spec = verdicts.masks, verdicts.table, verdicts.demand.spec
    can_help = (masks != 0) & ((masks & ~_ENDS_HELP) == 0)
    nodes = verdicts.candidates.positions[can_help]
    for name, need in spec.requests:
        nodes = nodes[table.allocatable(name)[nodes] >= min(need, LARGEST)]
    if not len(nodes):
        return PreemptionOutcome.NOT_HELPFUL
    if (table.lowest[nodes] < index.world.priority_of(spec)).any():
        return PreemptionOutcome.NOT_ENOUGH
    return PreemptionOutcome.NO_VICTIMS
