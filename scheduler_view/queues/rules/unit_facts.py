"""What the specs of a unit say that later rules need: priority, request, retries, deadline."""

from collections.abc import Iterator

from scheduler_view.waits.rules.placement.gpu_requests import gpu_request
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.nodes import model_of
from scheduler_view.waits.rules.world.pod_spec import PodSpec
from scheduler_view.waits.rules.world.pods import PodObject


def unit_facts(index: WorldIndex, unit: WorkUnit) -> dict[str, str | int | None]:
    """Columns of a wait record that follow from specs alone, cut to their lengths.

    `resource` and `model` are those of its first pod with GPUs that has a node, else empty.
    `deadline_s` is the smallest `activeDeadlineSeconds` of its pods and its Job.
    """
    world = index.world
    pods = (*unit.waiting, *unit.bound)
    spec = next(_specs(unit, pods), None)
    units = [
        request.units or 0
        for pod in pods
        if (request := gpu_request(world, pod.namespace, pod.spec, pod.claims))
    ] or [
        request.units or 0
        for maker in unit.makers
        if maker.template is not None
        and (request := gpu_request(world, maker.namespace, maker.template))
    ]
    owners = [*([unit.top] if unit.top else []), *unit.makers]
    retries = [one.backoff_limit for one in owners if one.backoff_limit is not None]
    deadlines = [
        found
        for found in (
            *(one.deadline_s for one in owners),
            *(pod.spec.deadline_s for pod in pods),
        )
        if found is not None
    ]
    resource, model = _pool(index, unit)
    return {
        "tier": spec.priority_class[:253] if spec is not None else "",
        "priority": None if spec is None else world.priority_of(spec),
        "pod_units": max(units, default=0),
        "backoff_limit": max(retries, default=None),
        "deadline_s": min(deadlines, default=None),
        "resource": resource[:317],
        "model": model[:253],
    }


def _specs(unit: WorkUnit, pods: tuple[PodObject, ...]) -> Iterator[PodSpec]:
    yield from (pod.spec for pod in pods)
    yield from (one.template for one in unit.makers if one.template is not None)


def _pool(index: WorldIndex, unit: WorkUnit) -> tuple[str, str]:
    for pod in unit.bound:
        request = gpu_request(index.world, pod.namespace, pod.spec, pod.claims)
        room = index.rooms.get(pod.node)
        if request is not None and room is not None:
            return request.resource, model_of(room.node.labels)
    return "", ""
