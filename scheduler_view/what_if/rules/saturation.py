"""Pods arrive one by one and never leave: how much of the GPUs a policy can allocate (S34)."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from scheduler_view.what_if.rules.cluster import ReplayNode
from scheduler_view.what_if.rules.placer import Placer
from scheduler_view.what_if.rules.request import ReplayPod

INFLATION = Fraction(130, 100)  # of all GPUs are requested in the end


def inflated(
    pods: Sequence[ReplayPod],
    total_milli: int,
    seed: int,
    inflation: Fraction = INFLATION,
) -> list[ReplayPod]:
    """All pods and copies of random ones, until their requests reach `inflation` of the GPUs.

    They are shuffled; the same seed gives the same order.

    Raises:
        ValueError: if no pod requests GPUs, so that copies would never be enough.
    """
    asked = sum(pod.request.total_milli for pod in pods)
    if not asked:
        raise ValueError("no pod of the trace requests GPUs")
    draws = random.Random(seed)
    found = list(pods)
    while asked < inflation * total_milli:
        pod = pods[draws.randrange(len(pods))]
        found.append(pod)
        asked += pod.request.total_milli
    draws.shuffle(found)
    return found


def drawn_order(nodes: Iterable[ReplayNode], seed: int) -> list[ReplayNode]:
    """The same nodes with names in a drawn order: of equal scores the first one wins (S34).

    The published runs do so. In the order of the trace, pods that score the same everywhere, as
    those without GPUs do, would fill the nodes of one model.
    """
    ordered = sorted(nodes, key=lambda node: node.name)
    numbers = random.Random(seed).sample(range(len(ordered)), len(ordered))
    return [
        replace(node, name=f"{number:06d}-{node.name}")
        for number, node in zip(numbers, ordered, strict=True)
    ]


@dataclass(frozen=True)
class Saturation:
    """The result of a replay.

    Attributes:
        allocated: by load in percent of all GPUs, the allocated share of all GPUs when the
            requested sum first reached that load; at the end for loads that it did not reach.
        dropped: pods that fitted nowhere.
    """

    allocated: dict[int, Fraction]
    dropped: int


def saturate(
    placer: Placer,
    pods: Sequence[ReplayPod],
    loads: Sequence[int],
    on_pod: Callable[[int], None] = lambda done: None,
) -> Saturation:
    """Place pods in their order; a pod that fits nowhere is dropped.

    Args:
        placer: of an empty cluster.
        pods: in the order of their arrival.
        loads: percent of all GPUs at which the allocated share is read.
        on_pod: called after each pod with the number of pods so far.
    """
    total = placer.cluster.total_milli
    asked = allocated = dropped = 0
    left = sorted(loads)
    found: dict[int, Fraction] = {}
    for number, pod in enumerate(pods, start=1):
        asked += pod.request.total_milli
        if placer.place(pod.request) is None:
            dropped += 1
        else:
            allocated += pod.request.total_milli
        while left and 100 * asked >= left[0] * total:
            found[left.pop(0)] = Fraction(allocated, total)
        on_pod(number)
    found |= dict.fromkeys(left, Fraction(allocated, total) if total else Fraction(0))
    return Saturation(found, dropped)
