"""What the raw samples of a small fleet show, by rules.md N2-N5, N8 and N14.

One half of the independent oracle (the other is `ledger`): plain Python, exact fractions,
no code shared with the product. It covers NVIDIA GPUs (whole, MIG, shared), AMD's (whole,
divided) and kube-state, without DRA.
"""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from tests.oracle.kube import KubeState
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
    Track,
    one_a_millisecond,
    span_of_step,
    window_of,
)
from tests.oracle.scales import ScalesShown
from tests.oracle.setup import PLAIN, Setup
from tests.oracle.speakers import read
from tests.oracle.steps import lower_median, median_gap


class Proof(NamedTuple):
    """An exporter sample of any metric: the GPU was there, and whose label it bore."""

    uuid: str
    node: str
    at: int
    step: int
    label: Label | None
    place: Place


class Evidence(KubeState):
    """All samples, sorted into tracks, proofs, pods and nodes."""

    def __init__(self, samples: Iterable[Sample], setup: Setup = PLAIN) -> None:
        """Sort the samples that are read; equal ones count once (N2)."""
        kept = one_a_millisecond(read(samples, setup), setup.scales)
        super().__init__(kept, setup)
        self.setup = setup
        self.values: dict[Track, dict[int, tuple[bool, int]]] = defaultdict(dict)
        self.nodes_of: dict[Track, dict[int, str]] = defaultdict(dict)
        self.parts: dict[str, dict[int, set[Part]]] = defaultdict(dict)
        self.models: dict[str, str] = {}
        self.processes: dict[Track, dict[int, dict[Label, int]]] = defaultdict(dict)
        self.devices: dict[Track, set[int]] = defaultdict(set)
        self.exporter = [s for s in kept if s.name.startswith(("DCGM_", "gpu_"))]
        self.scales_shown = ScalesShown(self.exporter, setup.scales)
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
        self.times = cache(self._times)
        self.gap = cache(self._gap)
        self.gap_of_others = cache(self._gap_of_others)
        self.proofs = self._proofs()
        self.named: dict[tuple[str, Part, int], set[Label]] = defaultdict(set)
        for proof in self.proofs:
            if proof.label is not None:
                key = (proof.uuid, proof.place.part, proof.at)
                self.named[key].add(proof.label)

    # --- exporters -------------------------------------------------------------------

    def _exporter_sample(self, sample: Sample, label: Label | None) -> None:
        track, proof, host = sample.track, sample.proof, self.host(sample)
        shown = self.parts[track.uuid].setdefault(sample.at, set())
        if track.part is not WHOLE:
            shown.add(track.part)
        self.models[track.uuid] = sample.labels.get("modelName", "")
        self.nodes_of[track][sample.at] = host
        self.nodes_of[proof][sample.at] = host
        self.values[proof][sample.at] = (True, 0)
        value = self.scales_shown.reading(sample)
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
        """The workload that a sample names (N3)."""
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
        """The utilization of a sample with data, exact billionths as a ratio."""
        return _utilization(self.values[track][at][1])

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
            uuid = sample.gpu
            step = steps[uuid, sample.at]
            place = Place(uuid, sample.part, sample.labels.get("vgpu", ""))
            proofs.append(Proof(uuid, self.host(sample), sample.at, step, label, place))
        nobody = ("", "", "")
        return sorted(
            proofs, key=lambda p: (p.at, p.uuid, p.node, p.label or nobody, p.place)
        )

    # --- all -------------------------------------------------------------------------

    @cached_property
    def end(self) -> int:
        """Where the data end (N1): the latest of all tracks' last sample plus its step."""
        ends = [
            max(times) + self.step(track, max(times))
            for track, times in self.values.items()
            if track.metric == ANY
        ]
        return max([*ends, *self.kube_ends], default=0)

    @cached_property
    def retired(self) -> int | None:
        """Where the cluster ended; what a person set up is in the past, with data or not (N38)."""
        return self.setup.retired


@lru_cache(maxsize=1 << 16)
def _utilization(billionths: int) -> Fraction:
    return Fraction(billionths, BILLION)
