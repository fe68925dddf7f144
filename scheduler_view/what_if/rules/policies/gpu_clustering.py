"""GpuClustering: nodes that have pods of the same size."""

import numpy as np

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.policies.scale import GPU_SCALE
from scheduler_view.what_if.rules.policy import PlacementPolicy
from scheduler_view.what_if.rules.request import ReplayRequest


class GpuClustering(PlacementPolicy):
    """Nodes with pods of this size only, then with others too, then empty ones, then the rest.

    75, 50, 25 or 0, and up to 25 more, the fewer GPUs are free.
    """

    name = "GpuClustering"

    def scores(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """0 without GPUs."""
        if not request.gpus:
            return np.zeros(len(nodes), dtype=np.int64)
        has_size = cluster.pods_by_size[nodes] > 0
        sizes = has_size.sum(axis=1)
        same = has_size[:, request.size]
        base = np.where(same, np.where(sizes == 1, 75, 50), np.where(sizes == 0, 25, 0))
        free = cluster.gpu_free[nodes].sum(axis=1)
        score: Integers = base + 25 * (GPU_SCALE - free) // GPU_SCALE
        return score
