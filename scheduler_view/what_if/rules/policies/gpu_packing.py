"""GpuPacking: GPUs in use first, then free GPUs of nodes in use, then empty nodes."""

import numpy as np

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.policy import PlacementPolicy
from scheduler_view.what_if.rules.request import MILLI, ReplayRequest


class GpuPacking(PlacementPolicy):
    """Three ranges of scores: an empty node, free GPUs, GPUs in use."""

    name = "GpuPacking"

    def scores(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """0 without GPUs."""
        if not request.gpus:
            return np.zeros(len(nodes), dtype=np.int64)
        free = cluster.gpu_free[nodes]
        count = cluster.gpu_count[nodes]
        is_empty = (free == MILLI).sum(axis=1) == count
        empty = np.maximum(33 - count, count)
        if request.is_fraction:
            large = np.where(free < request.gpu_milli, MILLI + 1, free)
            taken = large.min(axis=1)  # of the fullest that fits
            in_use = np.maximum(100 - taken * 100 // MILLI // 10, 50)
            used = np.where(taken == MILLI, 49, in_use)
        else:
            used = np.full(len(nodes), max(50 - request.gpus, 33), dtype=np.int64)
        return np.where(is_empty, empty, used)
