"""Samples and what each of them names: scraper, GPU or instance, pod, track."""

import math
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
BILLION = 10**9
ANY = ""


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
    def reading(self) -> int | None:
        """What it counts for, None when it is no data; duty in billionths (N8)."""
        value = self.value
        if math.isnan(value) or math.isinf(value) or value < 0:
            return None
        if self.name not in {ENGINE, UTIL}:
            return round(Fraction(value) * 1000) if value < 2**47 else None
        ratio = Fraction(value) / (100 if self.name == UTIL else 1)
        if ratio > Fraction(11, 10):
            return None
        return min(round(ratio * BILLION), BILLION)

    @cached_property
    def rank(self) -> tuple[bool, float]:
        """Of two samples of a series at one time the lower one counts (N2)."""
        return self.reading is None, 0.0 if math.isnan(self.value) else self.value

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
        return Track(self.labels["UUID"], self.name, self.scraper, self.part)

    @cached_property
    def proof(self) -> "Track":
        """The track of all metrics together: a proof of presence has no metric (N14)."""
        return Track(self.labels["UUID"], ANY, self.scraper, WHOLE)

    @cached_property
    def host(self) -> str:
        """The node of an exporter's sample (N14, fine print)."""
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


def one_a_millisecond(samples: Iterable[Sample]) -> list[Sample]:
    """Of two samples of a series at one time a number, then the smaller (N2)."""
    found: dict[tuple[object, ...], Sample] = {}
    for sample in samples:
        known = found.get(sample.key)
        if known is None or sample.rank < known.rank:
            found[sample.key] = sample
    return sorted(found.values(), key=lambda s: s.at)


def part_of(labels: Mapping[str, str]) -> Part:
    """The instance that a sample speaks of, or the whole GPU."""
    if not labels.get("GPU_I_ID"):
        return WHOLE
    return Part(int(labels["GPU_I_ID"]), labels.get("GPU_I_PROFILE", ""))


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
