"""Places pods one by one, keeping scores of nodes that have not changed."""

from dataclasses import dataclass

import numpy as np

from scheduler_view.what_if.rules.cluster import Booleans, Integers, ReplayCluster
from scheduler_view.what_if.rules.policy import NEVER, PlacementPolicy
from scheduler_view.what_if.rules.request import ReplayRequest


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a pod is: the number of its node, and the numbers of its GPUs there."""

    node: int
    gpus: tuple[int, ...]


@dataclass(slots=True)
class _Kept:
    """Scores of one request, as of change `seen` of the cluster; `NEVER` where it does not fit."""

    accepts: Booleans
    scores: Integers
    seen: int


class Placer:
    """Places pods of a policy on a cluster.

    A placement changes one node. For each request the scores of all nodes are kept, and only
    those of nodes that have changed since are computed again.
    """

    def __init__(self, cluster: ReplayCluster, policy: PlacementPolicy) -> None:
        """Start from what is free now."""
        self.cluster, self.policy = cluster, policy
        self._kept: dict[ReplayRequest, _Kept] = {}

    def place(self, request: ReplayRequest) -> Placed | None:
        """Take a node and GPUs; None if it fits nowhere, which changes nothing."""
        node = self.policy.choose(self._scores(request))
        return None if node is None else self._take(request, node)

    def place_on(self, request: ReplayRequest, node: int) -> Placed | None:
        """Take GPUs of a given node; None if it does not fit there."""
        scores = self._scores(request)
        return None if scores[node] == NEVER else self._take(request, node)

    def _take(self, request: ReplayRequest, node: int) -> Placed:
        gpus = self.policy.gpus(self.cluster, request, node) if request.gpus else []
        self.cluster.take(request, node, gpus)
        return Placed(node, tuple(gpus))

    def end(self, request: ReplayRequest, placed: Placed) -> None:
        """Give back what a pod had."""
        self.cluster.take(request, placed.node, placed.gpus, sign=-1)

    def _scores(self, request: ReplayRequest) -> Integers:
        cluster = self.cluster
        kept = self._kept.get(request)
        if kept is None:
            scores = np.full(len(cluster.nodes), NEVER, dtype=np.int64)
            kept = _Kept(cluster.accepts(request), scores, seen=-1)
            self._kept[request] = kept
        changed = np.flatnonzero((cluster.changed_at > kept.seen) & kept.accepts)
        kept.seen = cluster.changes
        if len(changed):
            fits = cluster.fits(request, changed)
            kept.scores[changed[~fits]] = NEVER
            fitting = changed[fits]
            if len(fitting):
                scores = self.policy.scores(cluster, request, fitting)
                kept.scores[fitting] = scores
        return kept.scores
