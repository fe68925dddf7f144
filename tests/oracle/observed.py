"""A fleet as its samples show it: for counts that ask neither its plan nor the oracle."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from tests.oracle.samples import SECOND, Sample
from tests.oracle.setup import Setup

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
SILENCE = 150 * SECOND  # longer than two steps of any kube-state here
Times = list[int]


class Fleet:
    """Samples of a fleet, by what they show."""

    def __init__(self, samples: Iterable[Sample], setup: Setup) -> None:
        """Sort the samples by kind."""
        self.samples, self.setup = list(samples), setup
        self.kube = [s for s in self.samples if s.name.startswith("kube_")]
        self.exporter = [
            s for s in self.samples if s.name.startswith(("DCGM_", "gpu_"))
        ]
        self.shown: dict[str, dict[str, Times]] = defaultdict(lambda: defaultdict(list))
        self.times: dict[str, Times] = defaultdict(list)
        for sample in sorted(self.kube, key=lambda s: s.at):
            by = f"{sample.labels.get('job', '')} {sample.labels['instance']}"
            self.times[by].append(sample.at)
            if name := object_of(sample):
                self.shown[name][by].append(sample.at)

    @cached_property
    def all_times(self) -> Times:
        """When any kube-state was scraped."""
        return sorted({s.at for s in self.kube})

    @cached_property
    def silences(self) -> list[tuple[int, int]]:
        """Between two scrapes of kube-state, or after the last one."""
        ends = [*self.all_times[1:], max(s.at for s in self.samples) + 1]
        found = zip(self.all_times, ends, strict=True)
        return [(a, b) for a, b in found if b - a > SILENCE]

    def seen(self, name: str) -> Times:
        """When an object was shown, by anybody."""
        return sorted({at for times in self.shown[name].values() for at in times})

    @cached_property
    def pods(self) -> Mapping[str, Sequence[Sample]]:
        """`kube_pod_info` by uid, in order of time."""
        found: dict[str, list[Sample]] = defaultdict(list)
        for sample in sorted(self.kube, key=lambda s: s.at):
            if sample.name == "kube_pod_info":
                found[sample.labels["uid"]].append(sample)
        return found

    def named(self, name: str, low: int, high: int) -> bool:
        """True where an exporter's sample in [low, high) names a pod."""
        return any(
            name in (s.labels.get("exported_pod"), s.labels.get("pod"))
            for s in self.exporter
            if low <= s.at < high
        )

    @cached_property
    def bounds(self) -> Mapping[str, int]:
        """When each uid was bound, as kube-state says."""
        return {
            s.labels["uid"]: round(s.value * SECOND)
            for s in self.kube
            if s.name == "kube_pod_status_scheduled_time"
        }


def object_of(sample: Sample) -> str:
    labels = sample.labels
    if sample.name.startswith("kube_node_"):
        return f"node {labels['node']}"
    return f"pod {labels['uid']}" if "uid" in labels else ""


def during(times: Times, low: int, high: int) -> int:
    """How many of sorted times lie in [low, high]."""
    return bisect_right(times, high) - bisect_left(times, low)
