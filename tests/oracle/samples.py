"""Samples and what each of them names: scraper, GPU or instance, pod, track."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
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


@dataclass(frozen=True)
class Sample:
    """One sample as a scrape gave it; `at` in milliseconds."""

    name: str
    labels: Mapping[str, str]
    at: int
    value: float


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
        key = (sample.name, tuple(sorted(sample.labels.items())), sample.at)
        known = found.get(key)
        if known is None or _rank(sample) < _rank(known):
            found[key] = sample
    return sorted(found.values(), key=lambda s: s.at)


def _rank(sample: Sample) -> tuple[bool, float]:
    is_blank = reading_of(sample) is None
    return is_blank, 0.0 if math.isnan(sample.value) else sample.value


def reading_of(sample: Sample) -> int | None:
    """What a sample counts for, None when it is no data; duty in billionths (N8)."""
    value = sample.value
    if math.isnan(value) or math.isinf(value) or value < 0:
        return None
    if sample.name not in {ENGINE, UTIL}:
        return round(Fraction(value) * 1000) if value < 2**47 else None
    ratio = Fraction(value) / (100 if sample.name == UTIL else 1)
    if ratio > Fraction(11, 10):
        return None
    return min(round(ratio * BILLION), BILLION)


def track_of(sample: Sample) -> Track:
    """The track that an exporter sample belongs to."""
    labels = sample.labels
    return Track(labels["UUID"], sample.name, scraper_of(labels), part_of(labels))


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


def host_of(sample: Sample) -> str:
    """The node of an exporter sample (N14, fine print)."""
    return next((sample.labels[n] for n in HOSTS if sample.labels.get(n)), "")


def window_of(at: int) -> int:
    """The start of the window that contains a time."""
    return at - at % WINDOW


def span_of_step(at: int) -> tuple[int, int]:
    """The time whose samples give the step of a sample: [start - 15 min, end) (N4)."""
    return window_of(at) - 900 * SECOND, window_of(at) + WINDOW
