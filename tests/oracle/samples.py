"""Samples and what each of them names: scraper, GPU or instance, pod, track."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

SECOND = 1000
WINDOW = 300 * SECOND
REPLICAS = ("prometheus_replica", "replica", "__replica__", "prometheus")
HOSTS = ("Hostname", "hostname", "exported_node", "node")
ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
UTIL = "DCGM_FI_DEV_GPU_UTIL"
POWER = "DCGM_FI_DEV_POWER_USAGE"
LIMIT = "DCGM_FI_DEV_POWER_MGMT_LIMIT"
UTIL_RATIO = "DCGM_FI_DEV_GPU_UTIL_RATIO"  # of exporter 4.9
ENGINE_RATIO = "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"
AMD_ENGINE = "gpu_gfx_activity"
AMD_POWER = "gpu_package_power"
METRICS = {  # names of what is read, and what they are read as
    UTIL_RATIO: UTIL,
    ENGINE_RATIO: ENGINE,
    AMD_ENGINE: ENGINE,
    AMD_POWER: POWER,
}
PERCENT = frozenset({UTIL, AMD_ENGINE})  # scales of names, where none is declared
OF_FIRST_PARTITION = frozenset({AMD_ENGINE, AMD_POWER})  # 0 on all others says nothing
PARTITIONS = {"spx": 1, "dpx": 2, "tpx": 3, "qpx": 4, "cpx": 8}  # of an AMD card
PROFILES = {  # by the model, as far as fleets have them
    "A100": ("1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "A30": ("1g.6gb", "2g.12gb", "4g.24gb"),
}
BILLION = 10**9
ANY = ""
Scales = Mapping[str, str]  # ratio or percent, by the names that a source declares


@dataclass(frozen=True)
class Sample:
    """One sample as a scrape gave it; `at` in milliseconds.

    It never changes, so what follows from it alone is found once: a stateful test asks the
    oracle about the same samples after every step.
    """

    name: str
    labels: Mapping[str, str]
    at: int
    value: float

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Its series and its time (N2)."""
        return self.name, tuple(sorted(self.labels.items())), self.at

    @cached_property
    def metric(self) -> str:
        """What it measures, whatever its exporter calls it."""
        return METRICS.get(self.name, self.name)

    @cached_property
    def is_of_another_partition(self) -> bool:
        """True for what only partition 0 of an AMD card shows, on another one."""
        return self.name in OF_FIRST_PARTITION and self.part.number > 0

    @cached_property
    def is_utilization(self) -> bool:
        """True for a share of time."""
        return self.metric in {ENGINE, UTIL} and not self.is_of_another_partition

    def ratio(self, scales: Scales) -> Fraction | None:
        """Its utilization as a ratio of any size; None where it is not a number (N8)."""
        value = self.value
        if (
            not self.is_utilization
            or math.isnan(value)
            or math.isinf(value)
            or value < 0
        ):
            return None
        known = "percent" if self.name in PERCENT else "ratio"
        is_percent = scales.get(self.name, known) == "percent"
        return Fraction(value) / (100 if is_percent else 1)

    def reading(self, scales: Scales) -> int | None:
        """What it counts for, None when it is no data; utilization in billionths (N8)."""
        scale = scales.get(self.name)
        if scale not in self._readings:
            self._readings[scale] = self._reading(scales)
        return self._readings[scale]

    @cached_property
    def _readings(self) -> dict[str | None, int | None]:
        """What it counts for, by the scale that its source declares."""
        return {}

    def _reading(self, scales: Scales) -> int | None:
        if self.is_utilization:
            ratio = self.ratio(scales)
            if ratio is None or ratio > Fraction(11, 10):
                return None
            return min(round(ratio * BILLION), BILLION)
        value, is_silent = self.value, self.is_of_another_partition
        if is_silent or math.isnan(value) or value < 0 or value >= 2**47:
            return None
        return round(Fraction(value) * 1000)

    def rank(self, scales: Scales) -> tuple[bool, bool, float]:
        """Of two samples of a series at one time the lower one counts (N2)."""
        is_nan = math.isnan(self.value)
        return self.reading(scales) is None, is_nan, 0.0 if is_nan else self.value

    @cached_property
    def scraper(self) -> "Scraper":
        """Who took it."""
        return scraper_of(self.labels)

    @cached_property
    def part(self) -> "Part":
        """The instance that it speaks of, or the whole GPU."""
        return part_of(self.labels)

    @cached_property
    def track(self) -> "Track":
        """The track that an exporter's sample belongs to."""
        return Track(self.gpu, self.metric, self.scraper, self.part)

    @cached_property
    def proof(self) -> "Track":
        """The track of all metrics together: a proof of presence has no metric (N14)."""
        return Track(self.gpu, ANY, self.scraper, WHOLE)

    @cached_property
    def gpu(self) -> str:
        """The GPU: its UUID; an AMD card is its serial number where samples carry one."""
        return self.labels.get("UUID") or (
            self.labels.get("serial_number") or self.labels.get("gpu_uuid", "")
        )

    @cached_property
    def partition(self) -> str:
        """How an AMD card is divided, as its exporter shows it; else empty."""
        return self.labels.get("gpu_compute_partition_type", "")

    @cached_property
    def host(self) -> str:
        """The node of an exporter's sample (N14)."""
        return next((self.labels[n] for n in HOSTS if self.labels.get(n)), "")


class Scraper(NamedTuple):
    """Who took a sample (N3)."""

    job: str
    instance: str
    replica: str


class Label(NamedTuple):
    """A pod as an exporter's labels name it."""

    namespace: str
    pod: str
    uid: str


class Part(NamedTuple):
    """A GPU or one of its instances: number and profile."""

    number: int
    profile: str


WHOLE = Part(-1, "")


class Place(NamedTuple):
    """Where a label counts as one unit (N17); `vgpu` empty where there is none."""

    uuid: str
    part: Part
    vgpu: str


class Track(NamedTuple):
    """Samples of one GPU or instance and metric from one scraper (N3)."""

    uuid: str
    metric: str
    scraper: Scraper
    part: Part = WHOLE


def one_a_millisecond(samples: Iterable[Sample], scales: Scales) -> list[Sample]:
    """Of two samples of a series at one time a number, then the smaller (N2)."""
    found: dict[tuple[object, ...], Sample] = {}
    for sample in samples:
        known = found.get(sample.key)
        if known is None or sample.rank(scales) < known.rank(scales):
            found[sample.key] = sample
    return sorted(found.values(), key=lambda s: s.at)


def part_of(labels: Mapping[str, str]) -> Part:
    """The instance that a sample speaks of, or the whole GPU."""
    kind = labels.get("gpu_compute_partition_type", "")
    if PARTITIONS.get(kind, 1) > 1:
        return Part(int(labels["gpu_partition_id"]), kind)
    if not labels.get("GPU_I_ID"):
        return WHOLE
    profile = labels.get("GPU_I_PROFILE", "")
    return Part(int(labels["GPU_I_ID"]), in_table(profile, labels.get("modelName", "")))


def in_table(profile: str, model: str) -> str:
    """The profile of the model whose gigabytes this one has but for rounding (rules.md "MIG")."""
    for known in next((PROFILES[m] for m in PROFILES if m in model), ()):
        ours, theirs = (re.split(r"g\.|gb", name)[:2] for name in (known, profile))
        apart = abs(int(ours[1]) - int(theirs[1]))
        if ours[0] == theirs[0] and apart <= max(1, int(ours[1]) // 10):
            return known
    return profile


def scraper_of(labels: Mapping[str, str]) -> Scraper:
    """Job, instance and replica labels."""
    replica = ",".join(
        f"{name}={labels[name]}" for name in REPLICAS if labels.get(name)
    )
    return Scraper(labels.get("job", ""), labels.get("instance", ""), replica)


def window_of(at: int) -> int:
    """The start of the window that contains a time."""
    return at - at % WINDOW


def span_of_step(at: int) -> tuple[int, int]:
    """The time whose samples give the step of a sample: [start - 15 min, end) (N4)."""
    return window_of(at) - 900 * SECOND, window_of(at) + WINDOW
