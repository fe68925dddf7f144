"""Random small fleets: what happened, as Hypothesis draws it, so that failures shrink."""

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.oracle.shapes import WHOLE_GPUS, Shape, shapes


@dataclass(frozen=True)
class Span:
    """[start, end) in seconds after the fleet's start."""

    start: int
    end: int

    def has(self, at: float) -> bool:
        """True when a time lies in it."""
        return self.start <= at < self.end


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
    labels: str  # of its GPUs: all, none, some, stale
    init: int = 0  # units of an init container
    has_schedule: bool = True
    has_uid: bool = False  # its GPUs' samples carry its uid
    resource: str = "nvidia_com_gpu"
    is_listed: bool = True  # kube-state knows it; else only labels ever show it

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
    gone: Span | None  # the node is away
    outage: Span | None  # of its exporter
    shape: Shape = WHOLE_GPUS


@dataclass(frozen=True)
class Plan:
    """A whole fleet."""

    length: int
    offset: int
    nodes: tuple[NodePlan, ...]
    pods: tuple[PodPlan, ...]
    move: int | None  # the first node's last GPU is on the second one from here on
    kube_step: int
    kube_replicas: int
    kube_outages: tuple[Span, ...]
    has_kube: bool
    lost: float  # share of scrapes that never came
    jitter: int  # milliseconds
    odd: float  # share of values that are no data
    twice: float  # share of samples that come twice
    seed: int
    interval: int | None  # seconds, as the source declares


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Nothing, usually."""
    return st.one_of(st.none(), st.none(), strategy)


@st.composite
def spans(draw: st.DrawFn, length: int) -> Span:
    """A part of a fleet's time."""
    start = draw(st.integers(0, length - 60))
    return Span(start, start + draw(st.integers(40, 900)))


@st.composite
def node_plans(draw: st.DrawFn, length: int, *, is_shaped: bool = False) -> NodePlan:
    """A node; its GPUs are whole, or of any shape."""
    return NodePlan(
        gpus=draw(st.integers(1, 3)),
        step=draw(st.sampled_from([30, 15, 60, 20])),
        metrics=draw(st.sampled_from(["engine", "util", "both", "mixed"])),
        naming=draw(st.sampled_from(["plain", "exported", "target"])),
        replicas=draw(st.sampled_from([1, 1, 1, 2])),
        silent_until=draw(st.sampled_from([0, 0, 0, 200, 700])),
        swap=draw(maybe(st.integers(60, length))),  # type: ignore[arg-type]
        restart=draw(maybe(st.integers(60, length))),  # type: ignore[arg-type]
        gone=draw(maybe(spans(length))),  # type: ignore[arg-type]
        outage=draw(maybe(spans(length))),  # type: ignore[arg-type]
        shape=draw(shapes(length)) if is_shaped else WHOLE_GPUS,
    )


@st.composite
def pod_plans(
    draw: st.DrawFn, i: int, nodes: tuple[NodePlan, ...], length: int
) -> PodPlan:
    """A pod; names repeat, uids do not."""
    node = draw(st.integers(0, len(nodes) - 1))
    shape = nodes[node].shape
    most = 3 if shape.kind != "whole" else nodes[node].gpus
    bound = draw(st.integers(-300, length - 20))
    lasts = draw(st.one_of(st.none(), st.integers(0, 120), st.integers(60, length)))
    return PodPlan(
        name=draw(st.sampled_from(["train", f"pod-{i}", f"pod-{i}"])),
        uid=f"uid-{i}",
        node=node,
        units=draw(st.integers(1, most)),
        bound=bound,
        end=None if lasts is None else bound + lasts,
        how=draw(st.sampled_from(["gone", "Succeeded", "Failed"])),
        labels=draw(st.sampled_from(["all", "all", "none", "some", "stale"])),
        init=draw(st.sampled_from([0, 0, 0, 2])) if nodes[node].gpus > 1 else 0,
        has_schedule=draw(st.sampled_from([True, True, True, False])),
        has_uid=draw(st.booleans()),
        resource=draw(st.sampled_from(shape.resources)),
        is_listed=draw(st.sampled_from([True, True, True, False])),
    )


@st.composite
def plans(draw: st.DrawFn, *, is_shaped: bool = False) -> Plan:
    """A fleet; its GPUs are whole, or of any shape."""
    length = draw(st.sampled_from([600, 1200, 2400]))
    each = node_plans(length, is_shaped=is_shaped)
    nodes = tuple(draw(st.lists(each, min_size=1, max_size=2)))
    count = draw(st.integers(0, 4))
    return Plan(
        length=length,
        offset=draw(st.integers(0, 299)),
        nodes=nodes,
        pods=tuple(draw(pod_plans(i, nodes, length)) for i in range(count)),
        move=draw(maybe(st.integers(60, length))),  # type: ignore[arg-type]
        kube_step=draw(st.sampled_from([30, 15, 60])),
        kube_replicas=draw(st.sampled_from([1, 1, 1, 2])),
        kube_outages=()
        if is_shaped
        else tuple(draw(st.lists(spans(length), max_size=3))),
        has_kube=is_shaped or draw(st.sampled_from([True] * 5 + [False])),
        lost=draw(st.sampled_from([0.0, 0.0, 0.05, 0.3])),
        jitter=draw(st.sampled_from([0, 0, 700, 3000])),
        odd=draw(st.sampled_from([0.0, 0.0, 0.05])),
        twice=draw(st.sampled_from([0.0, 0.0, 0.1])),
        seed=draw(st.integers(0, 2**16)),
        interval=draw(st.sampled_from([None, None, None, 15, 30, 60])),
    )
