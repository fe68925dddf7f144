"""DotProd: where what is free points least in the direction of the request."""

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.policies.scale import CPU_SCALE, GPU_SCALE
from scheduler_view.what_if.rules.policy import PlacementPolicy
from scheduler_view.what_if.rules.request import ReplayRequest


class DotProduct(PlacementPolicy):
    """100 (1 - (CPU free x CPU requested + GPU free x GPU requested) / 2), cut to an integer."""

    name = "DotProd"

    def scores(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """The score in exact integers."""
        cpu = cluster.cpu_free[nodes] * request.cpu_milli
        gpu = cluster.gpu_free[nodes].sum(axis=1) * request.total_milli
        whole = 2 * CPU_SCALE**2
        product = cpu + gpu * (CPU_SCALE // GPU_SCALE) ** 2
        score: Integers = 100 * (whole - product) // whole
        return score
