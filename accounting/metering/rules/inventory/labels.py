"""Which pods the samples of a GPU name, and when (rules.md N13, N17; trap T6)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from accounting.core.interval import FAR_MS
from accounting.metering.rules.inventory.records import (
    Inventory,
    LabelKey,
    Naming,
    ScrapeLocation,
)
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    ScraperIdentity,
    Series,
    Times,
)
from accounting.metering.rules.samples.shown_scales import ShownScales
from accounting.metering.rules.units.geometry import GpuPart, part_in
from accounting.metering.rules.units.gpu_units import part_of

NO_TIMES: Times = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Which labels name an exporter's own pod and no workload (trap T6, N3), and its scales.

    Attributes:
        renaming: scrapers that ever showed `exported_pod`: their plain workload labels name
            their own pod.
        own_pods: (namespace, pod) of pods that an `up` series names.
        foreign_uids: uids beside names of several pods: an exporter's own uid, which Prometheus
            adds to the name of each workload (trap T31).
        scales: what scrapers ever showed under names of whole percentages (N8).
    """

    renaming: frozenset[ScraperIdentity] = frozenset()
    own_pods: frozenset[tuple[str, str]] = frozenset()
    foreign_uids: frozenset[str] = frozenset()
    scales: ShownScales = field(default_factory=dict)

    def workload(self, gpu: GpuKey, scraper: ScraperIdentity) -> PodName | None:
        """The workload that a series names; None if it names none."""
        if gpu.exported is not None:
            return self.named(gpu.exported)
        plain = gpu.plain
        if plain is None or scraper in self.renaming:
            return None
        is_own = (plain.namespace, plain.pod) in self.own_pods
        return None if is_own else self.named(plain)

    def named(self, pod: PodName) -> PodName:
        """A workload without a uid that is not its own."""
        return pod._replace(uid="") if pod.uid in self.foreign_uids else pod

    def names_workload(self, series: Series) -> bool:
        """True if a series names a workload."""
        gpu = series.gpu
        return gpu is not None and self.workload(gpu, series.scraper) is not None


def ownership(inventory: Inventory) -> Ownership:
    """What the evidence says of exporters."""
    renaming = (key for key, r in inventory.scrapers.items() if r.shows_exported)
    return Ownership(
        frozenset(renaming),
        frozenset(inventory.own_pods),
        _foreign_uids(inventory),
        {
            (key, name): shown
            for key, record in inventory.scrapers.items()
            for name, shown in record.scales.items()
        },
    )


def _foreign_uids(inventory: Inventory) -> frozenset[str]:
    """The uids that labels of GPUs show beside several names, or beside another pod's name."""
    names: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for label in (*inventory.gpu_labels, *inventory.far_labels):
        if label.pod.uid:
            names[label.pod.uid].add((label.pod.namespace, label.pod.pod))
    for uid, found in names.items():
        pod = inventory.pods.get(uid)
        if pod is not None:
            found.add((pod.namespace, pod.name))
    return frozenset(uid for uid, found in names.items() if len(found) > 1)


def label_of(series: Series) -> LabelKey | None:
    """The label of an exporter series; None if it names no pod."""
    gpu = series.gpu
    if gpu is None:
        return None
    pod = gpu.exported or gpu.plain
    if pod is None:
        return None
    place = ScrapeLocation(gpu.node, series.scraper)
    return LabelKey(
        gpu.uuid,
        place,
        gpu.instance,
        gpu.vgpu,
        pod,
        is_plain=gpu.exported is None,
        profile=part_in(gpu).kind,
    )


def is_own(label: LabelKey, inventory: Inventory) -> bool:
    """True if a label names the exporter's own pod (trap T6, N3).

    If a scraper ever shows `exported_pod`, its plain workload labels name its own pod; otherwise
    a pod that an `up` series names is its own.
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
class LabeledSlot:
    """One place (GPU or instance, vgpu) of a node that names a pod."""

    part: GpuPart
    node: str
    vgpu: str
    pod: PodName
    shown: Naming


Binds = Mapping[tuple[str, str], Sequence[tuple[int, str]]]  # see `Labels.binds`


@dataclass(slots=True)
class Labels:
    """The labels of a cluster that name workloads, by namespace and pod name.

    Attributes:
        whose: which labels name the exporter's own pod.
        binds: by namespace and pod name, when holds of that name were bound, and their uids,
            in order. Names are reused; a label without uid belongs to the hold of its
            name that was bound last before the sample (N13).
    """

    whose: Ownership = Ownership()
    binds: Binds = field(default_factory=dict)
    _by_name: dict[tuple[str, str], list[LabeledSlot]] = field(default_factory=dict)
    _by_part: dict[tuple[str, GpuPart], list[LabeledSlot]] = field(default_factory=dict)
    _several: dict[tuple[str, GpuPart], Times] = field(default_factory=dict)

    def put(self, named: LabeledSlot) -> None:
        """Add a place."""
        name = (named.pod.namespace, named.pod.pod)
        self._by_name.setdefault(name, []).append(named)
        self._by_part.setdefault((named.node, named.part), []).append(named)

    def of(self, namespace: str, pod: str, uid: str, node: str) -> list[LabeledSlot]:
        """The places of a node that name a pod: by uid if a sample has one.

        Without a uid, the samples from the bind of its hold to the bind of the next hold of its
        name, on any node.
        """
        found: list[LabeledSlot] = []
        for named in self._by_name.get((namespace, pod), ()):
            if named.node != node or named.pod.uid not in {"", uid}:
                continue
            spans = () if named.pod.uid else self._turns(namespace, pod, uid)
            found.append(_within(named, spans) if spans else named)
        return found

    def _turns(self, namespace: str, pod: str, uid: str) -> list[tuple[int, int]]:
        """When a name belongs to a hold; empty if no other hold has the name."""
        binds = self.binds.get((namespace, pod), ())
        if len(binds) < 2 or all(other != uid for _, other in binds):
            return []
        ends = [*(at for at, _ in binds[1:]), FAR_MS]
        return [
            (at, end)
            for (at, other), end in zip(binds, ends, strict=True)
            if other == uid
        ]

    def all(self) -> Iterable[LabeledSlot]:
        """Every place that names a pod."""
        for named in self._by_name.values():
            yield from named

    def counting(self, named: LabeledSlot, *, is_shared: bool) -> Naming:
        """The samples of a place whose label counts (N17).

        On a shared GPU each time is checked separately: a label counts if it has `vgpu` or if
        samples of the same millisecond name several pods (trap T16).
        """
        if not is_shared or named.vgpu:
            return named.shown
        key = (named.node, named.part)
        if key not in self._several:
            self._several[key] = _several(self._by_part[key])
        keep = np.isin(named.shown.times, self._several[key])
        return Naming(named.shown.times[keep], named.shown.steps[keep])


def _within(named: LabeledSlot, spans: Sequence[tuple[int, int]]) -> LabeledSlot:
    """A place with only the samples of some spans [start, end)."""
    shown = named.shown
    keep = np.zeros(len(shown.times), bool)
    for start, end in spans:
        low, high = np.searchsorted(shown.times, [start, end])
        keep[int(low) : int(high)] = True
    return replace(named, shown=Naming(shown.times[keep], shown.steps[keep]))


def _several(places: Sequence[LabeledSlot]) -> Times:
    """The times at which samples of one GPU name more than one pod.

    A name with a uid and the same name without one may be one pod, which two scrapers show.
    """
    by_name: dict[tuple[str, str], dict[str, list[Times]]] = defaultdict(dict)
    for named in places:
        of_name = by_name[named.pod.namespace, named.pod.pod]
        of_name.setdefault(named.pod.uid, []).append(named.shown.times)
    pods: list[Times] = []
    for of_name in by_name.values():
        shown = {uid: np.unique(np.concatenate(of)) for uid, of in of_name.items()}
        without_uid = shown.pop("", NO_TIMES)
        if shown:
            without_uid = np.setdiff1d(without_uid, np.concatenate([*shown.values()]))
        pods.extend([*shown.values(), without_uid])
    times, counts = np.unique(np.concatenate(pods), return_counts=True)
    several: Times = times[counts > 1]
    return several


def labels_of(inventory: Inventory, *, is_far: bool = False) -> Labels:
    """The labels that name workloads, with the samples of all scrapers together.

    Args:
        inventory: evidence.
        is_far: also those of more distant hours.
    """
    whose = ownership(inventory)
    parts: dict[tuple[GpuPart, str, str, PodName], list[Naming]] = defaultdict(list)
    for labels in (inventory.gpu_labels, inventory.far_labels if is_far else {}):
        for label, shown in labels.items():
            if len(shown.times) and not is_own(label, inventory):
                number = part_of(label.instance)
                kind = label.profile if number >= 0 else ""
                part = GpuPart(label.uuid, number, kind)
                pod = whose.named(label.pod)
                parts[part, label.place.node, label.vgpu, pod].append(shown)
    found = Labels(whose)
    for (part, node, vgpu, pod), shown_by in sorted(parts.items()):
        found.put(LabeledSlot(part, node, vgpu, pod, union_of(shown_by)))
    return found
