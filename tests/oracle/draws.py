"""Ordinary random fleets; `themes` has those in which a certain thing happens."""

from hypothesis import strategies as st

from tests.oracle.dice import Dice, OfHypothesis, flag, maybe, number, pick
from tests.oracle.plans import KubePlan, NodePlan, Plan, PodPlan, Span
from tests.oracle.shapes import WHOLE_GPUS, Shape, amd_shape, shape

LENGTHS = (600, 1200, 2400)


def a_span(dice: Dice, length: int, most: int = 900) -> Span:
    """A part of a fleet's time."""
    start = number(dice, 0, length - 60)
    return Span(start, start + number(dice, 40, most))


def a_shape(dice: Dice, length: int, kind: str) -> Shape:
    """A shape of a kind of fleet: whole, shaped or amd."""
    if kind == "whole":
        return WHOLE_GPUS
    return amd_shape(dice) if kind == "amd" else shape(dice, length)


def a_node(dice: Dice, length: int, kind: str) -> NodePlan:
    """A node; its GPUs are whole, or of any shape."""
    return NodePlan(
        gpus=number(dice, 1, 3),
        step=pick(dice, [30, 15, 60, 20]),
        metrics=pick(dice, ["engine", "util", "both", "mixed"]),
        naming=pick(dice, ["plain", "exported", "target"]),
        replicas=pick(dice, [1, 1, 1, 2]),
        silent_until=pick(dice, [0, 0, 0, 200, 700]),
        swap=maybe(dice, lambda: number(dice, 60, length)),
        restart=maybe(dice, lambda: number(dice, 60, length)),
        gone=maybe(dice, lambda: a_span(dice, length)),
        outage=maybe(dice, lambda: a_span(dice, length)),
        shape=a_shape(dice, length, kind),
    )


def a_pod(dice: Dice, i: int, nodes: tuple[NodePlan, ...], length: int) -> PodPlan:
    """A pod; names repeat, uids do not."""
    node = number(dice, 0, len(nodes) - 1)
    shape = nodes[node].shape
    most = 3 if shape.kind != "whole" else nodes[node].gpus
    bound = number(dice, -300, length - 20)
    lasts = pick(dice, [length, 120, 0])
    return PodPlan(
        name=pick(dice, [f"pod-{i}", f"pod-{i}", "train"]),
        uid=f"uid-{i}",
        node=node,
        units=number(dice, 1, most),
        bound=bound,
        end=bound + number(dice, 0, lasts) if lasts else None,
        how=pick(dice, ["gone", "Succeeded", "Failed"]),
        labels=pick(dice, ["all", "all", "none", "some", "stale"]),
        init=pick(dice, [0, 0, 0, 2]) if nodes[node].gpus > 1 else 0,
        has_schedule=pick(dice, [True, True, True, False]),
        has_uid=flag(dice),
        resource=pick(dice, shape.resources),
        is_listed=pick(dice, [True, True, True, False]),
    )


def a_plan(
    dice: Dice, *, is_shaped: bool = False, length: int = 0, kind: str = ""
) -> Plan:
    """A fleet; its GPUs are whole, or of any shape."""
    length = length or pick(dice, LENGTHS)
    kind = kind or ("shaped" if is_shaped else "whole")
    nodes = tuple(a_node(dice, length, kind) for _ in range(number(dice, 1, 2)))
    pods = tuple(a_pod(dice, i, nodes, length) for i in range(number(dice, 0, 4)))
    outages = 0 if is_shaped else pick(dice, [0, 0, 1, 2, 3])
    return Plan(
        length=length,
        offset=number(dice, 0, 299),
        nodes=nodes,
        pods=pods,
        move=maybe(dice, lambda: number(dice, 60, length)),
        kube=KubePlan(
            step=pick(dice, [30, 15, 60]),
            replicas=pick(dice, [1, 1, 1, 2]),
            outages=tuple(a_span(dice, length) for _ in range(outages)),
        ),
        has_kube=is_shaped or pick(dice, [True] * 5 + [False]),
        lost=pick(dice, [0.0, 0.0, 0.05, 0.3]),
        jitter=pick(dice, [0, 0, 700, 3000]),
        odd=pick(dice, [0.0, 0.0, 0.05]),
        twice=pick(dice, [0.0, 0.0, 0.1]),
        seed=number(dice, 0, 2**16),
        interval=pick(dice, [None, None, None, 15, 30, 60]),
    )


@st.composite
def plans(draw: st.DrawFn, *, is_shaped: bool = False) -> Plan:
    """A fleet, as Hypothesis draws it."""
    return a_plan(OfHypothesis(draw), is_shaped=is_shaped)
