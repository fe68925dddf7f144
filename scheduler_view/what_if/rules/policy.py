"""The interface of placement policies (scheduling.md S35)."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from scheduler_view.what_if.rules.cluster import Integers, ReplayCluster
from scheduler_view.what_if.rules.request import MILLI, ReplayRequest

NEVER = int(np.iinfo(np.int64).min)  # the score of a node where a pod does not fit


class PlacementPolicy(ABC):
    """Scores nodes; the highest score wins, and of equals the smallest node name.

    Attributes:
        name: as people write it.
    """

    name: ClassVar[str]

    @abstractmethod
    def scores(
        self, cluster: ReplayCluster, request: ReplayRequest, nodes: Integers
    ) -> Integers:
        """An integer for each of these nodes, on all of which the request fits.

        It depends only on what is on that node, so that it can be kept until the node changes.
        """

    def choose(self, scores: Integers) -> int | None:
        """The node to take; `NEVER` marks those where the request does not fit.

        None if it fits nowhere.
        """
        if not len(scores):
            return None
        best = int(scores.argmax())  # the first of equals
        return None if scores[best] == NEVER else best

    def gpus(
        self, cluster: ReplayCluster, request: ReplayRequest, node: int
    ) -> list[int]:
        """The GPUs to take: for a part the fullest that fits, else the first free ones."""
        free = cluster.gpu_free[node]
        if request.is_fraction:
            return [int(np.where(free < request.gpu_milli, MILLI + 1, free).argmin())]
        return [int(gpu) for gpu in np.flatnonzero(free == MILLI)[: request.gpus]]
