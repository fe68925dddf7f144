"""BestFit: where least CPU and GPU is left."""

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.policies.scale import CPU_SCALE, GPU_SCALE
from scheduler_view.what_if.rules.policy import PlacementPolicy
from scheduler_view.what_if.rules.request import ReplayRequest


class BestFit(PlacementPolicy):
    """100 (1 - (CPU left + GPU left) / 2), cut to an integer.

    S35 stretches scores to 0-100 over the nodes that fit. That changes neither the best node nor
    which nodes are equally good, so it is left out.
    """

    name = "BestFit"

    def scores(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """The score in exact integers."""
        cpu_left = cluster.cpu_free[nodes] - request.cpu_milli
        gpu_left = cluster.gpu_free[nodes].sum(axis=1) - request.total_milli
        whole = 2 * CPU_SCALE
        left = cpu_left + gpu_left * (CPU_SCALE // GPU_SCALE)
        score: Integers = 100 * (whole - left) // whole
        return score
