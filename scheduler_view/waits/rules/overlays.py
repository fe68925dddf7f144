"""What makes a wait worse than its cause shows (scheduling.md S11)."""

from scheduler_view.waits.rules.blockers import Blockers, pods_of
from scheduler_view.waits.rules.cause import Overlay, Stage, WaitCause
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.findings import Findings
from scheduler_view.waits.rules.placement.holders import HolderSet
from scheduler_view.waits.rules.units import WorkUnit


def deadlocked_with(
    findings: Findings, unit: WorkUnit, sets: list[HolderSet]
) -> tuple[str, ...]:
    """Partial gangs that hold what a partial gang waits for, and wait for what it holds."""
    if not unit.is_partial or not sets:
        return ()
    index = findings.index
    own = {pod.uid for pod in unit.pods}
    found: list[str] = []
    for pod in sets[0].pods:
        other = index.unit_of.get(pod.uid)
        if other is None or other.subject in found:
            continue
        if not other.is_partial or not other.waiting:
            return ()
        verdicts = findings.verdicts(other.waiting[0])
        theirs = pods_of(Blockers(index, other).on_nodes(verdicts).best)
        if not any(one.uid in own for one in theirs):
            return ()
        found.append(other.subject)
    return tuple(found)


def overlays_of(
    unit: WorkUnit,
    finding: PodFinding,
    partners: tuple[str, ...],
    inverted: list[HolderSet],
) -> tuple[Overlay, ...]:
    """The overlays of a unit, in the order of `cause.Overlay`.

    Args:
        partners: gangs that block each other with it.
        inverted: sufficient sets of pods of lower priority only.
    """
    holds = {
        Overlay.GANG_PARTIAL: unit.is_partial,
        Overlay.GANG_DEADLOCK: bool(partners),
        Overlay.PRIORITY_INVERSION: bool(inverted),
        Overlay.OWN_ROLLOUT: _is_own_rollout(unit, finding),
        Overlay.HOLDS_WHILE_STARTING: finding.stage is Stage.STARTING,
    }
    return tuple(one for one in Overlay if holds[one])


def inverted_sets(
    findings: Findings, unit: WorkUnit, finding: PodFinding
) -> list[HolderSet]:
    """Sufficient sets whose pods all hold something with a lower priority than the unit's.

    Sets with a pod of the same class are left out, whatever its value was when the pod was made.
    """
    if finding.spec is None or finding.cause is WaitCause.PREEMPTING:
        return []
    world = findings.index.world
    own = world.priority_of(finding.spec)
    if own <= findings.index.lowest_priority:
        return []
    blockers = Blockers(findings.index, unit)
    found: list[HolderSet] = []
    if finding.refusal is not None:
        found = blockers.of_quota(unit.namespace, finding.refusal, own).best
    elif finding.verdicts is not None and finding.is_by_nodes:
        found = blockers.on_nodes(finding.verdicts, own).best
    named = finding.spec.priority_class
    return [
        one
        for one in found
        if not named or all(pod.spec.priority_class != named for pod in one.pods)
    ]


def _is_own_rollout(unit: WorkUnit, finding: PodFinding) -> bool:
    """Whether it may not end an old pod first, and the new one waits for its node or quota."""
    top = unit.top
    by_quota = finding.refusal is not None and finding.refusal.amounts
    return (
        (finding.stage is Stage.UNSCHEDULABLE or bool(by_quota))
        and top is not None
        and top.kind == "Deployment"
        and len(unit.pods) + unit.missing_count > (top.replicas or 0)
        and top.max_unavailable == 0
    )
