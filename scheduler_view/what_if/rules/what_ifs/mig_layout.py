"""Another MIG layout in a what-if: nodes whose GPUs are divided, and pods that use instances."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from accounting.metering.rules.units.gpu_units import share_of
from accounting.metering.rules.units.mig_profiles import normal
from scheduler_view.what_if.rules.cluster import ReplayNode
from scheduler_view.what_if.rules.recorded import (
    RecordedNode,
    RecordedPod,
    RecordedUnit,
)
from scheduler_view.what_if.rules.request import MILLI, ReplayRequest

WHOLE = "nvidia.com/gpu"


class MigLayoutError(ValueError):
    """Nodes that cannot be divided like this."""


@dataclass(frozen=True, slots=True)
class MigLayout:
    """Nodes of a model whose GPUs are divided into instances of one profile.

    Pods with one whole GPU of that model, of a team or workload type, use an instance instead.

    Attributes:
        nodes: how many, those of the largest names.
        profile: such as `1g.10gb`.
        team, workload_type: empty for any.
    """

    model: str
    nodes: int
    profile: str
    team: str = ""
    workload_type: str = ""

    @property
    def resource(self) -> str:
        """Kubernetes' name of an instance."""
        return f"nvidia.com/mig-{self.profile}"

    @property
    def pool(self) -> str:
        """The name of the resource and model, as requests have it."""
        return f"{self.resource} {self.model}"

    @property
    def share(self) -> Fraction:
        """Of one GPU, of an instance: its compute.

        Raises:
            MigLayoutError: if the model has no such profile.
        """
        return self._shares()[0]

    @property
    def on_one_gpu(self) -> int:
        """How many instances a GPU has: as many as its compute and its memory allow."""
        compute, memory = self._shares()
        return min(int(1 / compute), int(1 / memory))

    def _shares(self) -> tuple[Fraction, Fraction]:
        found = share_of(normal(self.profile), self.model)
        if found is None or not self.profile:
            raise MigLayoutError(f"{self.model} has no MIG profile {self.profile!r}")
        return found

    def matches(self, unit: RecordedUnit) -> bool:
        """True if pods of this unit use instances."""
        return self.team in ("", unit.team) and self.workload_type in (
            "",
            unit.workload_type,
        )


def divided(nodes: Sequence[RecordedNode], layout: MigLayout) -> list[RecordedNode]:
    """The nodes, some of them with instances instead of whole GPUs.

    Raises:
        MigLayoutError: if the model has too few nodes with whole GPUs, or no such profile.
    """
    alike = [
        one
        for one in nodes
        if one.share == 1 and (one.model, one.resource) == (layout.model, WHOLE)
    ]
    if len(alike) < layout.nodes:
        raise MigLayoutError(
            f"{layout.nodes} nodes of {layout.model} cannot be divided: there are {len(alike)}"
        )
    alike.sort(key=lambda one: one.node.name, reverse=True)
    chosen = {one.node.name for one in alike[: layout.nodes]}
    return [_divided(one, layout) if one.node.name in chosen else one for one in nodes]


def _divided(one: RecordedNode, layout: MigLayout) -> RecordedNode:
    name = one.node.name.removesuffix(WHOLE) + layout.resource
    units = one.node.gpus * layout.on_one_gpu
    node = ReplayNode(name, one.node.cpu_milli, units, layout.pool)
    return replace(one, node=node, resource=layout.resource, share=layout.share)


def on_instance(pod: RecordedPod, layout: MigLayout) -> RecordedPod:
    """The pod on an instance, if it had one whole GPU of the model; else unchanged."""
    asked = pod.request
    is_one = asked.gpus == 1 and asked.gpu_milli == MILLI
    if not is_one or f"{WHOLE} {layout.model}" not in asked.models:
        return pod
    request = ReplayRequest(asked.cpu_milli, 1, MILLI, (layout.pool,))
    return replace(pod, request=request, milli=round(MILLI * layout.share))
