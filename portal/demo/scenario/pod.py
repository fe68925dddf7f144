"""One simulated pod, from its creation to the deletion of its object, and its seats."""

from dataclasses import dataclass, field
from enum import StrEnum

from portal.demo.scenario.fleet import NodeObject
from portal.demo.scenario.gpu_partitioning import PartitionUnit

FINISHED_S = 900  # ttlSecondsAfterFinished: how long a finished Job's pod exists


class WorkloadType(StrEnum):
    """The purpose of a pod: the value of its workload type label."""

    TRAINING = "training"
    INFERENCE = "inference"
    NOTEBOOK = "notebook"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller: kind and name; `above` is the controller's own controller."""

    kind: str
    name: str
    above: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the cluster.

    Attributes:
        serial: part of the pod's uid: names repeat, uids do not.
        pools: possible pools, the preferred one first; all with one resource.
        run_s: duration after the bind; None: until it is stopped.
        stop_s: when it is stopped, running or not; None: never.
        utilization: of its GPUs while it is active, 0 to 1.
    """

    namespace: str
    name: str
    serial: str
    kind: WorkloadType
    owner: Controller
    gpus: int  # units: whole GPUs, instances or replicas
    pools: tuple[str, ...]
    person: str
    tier: str
    utilization: float
    run_s: int | None = None
    stop_s: int | None = None


@dataclass(frozen=True, slots=True)
class QuotaRefusal:
    """A controller whose pod a quota refused, and the number of times.

    Attributes:
        used, hard: of its quota at the last refusal.
    """

    request: Request
    first_s: int
    last_s: int
    count: int
    used: int
    hard: int


@dataclass(slots=True, eq=False)
class SimulatedPod:
    """A request that became an object; times in Unix seconds, None while not known."""

    request: Request
    uid: str
    key: int  # of its noise
    created_s: int
    memory_share: float  # of each GPU's memory
    class_name: str = ""  # its PriorityClass
    bound_s: int | None = None
    node: NodeObject | None = None
    units: tuple[int, ...] = field(default=())  # indices among those of its node
    ended_s: int | None = None
    phase: str = ""  # Succeeded or Failed; empty: it was deleted
    gone_s: int | None = None

    def is_seen(self, at_s: int) -> bool:
        """True while the API server has the object."""
        return self.created_s <= at_s and (self.gone_s is None or at_s < self.gone_s)

    def is_bound(self, at_s: int) -> bool:
        """True from the bind on."""
        return self.bound_s is not None and self.bound_s <= at_s

    def holds(self, at_s: int) -> bool:
        """True while it holds its GPUs."""
        return self.is_bound(at_s) and (self.ended_s is None or at_s < self.ended_s)

    def has_finished(self, at_s: int) -> bool:
        """True once it has a terminal phase."""
        return bool(self.phase) and self.ended_s is not None and self.ended_s <= at_s

    def end(self, at_s: int, phase: str) -> None:
        """End it: a terminal phase stays visible for a while, a deletion does not."""
        self.ended_s = at_s
        self.phase = phase
        self.gone_s = at_s + (FINISHED_S if phase else 0)


@dataclass(slots=True)
class Seat:
    """One unit of one node: its holders, in order of time."""

    node: NodeObject
    index: int  # among the node's units
    unit: PartitionUnit
    pods: list[SimulatedPod] = field(default_factory=list)
    holder: SimulatedPod | None = None
