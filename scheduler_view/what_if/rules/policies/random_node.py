"""Random: any node where the pod fits, any GPU that is large enough."""

import random

import numpy as np

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.policy import NEVER, PlacementPolicy
from scheduler_view.what_if.rules.request import ReplayRequest


class RandomNode(PlacementPolicy):
    """Draws from a seeded generator, so that a replay can be repeated."""

    name = "Random"

    def __init__(self, seed: int) -> None:
        """The same seed gives the same nodes."""
        self.random = random.Random(seed)

    def scores(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """All nodes are equal."""
        return np.zeros(len(nodes), dtype=np.int64)

    def choose(self, scores: Integers) -> int | None:
        """Any node where it fits."""
        fitting = np.flatnonzero(scores != NEVER)
        if not len(fitting):
            return None
        return int(fitting[self.random.randrange(len(fitting))])

    def gpus(
        self, cluster: ReplayCluster, request: ReplayRequest, node: int
    ) -> list[int]:
        """For a part any GPU that is large enough."""
        if not request.is_fraction:
            return super().gpus(cluster, request, node)
        large = np.flatnonzero(cluster.gpu_free[node] >= request.gpu_milli)
        return [int(large[self.random.randrange(len(large))])]
