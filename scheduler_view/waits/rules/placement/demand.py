"""One kind of waiting pod: pods with the same demand are explained once."""

from dataclasses import dataclass
from functools import cached_property

from scheduler_view.waits.rules.world.nodes import CORDON, ClusterNode, Taint
from scheduler_view.waits.rules.world.pod_spec import PodSpec


@dataclass(frozen=True)
class Demand:
    """What decides where a pod may run.

    Attributes:
        labels: those that some rule of affinity or spread reads, sorted.
        reads_pods: whether a rule between pods is about it; else it has no labels.
    """

    namespace: str
    spec: PodSpec
    labels: tuple[tuple[str, str], ...] = ()
    reads_pods: bool = True

    @cached_property
    def label_map(self) -> dict[str, str]:
        """The labels by key."""
        return dict(self.labels)


def matches_node(spec: PodSpec, node: ClusterNode) -> bool:
    """Whether the node selector and the required node affinity match a node."""
    labels = node.labels
    for key, value in spec.node_selector:
        if labels.get(key) != value:
            return False
    terms = spec.node_terms
    return terms is None or any(term.matches(labels, node.name) for term in terms)


def untolerated(spec: PodSpec, node: ClusterNode) -> list[Taint]:
    """Taints that keep the pod away, without a cordon's."""
    return [one for one in node.taints if not one.is_tolerated(spec.tolerations)]


def is_tolerated(spec: PodSpec, taints: tuple[Taint, ...]) -> bool:
    """Whether none of a node's taints keeps the pod away."""
    return all(one.is_tolerated(spec.tolerations) for one in taints)


def tolerates_cordon(spec: PodSpec) -> bool:
    """Whether a cordon does not keep the pod away."""
    return Taint(CORDON, "", "NoSchedule").is_tolerated(spec.tolerations)
