"""A node as observed: labels, taints, and what it offers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    amounts,
    is_true,
    items,
    labels,
    part,
    text,
)
from scheduler_view.waits.rules.world.pod_spec import Toleration

MODEL_LABELS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
)
KEEPS_AWAY = ("NoSchedule", "NoExecute")
CORDON = "node.kubernetes.io/unschedulable"
NOT_READY = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)


GPU_COUNT_LABELS = (
    "nvidia.com/gpu.count",
    "karpenter.k8s.aws/instance-gpu-count",
    "cloud.google.com/gke-gpu-count",
)
_GPU_LABELS = (
    *MODEL_LABELS,
    "nvidia.com/gpu.present",
    "k8s.amazonaws.com/accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
_SETUP_KEYS = (
    "node.cloudprovider.kubernetes.io/uninitialized",
    "karpenter.sh/unregistered",
    "node.kubernetes.io/out-of-service",
)
_SETUP_ENDS = ("not-ready", "-unavailable", "-pressure", "startup")
_SETUP_PREFIXES = (  # of the cluster autoscaler: the taint goes when the node is set up
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
)
LEAVING = frozenset({"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"})
"""Taints of nodes that an autoscaler removes."""


def is_of_setup(key: str) -> bool:
    """Whether a taint means that a node is not in order yet, and goes without a toleration.

    Kubernetes' own conditions, those that agents and autoscalers document, and keys that end
    like them: `node.cilium.io/agent-not-ready`, `ebs.csi.aws.com/agent-not-ready`.
    """
    return (
        key in _SETUP_KEYS
        or key.startswith(_SETUP_PREFIXES)
        or key.endswith(_SETUP_ENDS)
    )


def model_of(labels: Mapping[str, str]) -> str:
    """The GPU model that a node's labels show; empty if none does."""
    return next((labels[name] for name in MODEL_LABELS if labels.get(name)), "")


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint that keeps pods away.

    Attributes:
        is_of_setup: it goes when the node is in order, so that nobody has to tolerate it.
    """

    key: str
    value: str
    effect: str
    is_of_setup: bool = False

    def is_tolerated(self, tolerations: tuple[Toleration, ...]) -> bool:
        """Whether one of the tolerations matches."""
        return any(self._by(one) for one in tolerations)

    def _by(self, one: Toleration) -> bool:
        if one.effect not in ("", self.effect):
            return False
        if one.operator == "Exists":
            return one.key in ("", self.key)
        return one.key == self.key and one.value == self.value


def taint_of(key: str, value: str, effect: str, startup: Collection[str] = ()) -> Taint:
    """A taint, and whether it is one of setup.

    Args:
        startup: further keys that are.
    """
    return Taint(key, value, effect, is_of_setup(key) or key in startup)


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One node.

    Attributes:
        allocatable, capacity: thousandths by resource.
        taints: those that keep pods away, without Kubernetes' own for a cordon.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    is_ready: bool = True
    allocatable: Mapping[str, int] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_available(self) -> bool:
        """Whether its free units count: it is ready and not cordoned (S16)."""
        return self.is_ready and not self.is_cordoned

    @property
    def maker(self) -> str:
        """Whose GPUs it has by its labels, as resources begin: `nvidia.com/`; empty without."""
        shown = (
            n for n in _GPU_LABELS if self.labels.get(n) not in (None, "", "false")
        )
        found = next(shown, "")
        if not found:
            return ""
        return "amd.com/" if found.startswith("amd.com/") else "nvidia.com/"

    @property
    def labeled_gpus(self) -> int | None:
        """How many GPUs its labels show; None if they do not."""
        for name in GPU_COUNT_LABELS:
            written = self.labels.get(name, "")
            if written.isascii() and written.isdigit():
                return int(written[:6])
        return None


def node_object(
    manifest: Manifest, startup: frozenset[str] = frozenset()
) -> ClusterNode:
    """A node from the API server's JSON.

    Args:
        startup: keys of taints that NodePools of Karpenter declare for the setup of nodes.
    """
    spec, status = part(manifest, "spec"), part(manifest, "status")
    taints = [
        taint_of(text(one, "key"), text(one, "value"), text(one, "effect"), startup)
        for one in items(spec, "taints")
    ]
    ready = [
        text(one, "status")
        for one in items(status, "conditions")
        if text(one, "type") == "Ready"
    ]
    allocatable = amounts(status, "allocatable")
    return ClusterNode(
        name=text(manifest, "metadata", "name"),
        labels=labels(manifest, "metadata", "labels"),
        taints=tuple(t for t in taints if t.effect in KEEPS_AWAY and t.key != CORDON),
        is_cordoned=is_true(spec, "unschedulable"),
        is_ready=ready in ([], ["True"]),
        allocatable=allocatable,
        capacity=amounts(status, "capacity") or allocatable,
    )
