"""One simulated pod, from its creation to the deletion of its object, and its seats."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from portal.demo.scenario.fleet import NodeObject
from portal.demo.scenario.gpu_partitioning import PartitionUnit
from portal.demo.scenario.noise import code_of

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
        series: name, slot and number of work of which the next follows when this one ends.
        index: of the member of an Indexed Job; None for other pods.
        limit: its label `max-duration`; empty: none.
        image: what cannot be pulled, so that it never runs; empty: its image is there.
        model: the only model that it accepts; empty: those of its pools.
        unused: of its units, how many it never uses.
        tail_s: at its end, how long its process does not use its GPUs.
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
    series: tuple[str, int, int] | None = None
    index: int | None = None
    limit: str = ""
    image: str = ""
    model: str = ""
    unused: int = 0
    tail_s: int = 0


@dataclass(frozen=True, slots=True)
class QuotaRefusal:
    """A controller whose pods a quota refused, and the number of times.

    Attributes:
        missing: names of the pods that it could not make, by serial.
        used, hard: of its quota at the last refusal.
    """

    request: Request
    missing: frozenset[str]
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
    job: "SimulatedJob | None" = None  # of which it is a member
    bound_s: int | None = None
    node: NodeObject | None = None
    units: tuple[int, ...] = field(default=())  # indices among those of its node
    ended_s: int | None = None
    phase: str = ""  # Succeeded or Failed; empty: it was deleted
    gone_s: int | None = None
    preempted_s: int | None = None  # since when it is ending for another pod
    preemptor: "SimulatedPod | None" = None
    nominated: NodeObject | None = None  # where pods end for it

    def is_seen(self, at_s: int) -> bool:
        """True while the API server has the object."""
        return self.created_s <= at_s and (self.gone_s is None or at_s < self.gone_s)

    def is_bound(self, at_s: int) -> bool:
        """True from the bind on."""
        return self.bound_s is not None and self.bound_s <= at_s

    def is_ending(self, at_s: int) -> bool:
        """True during the grace period of a preemption."""
        return self.preempted_s is not None and self.preempted_s <= at_s

    def is_stuck(self, at_s: int) -> bool:
        """True while its image cannot be pulled."""
        return bool(self.request.image) and self.is_bound(at_s)

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


@dataclass(slots=True, eq=False)
class SimulatedJob:
    """A Job whose pods are of use only together, held back by a queue until there is quota.

    Attributes:
        requests: of its members.
        queue: its LocalQueue; empty: none.
        left_s: work that remains once all members are bound.
        admitted_s: when its pods may be made; None while its queue holds it back.
        together: when all members were bound: start, and end or None.
    """

    requests: tuple[Request, ...]
    queue: str
    created_s: int
    left_s: int
    uid: str
    admitted_s: int | None = None
    ended_s: int | None = None
    pods: list[SimulatedPod] = field(default_factory=list)  # of all attempts
    members: dict[int, SimulatedPod] = field(default_factory=dict)  # that are bound
    together: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """Where it is."""
        return self.requests[0].namespace

    @property
    def name(self) -> str:
        """Of the Job."""
        return self.requests[0].owner.name

    @property
    def gpus(self) -> int:
        """Units that all members request."""
        return sum(one.gpus for one in self.requests)

    @property
    def is_complete(self) -> bool:
        """True while all members are bound and work."""
        return bool(self.together) and self.together[-1][1] is None

    def is_shown(self, at_s: int) -> bool:
        """True while the API server has the object."""
        ended = self.ended_s is not None and self.ended_s + FINISHED_S <= at_s
        return self.created_s <= at_s and not ended


def again(request: Request, run_s: int | None) -> Request:
    """The same request for a new pod: a StatefulSet keeps the name, a Job does not."""
    serial, name = f"{request.serial}+", request.name
    if request.owner.kind == "Job":
        stem = name.rpartition("-")[0]
        name = f"{stem}-{code_of(5, request.owner.name, name, serial)}"
    return replace(request, name=name, serial=serial, run_s=run_s)


@dataclass(slots=True)
class Seat:
    """One unit of one node: its holders, in order of time."""

    node: NodeObject
    index: int  # among the node's units
    unit: PartitionUnit
    pods: list[SimulatedPod] = field(default_factory=list)
    holder: SimulatedPod | None = None
