"""How nodes are paid for, and what was held of each kind (trap T8c, rules.md N24)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tests.oracle.evidence import Evidence
from tests.oracle.kube import latest
from tests.oracle.presences import Presence
from tests.oracle.samples import WINDOW

UNKNOWN = "unknown"
LABELS = {  # as kube-state-metrics writes them, in snake case
    ("label_eks_amazonaws_com_capacity_type", "SPOT"): "spot",
    ("label_eks_amazonaws_com_capacity_type", "ON_DEMAND"): "on-demand",
    ("label_karpenter_sh_capacity_type", "spot"): "spot",
    ("label_cloud_google_com_gke_spot", "true"): "spot",
    ("label_kubernetes_azure_com_scalesetpriority", "spot"): "spot",
}


def held_by_lifecycle(
    evidence: Evidence,
    presences: Iterable[Presence],
    held: Mapping[tuple[int, str], int],
) -> dict[str, int]:
    """Held milliseconds by lifecycle.

    Args:
        evidence: what the samples show.
        presences: where each GPU was; one that changes its node within a window counts
            for the first of them.
        held: milliseconds by window and GPU.
    """
    found: dict[str, int] = defaultdict(int)
    there = list(presences)
    for (window, uuid), ms in held.items():
        node = min(
            (p.start, p.node)
            for p in there
            if p.uuid == uuid and p.start < window + WINDOW and p.end > window
        )[1]
        found[_lifecycle(evidence, node, window)] += ms
    return {lifecycle: ms for lifecycle, ms in found.items() if ms}


def _lifecycle(evidence: Evidence, node: str, at: int) -> str:
    labels = latest(evidence.labels.get(node, {}), at) or {}
    found = (LABELS.get(label) for label in labels.items())
    return next((lifecycle for lifecycle in found if lifecycle), UNKNOWN)
