"""FGD: where placing the pod makes the fewest fragments (Weng et al., USENIX ATC 2023)."""

import math
from collections.abc import Sequence

import numpy as np

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.fragments import FragmentMeasure
from scheduler_view.what_if.rules.policy import NEVER, PlacementPolicy
from scheduler_view.what_if.rules.request import MILLI, ReplayRequest


class FragmentationGradient(PlacementPolicy):
    """100 / (1 + exp(F after - F before)), F in GPUs, cut to an integer.

    The score is at least s if F grows by at most ln((100 - s) / s). These 99 limits are
    computed once, in the integers of `FragmentMeasure`, so that no rounding of a sum decides.
    """

    name = "FGD"

    def __init__(
        self, cluster: ReplayCluster, classes: Sequence[tuple[ReplayRequest, int]]
    ) -> None:
        """`classes` are the requests that usually come (`fragments.popular_classes`)."""
        self.measure = FragmentMeasure(cluster, classes)
        widest = cluster.gpu_free.shape[1]
        self._earlier = np.tri(widest, k=-1, dtype=np.bool_)
        unit = MILLI * self.measure.weight
        self._limits = np.array(
            [math.floor(unit * math.log((100 - s) / s)) for s in range(99, 0, -1)],
            dtype=np.float64,
        )

    def scores(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """For a part of a GPU, the score of its best GPU."""
        if request.is_fraction:
            best: Integers = self._by_gpu(cluster, request, nodes).max(axis=1)
            return best
        gpu = cluster.gpu_free[nodes]
        if request.gpus:
            is_free = gpu == MILLI
            gpu = np.where(is_free & (is_free.cumsum(1) <= request.gpus), 0, gpu)
        return self._graded(cluster, request, nodes, gpu)

    def gpus(
        self, cluster: ReplayCluster, request: ReplayRequest, node: int
    ) -> list[int]:
        """For a part the GPU of the best score, of equals the first."""
        if not request.is_fraction:
            return super().gpus(cluster, request, node)
        return [int(self._by_gpu(cluster, request, np.array([node]))[0].argmax())]

    def _by_gpu(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """Scores by node and GPU for a part of a GPU; `NEVER` where it does not fit.

        Of a node's GPUs with as much free, only the first has a score: it wins.
        """
        free = cluster.gpu_free[nodes]
        is_first = ~((free[:, :, None] == free[:, None, :]) & self._earlier)
        row, gpu = np.nonzero((free >= request.gpu_milli) & is_first.all(axis=2))
        after = free[row]
        after[np.arange(len(row)), gpu] -= request.gpu_milli
        found = np.full(free.shape, NEVER, dtype=np.int64)
        found[row, gpu] = self._graded(cluster, request, nodes[row], after)
        return found

    def _graded(
        self,
        cluster: ReplayCluster,
        request: ReplayRequest,
        nodes: Integers,
        after: Integers,
    ) -> Integers:
        """Scores if these nodes' GPUs were `after`."""
        cpu, model = cluster.cpu_free[nodes], cluster.model_of[nodes]
        amounts = self.measure.amounts
        growth = amounts(cpu - request.cpu_milli, after, model) - amounts(
            cpu, cluster.gpu_free[nodes], model
        )
        return len(self._limits) - np.searchsorted(self._limits, growth, side="left")
