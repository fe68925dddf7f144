"""CPU that is free beside free GPUs, and what pods with GPUs require (scheduling.md S25)."""

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler_view.queues.rules.pools import Pools
from scheduler_view.waits.rules.placement.gpu_requests import gpu_request, is_gpu
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.world.nodes import model_of

CPU = "cpu"
CLASS_DAYS = 28  # of pods that count as usual


@dataclass(frozen=True, slots=True)
class FreeCpu:
    """A node with free GPUs.

    Attributes:
        cpu_milli: thousandths of CPUs that no pod requests; 0 if pods request more than it has.
        model: of its product label; empty without one.
    """

    node: str
    cpu_milli: int
    model: str


@dataclass(frozen=True, slots=True)
class PodNeed:
    """What a pod requires of a node besides its GPUs.

    Attributes:
        uid: of the pod.
        cpu_milli: thousandths of CPUs that it requests.
        models: of the nodes that its selector and required affinity accept, sorted; empty if
            they accept every model of its GPU resource.
    """

    uid: str
    cpu_milli: int
    models: tuple[str, ...]


def free_cpus(index: WorldIndex) -> Iterator[FreeCpu]:
    """Nodes with free GPUs whose CPUs are known, by name."""
    for name, room in index.rooms.items():
        if CPU in room.node.allocatable and any(
            free > 0 and is_gpu(resource, index.world.added)
            for resource, free in room.free.items()
        ):
            yield FreeCpu(name, max(0, room.free[CPU]), model_of(room.node.labels))


def pod_needs(index: WorldIndex, pools: Pools) -> Iterator[PodNeed]:
    """Pods on nodes that request GPUs."""
    for pod in index.placed:
        asked = gpu_request(index.world, pod.namespace, pod.spec, pod.claims)
        if asked is None:
            continue
        models = {pool.model for pool in pools.of(asked.resource, pod.spec)}
        every = {pool.model for pool in pools.rooms if pool.resource == asked.resource}
        cpu = dict(pod.spec.requests).get(CPU, 0)
        named = tuple(sorted(models)) if every - models else ()
        yield PodNeed(pod.uid, cpu, named)
