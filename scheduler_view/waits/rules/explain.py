"""Why a unit waits, who holds what it needs, and what would let it start (scheduling.md S4-S14)."""

from collections import Counter
from collections.abc import Iterator

from scheduler_view.clusters.rules.optional_kinds import COHORT
from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.waits.rules.blockers import Blockers
from scheduler_view.waits.rules.cause import Overlay, Stage, WaitCause
from scheduler_view.waits.rules.device_waits import DeviceWait, device_wait
from scheduler_view.waits.rules.explanation import PodCounts, WaitExplanation
from scheduler_view.waits.rules.facts import facts_of
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.findings import Findings
from scheduler_view.waits.rules.overlays import (
    deadlocked_with,
    inverted_sets,
    overlays_of,
)
from scheduler_view.waits.rules.placement.gpu_requests import GpuRequest, gpu_request
from scheduler_view.waits.rules.placement.holders import HolderSet, HolderSets
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.preemption import preemption_of
from scheduler_view.waits.rules.queue_holders import queue_behind, queue_holders
from scheduler_view.waits.rules.refusals import refusal_of_maker
from scheduler_view.waits.rules.remedies.case import WaitCase
from scheduler_view.waits.rules.remedies.remedies import Remedies, remedies_of
from scheduler_view.waits.rules.trial.trial import Trial
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.world import World

MOST_SETS = 8  # sets of blockers in an explanation
_COHORT = f"{COHORT}/"
_STAGES = list(Stage)
_CAUSES = list(WaitCause)


class Explainer:
    """Explains the units of one world; what units share is computed once."""

    def __init__(self, world: World) -> None:
        self.index = WorldIndex(world)
        self.findings = Findings(self.index)
        self._known: dict[tuple[object, ...], Remedies] = {}

    def waiting(self) -> Iterator[WaitExplanation]:
        """An explanation of every unit with GPUs that waits or is starting."""
        for unit in self.index.units:
            found = self.explain(unit)
            if found is not None:
                yield found

    def explain(self, unit: WorkUnit) -> WaitExplanation | None:
        """Why a unit waits; None if it does not, or requests no GPUs."""
        gpus = self._gpus(unit)
        if gpus is None:
            return None
        findings = self.findings.of_unit(unit)
        if not findings:
            return None
        votes: Counter[tuple[Stage, WaitCause]] = Counter()
        for one in findings:
            votes[one.stage, one.cause] += one.votes
        top = max(votes, key=lambda one: (votes[one], *_order(one)))
        findings.sort(key=lambda one: (one.stage, one.cause) != top)
        return self._explained(unit, findings, gpus, _others(findings))

    def _gpus(self, unit: WorkUnit) -> GpuRequest | None:
        world = self.index.world
        for pod in (*unit.waiting, *unit.bound):
            found = gpu_request(world, pod.namespace, pod.spec, pod.claims)
            if found is not None:
                return found
        for maker in unit.makers:
            if maker.template is not None:
                found = gpu_request(world, maker.namespace, maker.template)
                if found is not None:
                    return found
            refusal = refusal_of_maker(self.index, unit, maker)
            if refusal is not None and maker.template is None:
                resource = resource_of(refusal.key, world.added)
                if resource is not None:
                    return GpuRequest(resource, refusal.requested // 1000)
        return None

    def _explained(
        self,
        unit: WorkUnit,
        findings: list[PodFinding],
        gpus: GpuRequest,
        contributing: set[WaitCause],
    ) -> WaitExplanation:
        index, main = self.index, findings[0]
        blockers = Blockers(index, unit)
        claims = (
            device_wait(index, main, blockers)
            if main.cause is WaitCause.CLAIM_UNALLOCATABLE
            else DeviceWait([], [], {})
        )
        found = _sets(index, unit, main, blockers)
        sets = claims.sets or found.best
        preemption = preemption_of(index, main)
        partners = deadlocked_with(self.findings, unit, sets)
        inverted = inverted_sets(self.findings, unit, main)
        overlays = overlays_of(unit, main, partners, inverted)
        case = WaitCase(
            self.findings,
            unit,
            main,
            gpus,
            sets,
            blockers,
            preemption,
            overlays,
            Trial(self.findings, unit, main),
            partners,
            tuple(claims.remedies),
        )
        behind = queue_behind(main)
        remedies = self._remedies(case)
        return WaitExplanation(
            subject=unit.subject,
            kind=unit.subject.partition("/")[0],
            namespace=unit.namespace,
            name=unit.name,
            stage=main.stage,
            cause=main.cause,
            contributing=tuple(sorted(contributing)),
            overlays=overlays,
            pods=PodCounts(unit.wanted, len(unit.bound), unit.wanted - len(unit.bound)),
            resource=gpus.resource,
            units_per_pod=gpus.units,
            preemption=preemption,
            blockers=tuple(blockers.shown(one) for one in sets[:MOST_SETS]),
            blocker_sets=found.count or len(sets),
            starts_if=remedies.enough,
            not_enough=remedies.partial,
            evidence=main.evidence,
            facts=facts_of(case, findings, claims.devices, inverted),
            since_ms=_since(unit),
            priority=index.world.priority_of(main.spec) if main.spec else 0,
            priority_class=main.spec.priority_class if main.spec else "",
            inverted=blockers.shown(inverted[0]) if inverted else None,
            cluster_queue=str(main.facts.get("cluster_queue", ""))
            or behind.partition("/")[2],
            cohort=behind.removeprefix(_COHORT) if behind.startswith(_COHORT) else "",
            let_in=queue_holders(index, behind) if behind else (),
        )

    def _remedies(self, case: WaitCase) -> Remedies:
        """Pods that are alike in all that decides have the same remedies.

        Units with pods on nodes have own ones among the holders; what an autoscaler or preemption
        does is about one pod. Other overlays than these units have decide nothing.
        """
        unit, finding = case.unit, case.finding
        is_of_one = (
            finding.cause is WaitCause.PREEMPTING or "autoscaler" in finding.facts
        )
        if unit.gang_size is not None or unit.bound or is_of_one:
            return remedies_of(case)
        if not finding.is_by_nodes or Overlay.OWN_ROLLOUT in case.overlays:
            return remedies_of(case)
        verdicts, waiting = id(finding.verdicts), len(unit.waiting)
        key = verdicts, finding.cause, case.preemption, case.gpus, waiting
        if key not in self._known:
            self._known[key] = remedies_of(case)
        return self._known[key]


def _others(findings: list[PodFinding]) -> set[WaitCause]:
    """Causes that keep other nodes off, and those of other pods."""
    main = findings[0]
    found = {one.cause for one in findings}
    for one in findings:
        if (one.stage, one.cause) == (main.stage, main.cause):
            found |= one.contributing
    return found - {main.cause}


def _sets(
    index: WorldIndex, unit: WorkUnit, main: PodFinding, blockers: Blockers
) -> HolderSets:
    victims = main.facts.get("victims")
    if main.cause is WaitCause.PREEMPTING and isinstance(victims, list):
        pods = tuple(index.pod_at[path] for path in victims)
        need = main.verdicts.resources if main.verdicts else {}
        return HolderSets([HolderSet(str(main.facts["nominated"]), pods, need)], 1)
    if main.refusal is not None:
        return blockers.of_quota(unit.namespace, main.refusal)
    if main.verdicts is not None and main.is_by_nodes:
        return blockers.on_nodes(main.verdicts)
    return HolderSets()


def _order(one: tuple[Stage, WaitCause]) -> tuple[int, int]:
    return _STAGES.index(one[0]), _CAUSES.index(one[1])


def _since(unit: WorkUnit) -> int | None:
    pods = unit.waiting or unit.bound
    made = [unit.top.created_ms] if unit.top and not (unit.is_lasting and pods) else []
    made += [pod.created_ms for pod in pods]
    if not made:  # a queue's entry is all that there is of it
        made = [one.created_ms for one in unit.entries]
    return min((one for one in made if one is not None), default=None)


def explain(world: World, unit: WorkUnit) -> WaitExplanation | None:
    """Why one unit waits; an `Explainer` is faster for several units of one world."""
    return Explainer(world).explain(unit)
