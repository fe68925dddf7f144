"""Placement policies as plain loops over nodes and GPUs; no code of the product.

A node is a list `[name, cpu_free, [free of each GPU], model, {size: pods}]`, a request a tuple
`(cpu, gpus, milli, models)`; all in thousandths. Every node is scored again for every pod.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

Request = tuple[int, int, int, tuple[str, ...]]
State = list[Any]  # mixed, as said above
Where = tuple[str, list[int]] | None
LOAD = (50, 90, 100, 130)


def is_part(request: Request) -> bool:
    return request[1] == 1 and request[2] < 1000


def fits(node: State, request: Request) -> bool:
    _, cpu, free, model, _ = node
    wanted_cpu, gpus, milli, models = request
    if cpu < wanted_cpu:
        return False
    if gpus == 0:
        return True
    if models and model not in models:
        return False
    return sum(1 for f in free if f >= milli) >= gpus


def fullest(node: State, request: Request) -> list[int]:
    """The GPUs that most policies take."""
    _, gpus, milli, _ = request
    if is_part(request):
        large = [g for g, f in enumerate(node[2]) if f >= milli]
        return [min(large, key=lambda g: (node[2][g], g))]
    return [g for g, f in enumerate(node[2]) if f == 1000][:gpus]


def random_node(
    nodes: list[State], request: Request, draws: random.Random
) -> tuple[State, list[int]] | None:
    fitting = [node for node in nodes if fits(node, request)]
    if not fitting:
        return None
    node = fitting[draws.randrange(len(fitting))]
    if not is_part(request):
        return node, fullest(node, request)
    large = [g for g, f in enumerate(node[2]) if f >= request[2]]
    return node, [large[draws.randrange(len(large))]]


def best_fit(node: State, request: Request) -> int:
    cpu: int = node[1] - request[0]
    gpu = sum(node[2]) - request[1] * request[2]
    return 100 - math.ceil(100 * (cpu + 16 * gpu) / 256_000)


def stretched(scores: list[int]) -> list[int]:
    low, high = min(scores), max(scores)
    return [(s - low) * 100 // (high - low) if high > low else 0 for s in scores]


def dot_product(node: State, request: Request) -> int:
    cpu: int = node[1] * request[0] * 8000 * 8000
    gpu = sum(node[2]) * request[1] * request[2] * 128_000 * 128_000
    whole = 2 * (128_000 * 8000) ** 2
    return 100 * (whole - cpu - gpu) // whole


def gpu_packing(node: State, request: Request) -> int:
    _, gpus, _, _ = request
    if gpus == 0:
        return 0
    if all(f == 1000 for f in node[2]):
        return max(33 - len(node[2]), len(node[2]))
    taken = fullest(node, request)
    free = sum(1 for g in taken if node[2][g] == 1000)
    if free:
        return max(50 - free, 33)
    free_percent: int = sum(node[2][g] * 100 // 1000 for g in taken)
    return max(100 - free_percent // 10, 50)


def size_of(request: Request) -> str:
    return "part" if is_part(request) else str(request[1])


def gpu_clustering(node: State, request: Request) -> int:
    if request[1] == 0:
        return 0
    sizes = {size for size, pods in node[4].items() if pods}
    more: int = 25 * (8000 - sum(node[2])) // 8000
    if size_of(request) in sizes:
        return more + (75 if len(sizes) == 1 else 50)
    return more + (0 if sizes else 25)


def popular(requests: Iterable[Request]) -> list[tuple[Request, int]]:
    """The most frequent requests until 95 % of the pods; larger ones first among equals."""
    counts = Counter(requests)
    found: list[tuple[Request, int]] = []
    covered = 0
    for request, count in sorted(
        counts.items(), key=lambda c: (-c[1], _reversed(c[0]))
    ):
        if 100 * covered < 95 * sum(counts.values()):
            found.append((request, count))
            covered += count
    return found


def _reversed(request: Request) -> tuple[Any, ...]:
    cpu, gpus, milli, models = request
    return -cpu, -gpus, -milli, [[-ord(c) for c in m] + [1] for m in models] + [[2]]


def fragments(
    cpu: int, free: list[int], model: str, classes: list[tuple[Request, int]]
) -> int:
    """F of a node, times the number of all pods of the classes."""
    total, found = sum(free), 0
    for (wanted_cpu, gpus, milli, models), count in classes:
        runs = (
            gpus > 0
            and cpu >= wanted_cpu
            and (not models or model in models)
            and sum(1 for f in free if f >= milli) >= gpus
        )
        lost = sum(f for f in free if f < milli) if runs else total
        found += count * lost
    return found


def gradient(
    node: State, request: Request, classes: list[tuple[Request, int]]
) -> tuple[int, list[int]]:
    """The score of FGD and the GPUs that it takes."""
    _, cpu, free, model, _ = node
    weight = 1000 * sum(count for _, count in classes)
    before = fragments(cpu, free, model, classes)
    choices = [fullest(node, request)]
    if is_part(request):
        choices = [[g] for g, f in enumerate(free) if f >= request[2]]
    best: tuple[int, list[int]] | None = None
    for taken in choices:
        after = [f - request[2] if g in taken else f for g, f in enumerate(free)]
        growth = fragments(cpu - request[0], after, model, classes) - before
        score = int(100 / (1 + math.exp(growth / weight)))
        if best is None or score > best[0]:
            best = score, taken
    assert best is not None
    return best


SCORES = {
    "BestFit": best_fit,
    "DotProd": dot_product,
    "GpuPacking": gpu_packing,
    "GpuClustering": gpu_clustering,
}


class Loop:
    """A cluster on which pods are placed one by one."""

    def __init__(
        self,
        nodes: Iterable[tuple[str, int, int, str]],
        policy: str,
        seed: int,
        classes: list[tuple[Request, int]],
    ) -> None:
        """`nodes` are (name, CPU, GPUs, model); of `classes` only FGD makes use."""
        self.nodes: list[State] = [
            [name, cpu, [1000] * gpus, model, {}]
            for name, cpu, gpus, model in sorted(nodes)
        ]
        self.policy, self.classes = policy, classes
        self.draws = random.Random(seed)

    def place(self, request: Request) -> Where:
        found = self._choose(request)
        if found is None:
            return None
        node, gpus = found
        self._take(node, request, gpus, 1)
        return node[0], gpus

    def end(self, request: Request, where: Where) -> None:
        assert where is not None
        node = next(node for node in self.nodes if node[0] == where[0])
        self._take(node, request, where[1], -1)

    def _take(self, node: State, request: Request, gpus: list[int], sign: int) -> None:
        node[1] -= sign * request[0]
        for gpu in gpus:
            node[2][gpu] -= sign * request[2]
        if request[1]:
            size = size_of(request)
            node[4][size] = node[4].get(size, 0) + sign

    def _choose(self, request: Request) -> tuple[State, list[int]] | None:
        if self.policy == "Random":
            found = random_node(self.nodes, request, self.draws)
            if found is None or request[1]:
                return found
            return found[0], []
        fitting = [node for node in self.nodes if fits(node, request)]
        if not fitting:
            return None
        if self.policy == "FGD":
            graded = [gradient(node, request, self.classes) for node in fitting]
            scores = [score for score, _ in graded]
        else:
            scores = [SCORES[self.policy](node, request) for node in fitting]
            if self.policy == "BestFit":
                scores = stretched(scores)
        best = scores.index(max(scores))
        node = fitting[best]
        if request[1] == 0:
            return node, []
        return node, graded[best][1] if self.policy == "FGD" else fullest(node, request)
