"""What happened in a random small fleet: values only. `draws` draws them."""

from dataclasses import dataclass, field

from tests.builders import HOUR_ZERO
from tests.oracle.samples import SECOND
from tests.oracle.setup import Setup
from tests.oracle.shapes import WHOLE_GPUS, Shape

START = HOUR_ZERO  # seconds
PENDING = 45  # seconds from creation to bind, usually


@dataclass(frozen=True)
class Span:
    """[start, end) in seconds after the fleet's start."""

    start: int
    end: int

    def has(self, at: float) -> bool:
        """True when a time lies in it."""
        return self.start <= at < self.end


NEVER = Span(0, 0)


@dataclass(frozen=True)
class PodPlan:
    """What one pod does; times in seconds after the fleet's start."""

    name: str
    uid: str
    node: int
    units: int
    bound: int
    end: int | None
    how: str  # Succeeded, Failed or gone
    labels: str  # of its GPUs: all, none, some, stale, early
    init: int = 0  # units of an init container
    has_schedule: bool = True
    has_uid: bool = False  # its GPUs' samples carry its uid
    resource: str = "nvidia_com_gpu"
    is_listed: bool = True  # kube-state knows it; else only labels ever show it
    pending: int = PENDING  # seconds from creation to bind

    def holds(self, at: float) -> bool:
        """True while it runs."""
        return self.bound <= at and (self.end is None or at < self.end)


@dataclass(frozen=True)
class NodePlan:
    """One node: its GPUs and how its exporter behaves."""

    gpus: int
    step: int
    metrics: str  # engine, util, both, mixed
    naming: str  # plain, exported, target
    replicas: int
    silent_until: int  # no sample of its last GPU before
    swap: int | None  # its first GPU is another one from here on
    restart: int | None  # the exporter has another instance from here on
    gone: Span | None  # the node is away, with its pods
    outage: Span | None  # of its exporter
    shape: Shape = WHOLE_GPUS
    missing: Span | None = None  # kube-state shows its pods, but not its object
    returns: bool = False  # what is gone comes back with the same pods
    grows: int | None = None  # it has one GPU more from here on
    fakes: int = 0  # UUIDs that an exporter invents
    faked: Span = NEVER  # when it does
    fake_name: str = "GPU-z"  # how they begin
    fake_pod: str = ""  # whose label they bear
    has_ratios: bool = False  # names of exporter 4.9, whose values are ratios
    percent: Span = NEVER  # values are percent all the same
    ratios: Span = NEVER  # a collector divides whole percentages by 100
    is_whole: bool = False  # percentages have no decimal places, and none is above 100
    even: Span = NEVER  # values under names of percentages are exactly 0 or 1
    zeros: str = ""  # what contradicts its zeros on MIG: util, power
    lifecycle: tuple[str, str] | None = None  # a label of the node


@dataclass(frozen=True)
class Foreign:
    """A second kube-state, under a job of its own.

    Attributes:
        job: its name; empty where its samples have none.
        span: when it is scraped.
        shows: copies (the fleet's pods, and one of its own), nodes (its nodes too),
            strangers (a node and a pod that nobody else shows).
    """

    job: str
    span: Span
    shows: str


@dataclass(frozen=True)
class KubePlan:
    """How a fleet's kube-state is scraped.

    Attributes:
        step: seconds between scrapes.
        replicas: of each shard.
        shards: each object is shown by one of them.
        has_jobs: each shard is a job of its own.
        outages: of all.
        quiet: of one shard, with its number.
        restart: it has another instance from here on, after so many silent seconds.
        renamed: its job has another name then; until the end where that ends later.
        foreign: another kube-state beside it.
    """

    step: int = 30
    replicas: int = 1
    shards: int = 1
    has_jobs: bool = False
    outages: tuple[Span, ...] = ()
    quiet: tuple[int, Span] | None = None
    restart: Span | None = None
    renamed: Span | None = None
    foreign: Foreign | None = None


@dataclass(frozen=True)
class Plan:
    """A whole fleet."""

    length: int
    offset: int
    nodes: tuple[NodePlan, ...]
    pods: tuple[PodPlan, ...]
    move: int | None  # the first node's last GPU is on the second one from here on
    kube: KubePlan
    has_kube: bool
    lost: float  # share of scrapes that never came
    jitter: int  # milliseconds
    odd: float  # share of values that are no data
    twice: float  # share of samples that come twice
    seed: int
    interval: int | None  # seconds, as the source declares
    scales: tuple[tuple[str, str], ...] = field(default=())
    jobs: tuple[str, ...] = ()
    retired: int | None = None  # the cluster ends here

    @property
    def setup(self) -> Setup:
        """What a person set up of it."""
        end = self.retired
        return Setup(
            interval=self.interval,
            scales=dict(self.scales),
            jobs=self.jobs,
            retired=None if end is None else (START + self.offset + end) * SECOND,
        )
