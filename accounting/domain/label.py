"""Whom the samples of a GPU name, and when (rules.md N13, N17; trap T6)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from accounting.domain.inventory import Inventory, LabelKey, Naming, Place
from accounting.domain.series import PodName, Series


def label_of(series: Series) -> LabelKey | None:
    """The label of an exporter series; None where it names nobody."""
    gpu = series.gpu
    if gpu is None:
        return None
    pod = gpu.exported or gpu.plain
    if pod is None:
        return None
    place = Place(gpu.node, series.scraper)
    is_plain = gpu.exported is None
    return LabelKey(gpu.uuid, place, gpu.instance, gpu.vgpu, pod, is_plain)


def is_own(label: LabelKey, inventory: Inventory) -> bool:
    """True where a label names the exporter's own pod (trap T6, fine print N3).

    Where a scraper ever shows `exported_pod`, its plain workload labels are its own; else
    a pod that an `up` series names is.
    """
    if not label.is_plain:
        return False
    record = inventory.scrapers.get(label.place.scraper)
    if record is not None and record.shows_exported:
        return True
    return (label.pod.namespace, label.pod.pod) in inventory.own_pods


def union_of(parts: Iterable[Naming]) -> Naming:
    """Every sample time once, with the longest step."""
    every = list(parts)
    if len(every) == 1:
        return every[0]
    times = np.concatenate([part.times for part in every])
    steps = np.concatenate([part.steps for part in every])
    order = np.lexsort((-steps, times))
    times, steps = times[order], steps[order]
    keep = np.ones(len(times), bool)
    keep[1:] = times[1:] != times[:-1]
    return Naming(times[keep], steps[keep])


@dataclass(frozen=True, slots=True)
class Named:
    """One place (GPU, instance, vgpu) of a node that names a pod."""

    uuid: str
    node: str
    instance: str
    vgpu: str
    pod: PodName
    shown: Naming


@dataclass(slots=True)
class Labels:
    """The labels of a cluster that name workloads, by namespace and pod name."""

    _by_name: dict[tuple[str, str], list[Named]] = field(default_factory=dict)

    def of(self, namespace: str, pod: str, uid: str, node: str) -> list[Named]:
        """The places of a node that name a pod: by uid where a sample carries one."""
        return [
            named
            for named in self._by_name.get((namespace, pod), ())
            if named.node == node and named.pod.uid in {"", uid}
        ]

    def all(self) -> Iterable[Named]:
        """Every place that names anybody."""
        for named in self._by_name.values():
            yield from named


def labels_of(inventory: Inventory) -> Labels:
    """The labels that name workloads, with the samples of all scrapers together."""
    parts: dict[tuple[str, str, str, str, PodName], list[Naming]] = defaultdict(list)
    for label, shown in inventory.gpu_labels.items():
        if len(shown.times) and not is_own(label, inventory):
            where = (label.uuid, label.place.node, label.instance, label.vgpu)
            parts[*where, label.pod].append(shown)
    found: dict[tuple[str, str], list[Named]] = defaultdict(list)
    for (uuid, node, instance, vgpu, pod), shown_by in sorted(parts.items()):
        named = Named(uuid, node, instance, vgpu, pod, union_of(shown_by))
        found[pod.namespace, pod.pod].append(named)
    return Labels(found)
