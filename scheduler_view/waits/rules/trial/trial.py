"""Tries changes: whether waiting work starts with them, and else what remains (S13).

The one evaluation of every remedy: the pods of the work are let in, released and placed again with
the changes carried out. A gang counts whole; of other work one pod.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from scheduler_view.waits.rules.cause import Stage, WaitCause
from scheduler_view.waits.rules.explanation import WaitChange
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.findings import Findings
from scheduler_view.waits.rules.placement.devices import (
    driver_of,
    offered_devices,
    short_request,
)
from scheduler_view.waits.rules.trial.admission import (
    Entrant,
    entrants_of,
    ranges_of,
    said_limit,
    short_quotas,
    violations,
)
from scheduler_view.waits.rules.trial.changed import Changed
from scheduler_view.waits.rules.trial.effects import apply
from scheduler_view.waits.rules.trial.obstacle import Obstacle, of_limit, of_quota
from scheduler_view.waits.rules.trial.places import Places, Seeker
from scheduler_view.waits.rules.trial.work import Work
from scheduler_view.waits.rules.units import WorkUnit

_FOUND_AGAIN = frozenset(
    {
        *(WaitCause.QUOTA, WaitCause.SCOPE_QUOTA, WaitCause.QUOTA_OTHER),
        *(WaitCause.LIMIT_RANGE, WaitCause.VOLUME_MISSING, WaitCause.VOLUME_UNBOUND),
        *(WaitCause.NO_NODES, WaitCause.RESOURCE_UNKNOWN),
        WaitCause.NO_DEVICE_PLUGIN,
    }
)
"""Causes that each attempt finds again, as it does those of nodes."""


class Trial:
    """Tries changes for one unit."""

    def __init__(self, findings: Findings, unit: WorkUnit, finding: PodFinding) -> None:
        self.work = Work(findings, unit, finding)

    def starts(self, changes: Iterable[WaitChange]) -> bool:
        """Whether the work starts with these changes, and nothing else."""
        return self._attempt(changes).starts()

    def remains(self, changes: Iterable[WaitChange]) -> tuple[Obstacle, ...]:
        """What still keeps it from starting; empty if it starts."""
        return tuple(self._attempt(changes).obstacles())

    def first(self) -> tuple[Obstacle, ...]:
        """What keeps it now, without the numbers of nodes, which the explanation has."""
        return tuple(self._attempt(()).obstacles(is_described=False))

    def _attempt(self, changes: Iterable[WaitChange]) -> "_Attempt":
        changed = Changed(self.work)
        apply(changed, changes)
        return _Attempt(changed)


class _Attempt:
    """One course of events."""

    def __init__(self, changed: Changed) -> None:
        self._changed, self._work = changed, changed.work

    def starts(self) -> bool:
        if self._changed.is_satisfied:
            return True
        if any(True for _ in self._before_nodes()):
            return False
        places = self._places
        return places is None or (places.fault() is None and places.fit())

    def obstacles(self, *, is_described: bool = True) -> Iterator[Obstacle]:
        if self._changed.is_satisfied:
            return
        yield from self._before_nodes()
        places = self._places
        if places is not None:
            fault = places.fault()
            if fault is not None:
                yield fault
            elif not places.fit():
                yield places.obstacle(is_described=is_described)

    def _before_nodes(self) -> Iterator[Obstacle]:
        finding = self._work.finding
        if not self._is_cleared(finding):
            yield Obstacle(finding.cause, {"name": finding.name})
        yield from self._limits()
        for one in short_quotas(self._changed, self._entrants):
            yield of_quota(self._work.index, one)

    def _is_cleared(self, finding: PodFinding) -> bool:
        """Whether the cause is gone, or is one that is found again where it still holds."""
        cause, changed = finding.cause, self._changed
        is_of_nodes = finding.is_by_nodes and cause is not WaitCause.PREEMPTING
        if cause in changed.cleared or cause in _FOUND_AGAIN or is_of_nodes:
            return True
        if cause is WaitCause.PREEMPTING:
            victims = finding.facts["victims"]
            ended = {pod.path for pod in changed.ended.values()}
            return isinstance(victims, list) and ended.issuperset(victims)
        if cause is WaitCause.GATED:
            return finding.spec is not None and not changed.spec(finding.spec).gates
        if cause is WaitCause.CLAIM_UNALLOCATABLE:
            return self._has_devices(finding)
        if finding.stage is Stage.STARTING and cause is WaitCause.NODE_NOT_READY:
            return self._is_made_again or self._is_on_a_ready_node(finding)
        return False

    def _is_on_a_ready_node(self, finding: PodFinding) -> bool:
        node = self._changed.node(finding.pod.node) if finding.pod else None
        return node is not None and node.is_ready

    @property
    def _is_made_again(self) -> bool:
        pod = self._work.finding.pod
        return pod is not None and pod.uid in self._changed.ended

    def _has_devices(self, finding: PodFinding) -> bool:
        """Whether a node has enough devices for the claim that waits, once pods have ended."""
        if not self._changed.ended and self._changed.devices is None:
            return False  # free ones that its selector does not match are of no use
        index, pod = self._work.index, finding.pod
        claim = pod and index.world.claims.get((pod.namespace, finding.name))
        if not claim or not claim.requests:
            return False
        request = short_request(index, claim)
        driver = driver_of(index, request)
        need = self._changed.devices or request.count
        ended = self._changed.ended.values()
        return any(
            total
            - taken
            + sum(
                index.devices_held(one, driver)
                for one in ended
                if one.node == room.node.name
            )
            >= need
            for room, total, taken in offered_devices(index, driver)
        )

    @cached_property
    def _entrants(self) -> list[Entrant]:
        return entrants_of(self._changed)

    def _limits(self) -> Iterator[Obstacle]:
        refusal = self._work.finding.refusal
        ranges = ranges_of(self._changed)
        known = [one for one in self._entrants if one.asks] if ranges else []
        for entrant in known:
            for one in violations(entrant.asks, ranges):
                yield of_limit(one)
        if (
            refusal is not None
            and refusal.cause is WaitCause.LIMIT_RANGE
            and not known
            and WaitCause.LIMIT_RANGE not in self._changed.cleared
        ):
            yield of_limit(said_limit(refusal, self._work.unit.namespace))

    @cached_property
    def _places(self) -> Places | None:
        """The search for nodes; None if it is not known what must be placed, or nothing must."""
        work, changed = self._work, self._changed
        is_new = work.finding.stage is not Stage.UNSCHEDULABLE or bool(changed.specs)
        seekers = []
        entrants = {id(one.member): one.spec for one in self._entrants}
        for member in work.members:
            spec = entrants.get(id(member)) or changed.spec(member.pod.spec)
            pod = work.findings.with_spec(member.pod, spec)
            seekers.append(Seeker(pod, member.count, is_new))
        if self._is_made_again and work.finding.pod is not None and not seekers:
            seekers = [Seeker(replace(work.finding.pod, node=""), 1, is_new=True)]
        if not seekers or "Node" in work.index.world.unread:
            return None
        return Places(changed, seekers)
