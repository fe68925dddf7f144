"""What the raw samples of a small fleet show, by rules.md N2-N5, N8, N9 and N14.

One half of the independent oracle (the other is `ledger`): plain Python, exact fractions,
no code shared with the product. It covers NVIDIA GPUs (whole, MIG, shared) and kube-state,
without DRA or `scales` of a source.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

from tests.oracle.samples import (
    ANY,
    BILLION,
    SECOND,
    WHOLE,
    WINDOW,
    Label,
    Part,
    Place,
    Sample,
    Scraper,
    Track,
    one_a_millisecond,
    span_of_step,
    window_of,
)
from tests.oracle.steps import lower_median, median_gap, union, validity
from tests.oracle.units import Said, gpus_of


class Proof(NamedTuple):
    """An exporter sample of any metric: the GPU was there, and whose label it bore."""

    uuid: str
    node: str
    at: int
    step: int
    label: Label | None
    place: Place


@dataclass
class Pod:
    """One pod uid as kube-state showed it."""

    uid: str
    namespace: str = ""
    name: str = ""
    node: str = ""
    created: int | None = None
    scheduled: int | None = None
    on_node: int | None = None  # first sample that shows a node
    terminal: tuple[int, str] | None = None  # first sample that says so, phase
    completion: tuple[int, int] | None = None  # sample time, value
    main: dict[tuple[str, str], int] = field(default_factory=dict)
    init: dict[tuple[str, str], int] = field(default_factory=dict)
    sidecars: set[str] = field(default_factory=set)
    seen: dict[int, set[Scraper]] = field(default_factory=lambda: defaultdict(set))

    @property
    def units(self) -> dict[str, int]:
        """The effective request by resource: sidecars + max(sum of main, largest init)."""
        found = {}
        for resource in sorted({r for _, r in self.main} | {r for _, r in self.init}):
            main = sum(n for (_, r), n in self.main.items() if r == resource)
            init = {c: n for (c, r), n in self.init.items() if r == resource}
            beside = sum(n for name, n in init.items() if name in self.sidecars)
            before = [n for name, n in init.items() if name not in self.sidecars]
            found[resource] = beside + max([main, *before])
        return {resource: units for resource, units in found.items() if units}


class Evidence:
    """All samples, sorted into tracks, proofs, pods and nodes."""

    def __init__(self, samples: Iterable[Sample], interval: int | None = None) -> None:
        """Sort the samples; equal ones count once (N2). `interval` in seconds (N4)."""
        self.interval = interval
        self.values: dict[Track, dict[int, tuple[bool, int]]] = defaultdict(dict)
        self.nodes_of: dict[Track, dict[int, str]] = defaultdict(dict)
        self.scrapes: dict[Scraper, set[int]] = defaultdict(set)
        self.pods: dict[str, Pod] = {}
        self.objects: dict[str, dict[int, set[Scraper]]] = {}
        self.capacity: dict[str, dict[int, dict[str, int]]] = defaultdict(dict)
        self.labels: dict[str, dict[int, dict[str, str]]] = defaultdict(dict)
        self.parts: dict[str, dict[int, set[Part]]] = defaultdict(dict)
        self.models: dict[str, str] = {}
        self.processes: dict[Track, dict[int, dict[Label, int]]] = defaultdict(dict)
        self.devices: dict[Track, set[int]] = defaultdict(set)
        kept = one_a_millisecond(samples)
        self.exporter = [s for s in kept if s.name.startswith("DCGM_")]
        self.with_exported = {
            s.scraper for s in self.exporter if s.labels.get("exported_pod")
        }
        self.targets = {
            (s.labels.get("namespace", ""), s.labels["pod"])
            for s in kept
            if s.name == "up" and s.labels.get("pod")
        }
        self.whose = [self.label_of(sample) for sample in self.exporter]
        for sample, label in zip(self.exporter, self.whose, strict=True):
            self._exporter_sample(sample, label)
        for sample in kept:
            if sample.name.startswith("kube_"):
                self._kube_sample(sample)
        self.times = cache(self._times)
        self.gap = cache(self._gap)
        self.gap_of_others = cache(self._gap_of_others)
        self.kube_gap = cache(self._kube_gap)
        self.scrapes_after = cache(self._scrapes_after)
        self.said = cache(self._said)
        self.proofs = self._proofs()
        self.seen = self._seen()
        self.named: dict[tuple[str, Part, int], set[Label]] = defaultdict(set)
        for proof in self.proofs:
            if proof.label is not None:
                key = (proof.uuid, proof.place.part, proof.at)
                self.named[key].add(proof.label)

    # --- exporters -------------------------------------------------------------------

    def _exporter_sample(self, sample: Sample, label: Label | None) -> None:
        track, proof, host = sample.track, sample.proof, sample.host
        shown = self.parts[track.uuid].setdefault(sample.at, set())
        if track.part is not WHOLE:
            shown.add(track.part)
        self.models[track.uuid] = sample.labels.get("modelName", "")
        self.nodes_of[track][sample.at] = host
        self.nodes_of[proof][sample.at] = host
        self.values[proof][sample.at] = (True, 0)
        value = sample.reading
        if value is None:
            return
        if label is None:
            self.devices[track].add(sample.at)
        else:
            ours = self.processes[track].setdefault(sample.at, {})
            ours[label] = max(ours.get(label, 0), value)
        # of several at one time the one without a workload, else the largest
        rank = (label is None, value)
        known = self.values[track].get(sample.at)
        if known is None or rank > known:
            self.values[track][sample.at] = rank

    def label_of(self, sample: Sample) -> Label | None:
        """The workload that a sample names (N3, fine print)."""
        labels = sample.labels
        if labels.get("exported_pod"):
            return Label(
                labels.get("exported_namespace", ""),
                labels["exported_pod"],
                labels.get("exported_pod_uid") or labels.get("pod_uid", ""),
            )
        plain = (labels.get("namespace", ""), labels.get("pod", ""))
        is_own = sample.scraper in self.with_exported or plain in self.targets
        if not plain[1] or is_own:
            return None
        return Label(*plain, labels.get("pod_uid", ""))

    def _times(self, track: Track) -> list[int]:
        """When a track has data, ascending."""
        return sorted(self.values.get(track, {}))

    def value(self, track: Track, at: int) -> Fraction:
        """The duty of a sample with data, exact billionths as a ratio."""
        return _duty(self.values[track][at][1])

    def step(self, track: Track, at: int) -> int:
        """The step of a sample (N4)."""
        if self.interval is not None:
            return min(self.interval * SECOND, WINDOW)
        own = self.gap(track, window_of(at))
        if own is not None:
            return own
        return self.gap_of_others(track, window_of(at), self.nodes_of[track].get(at))

    def _gap(self, track: Track, window: int) -> int | None:
        return median_gap(self.times(track), window)

    def _gap_of_others(self, track: Track, window: int, node: str | None) -> int:
        """What the node's other tracks of the metric say, else 30 seconds."""
        low, high = span_of_step(window)
        others = [
            other
            for other, nodes in self.nodes_of.items()
            if other.metric == track.metric
            and other != track
            and any(low <= t < high and n == node for t, n in nodes.items())
        ]
        gaps = [self.gap(other, window) for other in others]
        known = sorted(gap for gap in gaps if gap is not None)
        return lower_median(known) if known else 30 * SECOND

    def _proofs(self) -> list[Proof]:
        proofs = []
        steps: dict[tuple[str, int], int] = defaultdict(int)
        for proof, at in {(s.proof, s.at) for s in self.exporter}:
            key = (proof.uuid, at)
            steps[key] = max(steps[key], self.step(proof, at))
        for sample, label in zip(self.exporter, self.whose, strict=True):
            uuid = sample.labels["UUID"]
            step = steps[uuid, sample.at]
            place = Place(uuid, sample.part, sample.labels.get("vgpu", ""))
            proofs.append(Proof(uuid, sample.host, sample.at, step, label, place))
        nobody = ("", "", "")
        return sorted(
            proofs, key=lambda p: (p.at, p.uuid, p.node, p.label or nobody, p.place)
        )

    # --- kube-state ------------------------------------------------------------------

    def _kube_sample(self, sample: Sample) -> None:
        scraper, labels = sample.scraper, sample.labels
        self.scrapes[scraper].add(sample.at)
        if sample.name.startswith("kube_node_"):
            seen = self.objects.setdefault(labels["node"], defaultdict(set))
            seen[sample.at].add(scraper)
            if sample.name.endswith("_capacity"):
                at = self.capacity[labels["node"]].setdefault(sample.at, {})
                at[labels["resource"]] = int(sample.value)
            elif sample.name == "kube_node_labels":
                self.labels[labels["node"]][sample.at] = dict(labels)
        elif sample.name.startswith("kube_pod_"):
            pod = self.pods.setdefault(labels["uid"], Pod(labels["uid"]))
            pod.seen[sample.at].add(scraper)
            _show(pod, sample)

    def _said(self, node: str, at: int) -> Said:
        """What a node had last said of itself; before the first time, what it then said."""
        return Said(
            _latest(self.capacity.get(node, {}), at),
            _latest(self.labels.get(node, {}), at),
        )

    def gpu_counts(self, node: str) -> dict[int, int]:
        """GPUs that a node's capacity stands for, by sample time."""
        return {at: gpus_of(self.said(node, at)) for at in self.capacity.get(node, {})}

    def _kube_gap(self, scraper: Scraper, window: int) -> int | None:
        return median_gap(sorted(self.scrapes[scraper]), window)

    def kube_step(self, scraper: Scraper, at: int) -> int:
        """The step of a scrape of kube-state (N4, N9)."""
        if self.interval is not None:
            return min(self.interval * SECOND, WINDOW)
        return self.kube_gap(scraper, window_of(at)) or 30 * SECOND

    def step_of_scrapers(self, scrapers: Iterable[Scraper], at: int) -> int:
        """One step after a kube-state sample: the longest of those who gave it (N9)."""
        return max(self.kube_step(scraper, at) for scraper in scrapers)

    def _seen(self) -> list[tuple[int, int]]:
        """Where kube-state is seen (N9): disjoint, ascending."""
        spans = []
        for scraper, found in self.scrapes.items():
            times = sorted(found)
            for at, following in zip(times, [*times[1:], None], strict=False):
                spans.append(
                    (at, at + validity(at, following, self.kube_step(scraper, at)))
                )
        return union(spans)

    def is_seen(self, at: int) -> bool:
        """True where kube-state is seen."""
        return any(start <= at < end for start, end in self.seen)

    def _scrapes_after(self, at: int) -> list[int]:
        """Times of later kube-state scrapes."""
        return sorted({t for times in self.scrapes.values() for t in times if t > at})

    # --- all -------------------------------------------------------------------------

    @cached_property
    def end(self) -> int:
        """Where the data end (N1): the latest of all tracks' last sample plus its step."""
        ends = [
            max(times) + self.step(track, max(times))
            for track, times in self.values.items()
            if track.metric == ANY
        ]
        for scraper, times in self.scrapes.items():
            ends.append(max(times) + self.kube_step(scraper, max(times)))
        return max(ends, default=0)


@lru_cache(maxsize=1 << 16)
def _duty(billionths: int) -> Fraction:
    return Fraction(billionths, BILLION)


def _show(pod: Pod, sample: Sample) -> None:
    """Fold one kube_pod_* sample into its pod."""
    labels, name = sample.labels, sample.name.removeprefix("kube_pod_")
    pod.namespace, pod.name = labels["namespace"], labels["pod"]
    if labels.get("node"):
        pod.node = labels["node"]
        pod.on_node = min(pod.on_node or sample.at, sample.at)
    if name == "created":
        pod.created = round(sample.value * SECOND)
    elif name == "status_scheduled_time":
        pod.scheduled = round(sample.value * SECOND)
    elif name == "completion_time":
        pod.completion = max(
            pod.completion or (0, 0), (sample.at, round(sample.value * SECOND))
        )
    elif name == "status_phase" and sample.value == 1:
        if labels["phase"] in {"Succeeded", "Failed"}:
            found = (sample.at, labels["phase"])
            pod.terminal = min(pod.terminal or found, found)
    elif name == "init_container_info" and labels.get("restart_policy") == "Always":
        pod.sidecars.add(labels["container"])
    elif labels.get("resource", "").startswith("nvidia_com_"):
        where = pod.init if name.startswith("init_") else pod.main
        where[labels["container"], labels["resource"]] = int(sample.value)


def _latest(found: Mapping[int, Any], at: int) -> Any:
    """The latest value at a time, else the first of all."""
    before = [t for t in found if t <= at]
    if not found:
        return {}
    return found[max(before)] if before else found[min(found)]
