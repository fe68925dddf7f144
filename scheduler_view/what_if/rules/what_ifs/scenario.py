"""What would be different in a what-if: GPUs, policy, quotas, priorities, sharing (S36)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from scheduler_view.what_if.rules.cluster import ReplayNode
from scheduler_view.what_if.rules.recorded import (
    RecordedNode,
    RecordedPod,
    RecordedUnit,
    RecordedWeeks,
)
from scheduler_view.what_if.rules.request import MILLI, ReplayRequest
from scheduler_view.what_if.rules.what_ifs.mig_layout import (
    MigLayout,
    MigLayoutError,
    divided,
    on_instance,
)
from scheduler_view.what_if.rules.what_ifs.spot_share import SpotShare


class ScenarioError(ValueError):
    """A scenario that these weeks cannot be changed to."""


@dataclass(frozen=True, slots=True)
class GpuChange:
    """More or fewer units of a resource and model; whole nodes are added or taken away."""

    model: str
    units: int
    resource: str = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Sharing:
    """Pods with one whole GPU of a team or workload type get a part of it instead.

    Attributes:
        team, workload_type: empty for any; not both.
        milli: thousandths of a GPU.
    """

    milli: int
    team: str = ""
    workload_type: str = ""

    def matches(self, unit: RecordedUnit) -> bool:
        """True if it is for this unit."""
        return self.team in ("", unit.team) and self.workload_type in (
            "",
            unit.workload_type,
        )


@dataclass(frozen=True, slots=True)
class Scenario:
    """A what-if.

    Attributes:
        name: as people call it.
        policy: a policy by its name; empty for the one that was calibrated.
        gpus: nodes to add or take away, during all of the weeks.
        quotas: thousandths of GPUs by team; None for no limit, as for teams that are not named.
        priorities: by tier, instead of the recorded ones.
        sharing: the first that matches a unit counts.
        layouts: nodes whose GPUs are divided; the first that matches a unit counts.
        any_model: pods accept any model of their resource, not only that which they had.
        spot: None: nothing more runs on spot nodes.
    """

    name: str
    policy: str = ""
    gpus: tuple[GpuChange, ...] = ()
    quotas: Mapping[str, int | None] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    sharing: tuple[Sharing, ...] = ()
    layouts: tuple[MigLayout, ...] = ()
    any_model: bool = False
    spot: SpotShare | None = None


def applied(weeks: RecordedWeeks, scenario: Scenario) -> RecordedWeeks:
    """The weeks as they would have been; what would run on spot is still among them.

    Raises:
        ScenarioError: if a model, team or tier is not in the weeks, or not so many GPUs.
    """
    nodes = weeks.nodes
    for change in scenario.gpus:
        nodes = _changed(nodes, change, weeks.end_ms)
    try:
        for layout in scenario.layouts:
            nodes = tuple(divided(nodes, layout))
    except MigLayoutError as error:
        raise ScenarioError(f"{scenario.name}: {error}") from error
    _check_names(weeks, scenario)
    quotas = dict(weeks.quotas)
    for team, limit in scenario.quotas.items():
        quotas.pop(team, None)
        if limit is not None:
            quotas[team] = limit
    models = _models(nodes) if scenario.any_model else {}
    units = tuple(_unit(unit, scenario, models) for unit in weeks.units)
    return replace(weeks, nodes=nodes, units=units, quotas=quotas)


def _check_names(weeks: RecordedWeeks, scenario: Scenario) -> None:
    teams = {unit.team for unit in weeks.units} | {*weeks.quotas}
    tiers = {unit.tier for unit in weeks.units}
    types = {unit.workload_type for unit in weeks.units}
    chosen: list[Sharing | MigLayout] = [*scenario.sharing, *scenario.layouts]
    for what, wanted, known in (
        ("team", {*scenario.quotas} | {one.team for one in chosen}, teams),
        ("tier", {*scenario.priorities}, tiers),
        ("workload type", {one.workload_type for one in chosen}, types),
    ):
        unknown = sorted(wanted - known - {""})
        if unknown:
            raise ScenarioError(
                f"{scenario.name}: no {what} {unknown[0]!r} held GPUs in these weeks"
            )


def _changed(
    nodes: tuple[RecordedNode, ...], change: GpuChange, end_ms: int
) -> tuple[RecordedNode, ...]:
    """Whole nodes added or taken away, until at least so many units are."""
    alike = [
        one
        for one in nodes
        if (one.model, one.resource) == (change.model, change.resource)
        and one.present
        and (one.present[-1][1] is None or one.present[-1][1] >= end_ms)
    ]
    if not alike:
        known = sorted({f"{one.model} ({one.resource})" for one in nodes})
        raise ScenarioError(
            f"no node has {change.model} ({change.resource}); use one of: {', '.join(known)}"
        )
    if change.units >= 0:
        return (*nodes, *_added(alike, change))
    gone: list[RecordedNode] = []
    for one in sorted(alike, key=lambda one: one.node.name, reverse=True):
        if _units(gone) < -change.units:
            gone.append(one)
    if _units(gone) < -change.units:
        raise ScenarioError(
            f"{-change.units} of {change.model} ({change.resource}) cannot be taken away: "
            f"there are {_units(gone)}"
        )
    return tuple(one for one in nodes if one not in gone)


def _units(nodes: Iterable[RecordedNode]) -> int:
    return sum(one.node.gpus for one in nodes)


def _added(alike: list[RecordedNode], change: GpuChange) -> Iterable[RecordedNode]:
    """Nodes of the most common size; of equally common ones the larger."""
    sizes = Counter(one.node.gpus for one in alike)
    size = max(sizes, key=lambda size: (sizes[size], size))
    like = next(one for one in alike if one.node.gpus == size)
    for number in range(-(-change.units // size)):
        name = f"added {number + 1} {like.node.model}"
        node = ReplayNode(name, like.node.cpu_milli, size, like.node.model)
        yield replace(like, node=node, present=((0, None),))


def _models(nodes: Iterable[RecordedNode]) -> dict[str, tuple[str, ...]]:
    """By the name of a resource and model: all such names of the same resource."""
    by_resource: dict[str, set[str]] = {}
    for one in nodes:
        by_resource.setdefault(one.resource, set()).add(one.node.model)
    return {
        name: tuple(sorted(names)) for names in by_resource.values() for name in names
    }


def _unit(
    unit: RecordedUnit, scenario: Scenario, models: Mapping[str, tuple[str, ...]]
) -> RecordedUnit:
    share = next((one for one in scenario.sharing if one.matches(unit)), None)
    layout = next((one for one in scenario.layouts if one.matches(unit)), None)
    pods = unit.pods if layout is None else [on_instance(p, layout) for p in unit.pods]
    return replace(
        unit,
        priority=scenario.priorities.get(unit.tier, unit.priority),
        pods=tuple(_pod(pod, share, models) for pod in pods),
    )


def _pod(
    pod: RecordedPod, share: Sharing | None, models: Mapping[str, tuple[str, ...]]
) -> RecordedPod:
    asked = pod.request
    accepts = tuple(
        sorted({m for one in asked.models for m in models.get(one, (one,))})
    )
    milli, total = asked.gpu_milli, pod.milli
    if share is not None and asked.gpus == 1 and asked.gpu_milli == MILLI:
        milli, total = share.milli, pod.milli * share.milli // MILLI
    request = ReplayRequest(asked.cpu_milli, asked.gpus, milli, accepts)
    return replace(pod, request=request, milli=total)
