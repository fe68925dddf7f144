"""What waits in the pools of a cluster, in the order in which it is served (scheduling.md S17)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler_view.queues.rules.pools import Pools, ResourcePool
from scheduler_view.queues.rules.shortages import QuotaShortage, shortage_of
from scheduler_view.waits.rules.cause import Stage, WaitCause
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.placement.gpu_requests import gpu_request
from scheduler_view.waits.rules.placement.packing import Shape, shape_of
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject

Subject = tuple[str, str, str]  # kind, namespace, name
UNSERVED = frozenset(
    {
        *(WaitCause.NO_MATCHING_NODE, WaitCause.TAINT, WaitCause.TOO_BIG),
        *(WaitCause.RESOURCE_UNKNOWN, WaitCause.NO_DEVICE_PLUGIN, WaitCause.NO_NODES),
    }
)
"""Causes for which no node could take the work, whatever ends: it is in no line."""


@dataclass(frozen=True)
class QueuedUnit:
    """One unit that waits, is refused or is held back.

    Attributes:
        since_ms: when it was admitted, else made; 0 if unknown.
        pods: pods that wait, by shape; empty if their devices cannot be counted here.
        units: GPUs that all of them request.
        is_gang: its pods are of use only together.
        pools: in which it waits.
    """

    subject: Subject
    uid: str
    priority: int
    tier: str
    since_ms: int
    stage: Stage
    cause: WaitCause
    resource: str
    pods: tuple[tuple[Shape, int], ...]
    units: int
    is_gang: bool
    pools: tuple[ResourcePool, ...]

    @property
    def order(self) -> tuple[int, int, str]:
        """S17: priority descending, then admitted or made, then uid."""
        return -self.priority, self.since_ms, self.uid


@dataclass(frozen=True, slots=True)
class Position:
    """The rank of a unit in one pool, from 1, among `count` units that wait there.

    Attributes:
        rank: None for work that no end of other work serves.
    """

    pool: ResourcePool
    rank: int | None
    count: int


def positions_of(units: Iterable[QueuedUnit]) -> dict[Subject, Position]:
    """The best rank of each unit among its pools; back-off may let later pods go first.

    Work that no node could take is in no line; of several pools it has none.
    """
    lines: dict[ResourcePool, list[QueuedUnit]] = {}
    for unit in sorted(units, key=lambda one: one.order):
        for pool in unit.pools:
            lines.setdefault(pool, []).append(unit)
    found: dict[Subject, Position] = {}
    for pool, line in sorted(lines.items()):
        served = [unit for unit in line if unit.cause not in UNSERVED]
        for rank, unit in enumerate(served, start=1):
            best = found.get(unit.subject)
            if best is None or best.rank is None or rank < best.rank:
                found[unit.subject] = Position(pool, rank, len(served))
        for unit in line:
            own = pool if len(unit.pools) == 1 else ResourcePool(pool.resource)
            found.setdefault(unit.subject, Position(own, None, len(served)))
    return found


class QueueReader:
    """Reads queued units from the explanations of one cluster.

    Args:
        admitted: when units were admitted, by kind, namespace and name.
    """

    def __init__(
        self, explainer: Explainer, admitted: Mapping[Subject, int | None]
    ) -> None:
        self._explainer, self._admitted = explainer, admitted
        self.index = explainer.index
        self.pools = Pools(explainer.index)
        self._units = {
            (_kind(unit), unit.namespace, unit.name): unit
            for unit in explainer.index.units
        }
        self._shapes: dict[tuple[int, str], Shape] = {}

    def read(self, explanations: Iterable[WaitExplanation]) -> list[QueuedUnit]:
        """Units of which no pod is only starting, in the order of S17."""
        found = [
            self._queued(one, self._units[one.kind, one.namespace, one.name])
            for one in explanations
            if one.stage is not Stage.STARTING
        ]
        return sorted(found, key=lambda one: one.order)

    def shortages(self, units: Iterable[QueuedUnit]) -> dict[Subject, QuotaShortage]:
        """Quotas that refuse units, by subject."""
        refused = [one.subject for one in units if one.cause is WaitCause.QUOTA]
        found = {key: shortage_of(self._explainer, self._units[key]) for key in refused}
        return {key: one for key, one in found.items() if one is not None}

    def _queued(self, one: WaitExplanation, unit: WorkUnit) -> QueuedUnit:
        subject = one.kind, one.namespace, one.name
        shapes: dict[Shape, int] = {}
        pools: dict[ResourcePool, None] = {}
        units, is_countable = 0, True
        for pod, count in _waiting(unit):
            request = gpu_request(
                self._explainer.index.world, pod.namespace, pod.spec, pod.claims
            )
            resource = request.resource if request is not None else ""
            if request is not None:
                units += (request.units or 0) * count
                pools |= dict.fromkeys(self.pools.of(resource, pod.spec))
            if pod.spec.claims:
                is_countable = False
            else:
                shape = self._shape(pod, resource)
                shapes[shape] = shapes.get(shape, 0) + count
        admitted = self._admitted.get(subject)
        return QueuedUnit(
            subject,
            unit.top.uid if unit.top else (unit.pods[0].uid if unit.pods else ""),
            one.priority,
            one.priority_class,
            (one.since_ms or 0) if admitted is None else admitted,
            one.stage,
            one.cause,
            one.resource,
            tuple(shapes.items()) if is_countable else (),
            units,
            unit.gang_size is not None,
            tuple(pools) or (ResourcePool(one.resource),),
        )

    def _shape(self, pod: PodObject, resource: str) -> Shape:
        verdicts = self._explainer.findings.verdicts(pod)
        key = id(verdicts), resource
        if key not in self._shapes:
            self._shapes[key] = shape_of(verdicts, resource)
        return self._shapes[key]


def _kind(unit: WorkUnit) -> str:
    return unit.subject.partition("/")[0]


def _waiting(unit: WorkUnit) -> list[tuple[PodObject, int]]:
    """One pod of each kind that waits, with how many; including pods that were not created."""
    found: dict[int, tuple[PodObject, int]] = {}
    for pod in unit.waiting:
        first, count = found.get(id(pod.spec), (pod, 0))
        found[id(pod.spec)] = first, count + 1
    return [
        *found.values(),
        *(
            (_like(maker.namespace, maker.template, maker.template_labels), count)
            for maker, count in unit.missing
            if maker.template is not None
        ),
    ]


def _like(namespace: str, spec: PodSpec, labels: Mapping[str, str]) -> PodObject:
    return PodObject("", namespace, "", spec, labels)
