"""Hints about a namespace without a team: its labels and workloads."""

from collections import Counter
from dataclasses import dataclass

from accounting.access.scope import Scope
from accounting.metering.models.pod import NamespaceLabels, Pod

NEWEST_PODS = 200  # pods that are read: enough for a hint, in one short query
SHOWN = 8  # workloads, and labels of each kind


@dataclass(frozen=True, slots=True)
class NamespaceHints:
    """Hints about the owner of a namespace.

    Attributes:
        labels: `key=value` of the namespace, by key.
        pod_labels: labels of most of its newest pods, the most common first.
        workloads: `Job sweep-resnet`, the newest first.
    """

    name: str
    labels: tuple[str, ...]
    pod_labels: tuple[str, ...]
    workloads: tuple[str, ...]


def namespace_hints(name: str, scope: Scope) -> NamespaceHints | None:
    """Hints about one namespace, in all clusters; None if it does not exist.

    For people who see everything; two queries.
    """
    if not scope.sees_all or not name:
        return None
    pods = (
        Pod.objects.filter(namespace__name=name)
        .select_related("workload")
        .order_by("-last_ms", "-pk")[:NEWEST_PODS]
    )
    labels: dict[str, str] = {}
    for row in NamespaceLabels.objects.filter(namespace__name=name).order_by(
        "valid_from"
    ):
        labels = {**row.labels}
    found: dict[str, None] = {}
    on_pods: Counter[str] = Counter()
    for pod in pods:
        if pod.workload:
            found[f"{pod.workload.kind} {pod.workload.name}"] = None
        history = pod.record.get("labels") or [(0, {})]
        on_pods.update(_pairs(history[-1][1]))
    if not found and not labels and not on_pods:
        return None
    return NamespaceHints(
        name,
        tuple(_pairs(labels))[:SHOWN],
        tuple(pair for pair, _ in on_pods.most_common(SHOWN)),
        tuple(found)[:SHOWN],
    )


def _pairs(labels: dict[str, str]) -> list[str]:
    """`team=vision`, with keys as kube-state spells them, without its prefix."""
    return [
        f"{name.removeprefix('label_')}={value}"
        for name, value in sorted(labels.items())
    ]
