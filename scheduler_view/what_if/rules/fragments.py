"""How much of the free GPUs is of no use to the pods that usually come (scheduling.md S25)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.request import MILLI, ReplayRequest

POPULAR = Fraction(95, 100)  # of the pods are of the classes that count


def popular_classes(
    requests: Iterable[ReplayRequest],
) -> list[tuple[ReplayRequest, int]]:
    """The most frequent requests and their numbers, until 95% of the pods are covered.

    Of equally frequent ones the larger request is first.
    """
    counts = Counter(requests)
    ordered = sorted(counts.items(), key=lambda of: (of[1], of[0]), reverse=True)
    wanted = POPULAR * counts.total()
    covered, found = 0, []
    for request, count in ordered:
        if covered >= wanted:
            break
        covered += count
        found.append((request, count))
    return found


class FragmentMeasure:
    """F of a node: thousandths of free GPUs that a pod cannot use, on average over classes.

    It is computed in integers: thousandths times `weight`, the pods of all classes together.
    """

    def __init__(
        self, cluster: ReplayCluster, classes: Sequence[tuple[ReplayRequest, int]]
    ) -> None:
        """`classes` are requests and how often they occur; those without GPUs count too."""
        self.weight = sum(count for _, count in classes)
        of_gpus = [(request, count) for request, count in classes if request.gpus]
        self._without = float(self.weight - sum(count for _, count in of_gpus))
        shares = sorted({request.gpu_milli for request, _ in of_gpus})
        place = {share: at for at, share in enumerate(shares)}
        self._share = np.array([place[r.gpu_milli] for r, _ in of_gpus], dtype=np.int64)
        self._cpu = np.array([r.cpu_milli for r, _ in of_gpus], dtype=np.int64)
        self._gpus = np.array([r.gpus for r, _ in of_gpus], dtype=np.int64)
        self._counts = np.array([count for _, count in of_gpus], dtype=np.float64)
        self._accepts = np.array(
            [
                [not r.models or model in r.models for model in cluster.models]
                for r, _ in of_gpus
            ],
            dtype=np.bool_,
        ).reshape(len(of_gpus), len(cluster.models))
        free = np.arange(MILLI + 1)[:, None]
        # By thousandths free of a GPU and by share: 1 if it is enough, in the upper bits, and
        # what is lost if it is not, in the lower ones: one sum over GPUs gives both.
        bounds = np.array(shares, dtype=np.int64)[None, :]
        self._by_free = np.where(free >= bounds, _ENOUGH, free)

    def amounts(
        self, cpu: Integers, gpu: Integers, model: Integers
    ) -> NDArray[np.float64]:
        """F x `weight` of nodes in these states; exact, because all of it are integers.

        Args:
            cpu: thousandths of CPUs that are free, by state.
            gpu: thousandths that are free of each GPU, by state and GPU.
            model: the number of the GPU model, by state.
        """
        sums = self._by_free[gpu].sum(axis=1)
        total = gpu.sum(axis=1)
        by_class = sums[:, self._share]
        can_run = by_class >= self._gpus * _ENOUGH
        can_run &= cpu[:, None] >= self._cpu
        can_run &= self._accepts[:, model].T
        lost = np.where(can_run, by_class & (_ENOUGH - 1), total[:, None])
        found: NDArray[np.float64] = lost @ self._counts + total * self._without
        return found


_ENOUGH = 1 << 32
