"""What is known of a namespace that has no team: its labels, and what runs in it."""

from collections import Counter
from dataclasses import dataclass

from accounting.access import Scope
from accounting.models import NamespaceLabels, Pod

NEWEST_PODS = 200  # that are looked at: enough to name what runs, in one short query
SHOWN = 8  # workloads, and labels of each kind


@dataclass(frozen=True, slots=True)
class NamespaceHints:
    """Whose a namespace may be.

    Attributes:
        labels: `key=value` of the namespace, by key.
        pod_labels: those that most of its newest pods have, the most common first.
        workloads: `Job sweep-resnet`, the newest first.
    """

    name: str
    labels: tuple[str, ...]
    pod_labels: tuple[str, ...]
    workloads: tuple[str, ...]


def namespace_hints(name: str, scope: Scope) -> NamespaceHints | None:
    """Hints of one namespace, in all clusters; None where none is called so.

    For those who see everything; two queries.
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
    """`team=vision`, as kube-state spells the keys, without its prefix."""
    return [
        f"{name.removeprefix('label_')}={value}"
        for name, value in sorted(labels.items())
    ]
