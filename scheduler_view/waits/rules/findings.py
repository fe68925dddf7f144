"""Findings of the pods of a unit: table A in its order, then the verdicts of nodes (S7-S9)."""

from dataclasses import replace

from scheduler_view.waits.rules.autoscalers import with_autoscaler
from scheduler_view.waits.rules.cause import Stage, WaitCause
from scheduler_view.waits.rules.claim_nodes import claim_elsewhere
from scheduler_view.waits.rules.explanation import Evidence
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.instants import held_group
from scheduler_view.waits.rules.node_notes import Notes, notes_of_nodes
from scheduler_view.waits.rules.placement.demand import Demand
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.verdicts import (
    Verdicts,
    demand_of,
    verdicts_of,
)
from scheduler_view.waits.rules.placement.volume_rules import volume_fault
from scheduler_view.waits.rules.queue_waits import queued
from scheduler_view.waits.rules.refusals import (
    AdmissionRefusal,
    refusal_of_claim,
    refusal_of_maker,
)
from scheduler_view.waits.rules.starting import (
    findings_of_starting,
    is_after,
    of_failed,
)
from scheduler_view.waits.rules.units import STILL_TRIES_MS, WorkUnit, queue_of
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.events import NO_CLAIM
from scheduler_view.waits.rules.world.pod_spec import DEFAULT_SCHEDULER, PodSpec
from scheduler_view.waits.rules.world.pods import PodObject

MOST_TRIED = 512  # specs of trials whose verdicts are kept
_Key = tuple[str, int, tuple[tuple[str, str], ...]]
RETRY_MS = 360_000  # the scheduler tries everything again within this time
_QUEUE_GATES = ("kueue.x-k8s.io/", "scheduling.volcano.sh/")
_CLAIMS = "cannot allocate all claims"


class Findings:
    """Findings of pods and of makers; verdicts of equal demands are computed once."""

    def __init__(self, index: WorldIndex) -> None:
        self.index = index
        self._notes: dict[int, Notes] = {}
        self._specs: dict[PodSpec, PodSpec] = {}  # of trials, each once
        self._tried: dict[_Key, Verdicts] = {}
        self._tried_specs: set[int] = set()
        self._known: dict[_Key, Verdicts] = {}

    def verdicts(self, pod: PodObject) -> Verdicts:
        """The verdicts of a pod; pods of a world share their specs, so identity is enough."""
        demand = demand_of(self.index, pod)
        key = demand.namespace, id(demand.spec), demand.labels
        known = self._tried if id(demand.spec) in self._tried_specs else self._known
        if key not in known:
            known[key] = verdicts_of(self.index, demand)
        return known[key]

    def with_spec(self, pod: PodObject, spec: PodSpec) -> PodObject:
        """A pod as it would be with another spec; equal ones share their verdicts for a while."""
        if spec is pod.spec or spec == pod.spec:
            return pod
        if len(self._specs) >= MOST_TRIED:
            for one in (self._specs, self._tried, self._tried_specs):
                one.clear()
        spec = self._specs.setdefault(spec, spec)
        self._tried_specs.add(id(spec))
        return replace(pod, spec=spec)

    def _notes_of(self, verdicts: Verdicts) -> Notes:
        if id(verdicts) not in self._notes:
            self._notes[id(verdicts)] = notes_of_nodes(self.index, verdicts)
        return self._notes[id(verdicts)]

    def of_unit(self, unit: WorkUnit) -> list[PodFinding]:
        """One finding for each kind of waiting pod, for each maker that misses pods.

        If no pod waits, the pods that are starting decide.
        """
        found = [self.of_pod(unit, pod) for pod in unit.waiting]
        found += [
            one
            for maker, count in unit.missing
            if (one := self.of_missing(unit, maker, count)) is not None
        ]
        return found or findings_of_starting(self.index, unit)

    def of_pod(self, unit: WorkUnit, pod: PodObject) -> PodFinding:
        """Table A in its order, then the verdicts of the nodes."""
        base = PodFinding(
            Stage.HELD_BACK,
            WaitCause.OTHER,
            spec=pod.spec,
            pod=pod,
            evidence=tuple(_condition(pod)),
        )
        if pod.spec.gates:
            return self._gated(unit, base, pod)
        group = held_group(unit)
        if group is not None:
            return queued(self.index, unit, replace(base, name=group.queue))
        fault = self._claim_fault(base, pod)
        if fault is not None:
            return fault
        if pod.scheduled is None:
            return replace(base, cause=WaitCause.NOT_TRIED, name=pod.spec.scheduler)
        base = replace(base, stage=Stage.UNSCHEDULABLE)
        return with_autoscaler(self.index, pod, self._unschedulable(unit, base, pod))

    def of_missing(
        self, unit: WorkUnit, maker: ControllerObject, count: int
    ) -> PodFinding | None:
        """Why a controller has not made some of its pods; None if they are not due yet."""
        base = PodFinding(
            Stage.HELD_BACK, WaitCause.OTHER, count, spec=maker.template, maker=maker
        )
        if maker.is_suspended:
            queue = queue_of(unit)
            if queue:
                return queued(self.index, unit, replace(base, name=queue))
            return replace(base, cause=WaitCause.SUSPENDED)
        refusal = refusal_of_maker(self.index, unit, maker)
        world = self.index.world
        if "Pod" in world.unread and (
            refusal is None or refusal.at_ms < world.now_ms - STILL_TRIES_MS
        ):
            return None  # its pods may be there
        failed = self.index.failed_pods(maker)
        if refusal is not None and not is_after(failed, refusal.at_ms):
            return replace(
                base,
                stage=Stage.REFUSED,
                cause=refusal.cause,
                refusal=refusal,
                name=refusal.name,
                evidence=(_said(refusal),),
            )
        recent = world.now_ms - STILL_TRIES_MS
        if failed and (not unit.pods or is_after(failed, recent)):
            return of_failed(base, maker, failed)
        return None if unit.pods else base

    def _gated(self, unit: WorkUnit, base: PodFinding, pod: PodObject) -> PodFinding:
        gates = list(pod.spec.gates)
        others = [one for one in gates if not one.startswith(_QUEUE_GATES)]
        base = replace(base, facts={"gates": gates})
        if others:
            return replace(base, cause=WaitCause.GATED, name=others[0])
        return queued(self.index, unit, replace(base, name=queue_of(unit)))

    def _claim_fault(self, base: PodFinding, pod: PodObject) -> PodFinding | None:
        world, made = self.index.world, dict(pod.claims)
        for one in pod.spec.claims:
            if one.claim:
                if (pod.namespace, one.claim) not in world.claims and (
                    "ResourceClaim" not in world.unread
                ):
                    return _without_claim(base, one.claim, "claim")
            elif one.template and one.name not in made:
                refusal = refusal_of_claim(self.index, pod)
                if refusal is not None:
                    return replace(
                        base,
                        stage=Stage.REFUSED,
                        cause=refusal.cause,
                        refusal=refusal,
                        name=refusal.name,
                        evidence=(_said(refusal),),
                    )
                return self._without_template(base, pod, one.template)
        return None

    def _without_template(
        self, base: PodFinding, pod: PodObject, template: str
    ) -> PodFinding | None:
        world = self.index.world
        event = self.index.newest_event(
            NO_CLAIM, "Pod", pod.namespace, pod.name, pod.uid
        )
        said: tuple[Evidence, ...] = ()
        if event is not None:
            about = f"Event/Pod {pod.path} {NO_CLAIM}"
            said = (Evidence(about, "message", event.message, event.at_ms),)
        is_absent = (pod.namespace, template) not in world.templates
        if event is not None or (
            is_absent and "ResourceClaimTemplate" not in world.unread
        ):
            return replace(_without_claim(base, template, "template"), evidence=said)
        return None

    def _unschedulable(
        self, unit: WorkUnit, base: PodFinding, pod: PodObject
    ) -> PodFinding:
        world = self.index.world
        if not world.nodes:
            cause = WaitCause.OTHER if "Node" in world.unread else WaitCause.NO_NODES
            return replace(base, cause=cause)
        verdicts = self.verdicts(pod)
        causes = {verdicts.cause, *verdicts.contributing} - {WaitCause.RETRY_PENDING}
        victims = self.victims(pod)
        if victims:
            return replace(
                base,
                cause=WaitCause.PREEMPTING,
                contributing=frozenset(causes),
                verdicts=verdicts,
                facts={
                    "nominated": pod.nominated,
                    "victims": [one.path for one in victims],
                },
            )
        base = replace(base, verdicts=verdicts)
        return (
            self._volume_fault(base, verdicts.demand)
            or self._device_fault(base, pod, verdicts)
            or self._of_verdicts(unit, base, pod, verdicts)
        )

    def victims(self, pod: PodObject) -> list[PodObject]:
        """Pods of lower priority that are ending on the node that preemption chose."""
        room = self.index.rooms.get(pod.nominated) if pod.nominated else None
        if room is None:
            return []
        own = self.index.world.priority_of(pod.spec)
        return [
            one
            for one in room.pods
            if one.is_ending and self.index.world.priority_of(one.spec) < own
        ]

    def _volume_fault(self, base: PodFinding, demand: Demand) -> PodFinding | None:
        fault = volume_fault(self.index, demand)
        if fault is None:
            return None
        facts = {"volume": fault.name}
        return replace(base, cause=fault.cause, name=fault.name, facts=facts)

    def _device_fault(
        self, base: PodFinding, pod: PodObject, verdicts: Verdicts
    ) -> PodFinding | None:
        world, made = self.index.world, dict(pod.claims)
        claims = [
            claim
            for one in pod.spec.claims
            if (
                claim := world.claims.get(
                    (pod.namespace, one.claim or made.get(one.name, ""))
                )
            )
        ]
        for claim in claims:
            for request in claim.requests:
                named = request.device_class
                if named not in world.device_classes and (
                    named and "DeviceClass" not in world.unread
                ):
                    facts = {"missing": named}
                    return replace(
                        base,
                        cause=WaitCause.DEVICE_CLASS_MISSING,
                        name=named,
                        facts=facts,
                    )
        elsewhere = claim_elsewhere(self.index, base, claims, verdicts)
        if elsewhere is not None:
            return elsewhere
        short = next((one for one in claims if not one.is_allocated), None)
        message = pod.scheduled.message if pod.scheduled else ""
        if short is not None and (
            _CLAIMS in message or verdicts.cause is WaitCause.RETRY_PENDING
        ):
            return replace(base, cause=WaitCause.CLAIM_UNALLOCATABLE, name=short.name)
        return None

    def _of_verdicts(
        self, unit: WorkUnit, base: PodFinding, pod: PodObject, verdicts: Verdicts
    ) -> PodFinding:
        cause = verdicts.cause
        if cause is WaitCause.RETRY_PENDING and not self._may_be_retried(unit, pod):
            cause = WaitCause.OTHER
        contributing = (
            frozenset() if verdicts.cause is not cause else verdicts.contributing
        )
        if cause is WaitCause.RETRY_PENDING:
            return replace(base, cause=cause)
        notes = self._notes_of(verdicts)
        silent = frozenset(
            {WaitCause.NO_DEVICE_PLUGIN} if "silent_nodes" in notes else ()
        )
        if silent and cause is WaitCause.RESOURCE_UNKNOWN:
            cause, silent = WaitCause.NO_DEVICE_PLUGIN, frozenset()
        return replace(
            base, cause=cause, contributing=contributing | silent, facts=notes
        )

    def _may_be_retried(self, unit: WorkUnit, pod: PodObject) -> bool:
        """Whether the scheduler of Kubernetes looked at nodes, and may not have tried again yet."""
        world = self.index.world
        since = world.free_since_ms.get(unit.subject, world.now_ms)
        message = pod.scheduled.message if pod.scheduled else ""
        is_known = pod.spec.scheduler == DEFAULT_SCHEDULER and not message
        return (
            "nodes are available" in message or is_known
        ) and world.now_ms - since <= RETRY_MS


def _without_claim(base: PodFinding, name: str, kind: str) -> PodFinding:
    facts = {"missing": name, "missing_kind": kind}
    return replace(base, cause=WaitCause.CLAIM_MISSING, name=name, facts=facts)


def _condition(pod: PodObject) -> list[Evidence]:
    said = pod.scheduled
    if said is None or not (said.message or said.reason):
        return []
    return [
        Evidence(
            f"Pod/{pod.path}",
            "status.conditions[PodScheduled].message",
            said.message or said.reason,
            said.since_ms,
        )
    ]


def _said(refusal: AdmissionRefusal) -> Evidence:
    return Evidence(refusal.subject, "message", refusal.message, refusal.at_ms or None)
