"""The policies by name."""

from collections.abc import Callable, Mapping, Sequence

from scheduler_view.what_if.rules.cluster import ReplayCluster
from scheduler_view.what_if.rules.policies.best_fit import BestFit
from scheduler_view.what_if.rules.policies.dot_product import DotProduct
from scheduler_view.what_if.rules.policies.fragmentation_gradient import (
    FragmentationGradient,
)
from scheduler_view.what_if.rules.policies.gpu_clustering import GpuClustering
from scheduler_view.what_if.rules.policies.gpu_packing import GpuPacking
from scheduler_view.what_if.rules.policies.random_node import RandomNode
from scheduler_view.what_if.rules.policy import PlacementPolicy
from scheduler_view.what_if.rules.request import ReplayRequest

Classes = Sequence[tuple[ReplayRequest, int]]
_Make = Callable[[ReplayCluster, int, Classes], PlacementPolicy]

POLICIES: Mapping[str, _Make] = {
    RandomNode.name: lambda _cluster, seed, _classes: RandomNode(seed),
    DotProduct.name: lambda _cluster, _seed, _classes: DotProduct(),
    GpuClustering.name: lambda _cluster, _seed, _classes: GpuClustering(),
    GpuPacking.name: lambda _cluster, _seed, _classes: GpuPacking(),
    BestFit.name: lambda _cluster, _seed, _classes: BestFit(),
    FragmentationGradient.name: lambda cluster, _seed, classes: FragmentationGradient(
        cluster, classes
    ),
}
"""How to make each policy: of a cluster, a seed, and the requests that usually come."""


OFFERED = ("BestFit", "FGD", "GpuClustering", "GpuPacking")
"""Those that people choose from; the others are for comparison."""


def policy_of(
    name: str, cluster: ReplayCluster, seed: int, classes: Classes
) -> PlacementPolicy:
    """A policy by its name.

    Raises:
        KeyError: if there is none of this name.
    """
    return POLICIES[name](cluster, seed, classes)
