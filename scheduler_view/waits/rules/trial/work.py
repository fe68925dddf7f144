"""What must be placed for waiting work to start: a pod, or all members of a gang."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from scheduler_view.waits.rules.cause import BIT, Stage, WaitCause
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.findings import Findings
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.placement.node_room import NodeRoom
from scheduler_view.waits.rules.placement.verdicts import SHORT_OF_GPUS, Verdicts
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject

HOST = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Member:
    """Pods that are alike and must be placed.

    Attributes:
        pod: one of them; made up from the template if none was made yet.
        maker: that has not made them; None if they are there.
    """

    pod: PodObject
    count: int
    maker: ControllerObject | None = None


@dataclass(frozen=True)
class Work:
    """Waiting work and its cause; one pod of the cause, or a gang whole."""

    findings: Findings
    unit: WorkUnit
    finding: PodFinding

    @property
    def index(self) -> WorldIndex:
        """The cluster."""
        return self.findings.index

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """What must be placed; empty for pods that have a node, and if nothing is known of them."""
        unit, finding = self.unit, self.finding
        if finding.stage is Stage.STARTING:
            return ()
        if unit.gang_size is None:
            if finding.pod is not None:
                return (Member(finding.pod, 1),)
            return _missing(finding.maker, 1)
        alike: dict[int, list[PodObject]] = {}
        for pod in unit.waiting:
            alike.setdefault(id(pod.spec), []).append(pod)
        made = (Member(pods[0], len(pods)) for pods in alike.values())
        missing = (m for maker, n in unit.missing for m in _missing(maker, n))
        return (*made, *missing)

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """Of the pods of the cause, including pods that were not created; None if not known."""
        if self.finding.verdicts is not None:
            return self.finding.verdicts
        first = next(iter(self.members), None)
        return None if first is None else self.findings.verdicts(first.pod)

    @property
    def count(self) -> int:
        """Pods that must be placed together."""
        return sum(one.count for one in self.members)

    @cached_property
    def need(self) -> Mapping[str, int]:
        """Thousandths that the largest pod requests, by resource."""
        found: dict[str, int] = {}
        for one in self.members:
            for name, amount in one.pod.spec.requests:
                found[name] = max(amount, found.get(name, 0))
        return found

    @cached_property
    def short_of_gpus(self) -> list[NodeRoom]:
        """Nodes that would be large enough, on which nothing but free GPUs is short."""
        verdicts = self.verdicts
        if verdicts is None:
            return []
        return verdicts.with_mask(
            BIT[WaitCause.NO_FREE_GPU], BIT[WaitCause.FRAGMENTED], SHORT_OF_GPUS
        )

    @cached_property
    def labels(self) -> dict[str, str] | None:
        """Labels that a new node needs; None for work that requires a node by its name."""
        verdicts = self.verdicts
        spec = self.members[0].pod.spec if self.members else PodSpec()
        zones = verdicts.volumes.zones if verdicts else []
        terms = [*(spec.node_terms or ())[:1], *zones]
        labels = dict(spec.node_selector)
        for term in terms:
            for one in term.labels:
                if one.operator == "In" and one.values:
                    labels.setdefault(one.key, one.values[0])
        is_pinned = HOST in labels or any(term.fields for term in terms)
        return None if is_pinned else labels

    def usual(self, resource: str) -> int:
        """The most of a resource that a node with the requested GPUs offers.

        Without any such node, what is requested.
        """
        verdicts = self.verdicts
        if verdicts is None or not len(verdicts.candidates.positions):
            return self.need.get(resource, 0)
        offered = verdicts.table.allocatable(resource)
        return int(offered[verdicts.candidates.positions].max())


def _missing(maker: ControllerObject | None, count: int) -> tuple[Member, ...]:
    if maker is None or maker.template is None:
        return ()
    pod = PodObject("", maker.namespace, "", maker.template, maker.template_labels)
    return (Member(pod, count, maker),)
