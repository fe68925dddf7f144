"""What every source yields: one metric of one object, as samples in time.

A source (accounting.sources) parses labels and scales once, by the catalogue; everything
behind it sees canonical metrics and units only. Prometheus, a scrape and a file give equal
series for equal data.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]  # milliseconds since 1970, ascending
Values = NDArray[np.float64]


class ScraperIdentity(NamedTuple):
    """Who took the samples: `job`, `instance` and replica labels (rules.md N3)."""

    job: str = ""
    instance: str = ""
    replica: str = ""  # prometheus_replica, replica, __replica__, prometheus; with ","


class PodName(NamedTuple):
    """A pod as a metric label names it; `uid` is empty where the exporter gives none."""

    namespace: str
    pod: str
    uid: str = ""


class Claimed(NamedTuple):
    """The device of a resource claim that an exporter's series names (`dra_*`)."""

    namespace: str
    name: str
    driver: str
    pool: str
    device: str


class GpuKey(NamedTuple):
    """Which GPU (part) an exporter's series belongs to, and whom it names.

    `exported` comes from `exported_*` labels, `plain` from plain ones; which of them is a
    workload depends on the scraper (trap T6) and is decided in `inventory`.
    """

    uuid: str
    node: str  # Hostname, hostname, exported_node, node: the first that is set
    instance: str = ""  # GPU_I_ID; "" is the whole GPU
    profile: str = ""  # GPU_I_PROFILE
    model: str = ""  # normalized: blanks as dashes, sharing and MIG suffixes cut
    vgpu: str = ""
    exported: PodName | None = None
    plain: PodName | None = None
    claim: Claimed | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Samples of one metric.

    Attributes:
        metric: canonical id of the catalogue: `engine_active`, `gpu_util`, `power_watts`,
            `power_limit_watts`, `energy_joules`, `memory_used_bytes`, `gpu_other` (an
            exporter metric that only proves presence), `up`, or a kube-state name as it is
            (`kube_pod_info`).
        name: as the source spells it.
        scraper: who took them.
        labels: all labels of kube-state and `up` series (with `exported_` stripped where
            kube-state was scraped with honor_labels=false); empty for exporter series.
        gpu: what an exporter series belongs to; None for others.
        times_ms: ascending; equal times are allowed (rules.md N2 decides between them).
        values: in the canonical unit (utilization: ratio 0 to 1); NaN where the source said NaN
            or a blank sentinel.
    """

    metric: str
    name: str
    scraper: ScraperIdentity
    times_ms: Times
    values: Values
    labels: Mapping[str, str] = field(default_factory=dict)
    gpu: GpuKey | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The response of a source for one period.

    Attributes:
        series: every series of the catalogue with a sample in the period.
        is_partial: the source returned an incomplete response (`warnings`).
        notes: faults met on the way, as (code, subject, message).
        interval_ms: the source's configured interval, or None (rules.md N4).
        declared: names whose scale the source declares (rules.md N8).
        is_file: of files that somebody imported, not of a source that is read live.
    """

    series: tuple[Series, ...]
    is_partial: bool = False
    notes: tuple[tuple[str, str, str], ...] = ()
    interval_ms: int | None = None
    declared: frozenset[str] = frozenset()
    is_file: bool = False


def content_hash(readings: Iterable[Reading]) -> bytes:
    """What readings say, in any order of their series: equal content, equal hash."""
    total = 0
    for reading in readings:
        about = repr(
            (
                reading.is_partial,
                reading.interval_ms,
                reading.notes,
                sorted(reading.declared),
            )
        )
        parts = [_hash(about.encode())]
        for series in reading.series:
            labels = tuple(sorted(series.labels.items()))
            head = (
                f"{series.name!r} {series.metric!r} {_in_words(series.scraper)}"
                f" {_in_words(series.gpu)} {labels!r}"
            )
            samples = series.times_ms.tobytes() + series.values.tobytes()
            parts.append(_hash(head.encode() + samples))
        total += sum(parts)
    return (total % (1 << 128)).to_bytes(16, "big")


@lru_cache(maxsize=250_000)
def _in_words(thing: ScraperIdentity | GpuKey | None) -> str:
    return repr(thing)


def _hash(data: bytes) -> int:
    """BLAKE2b with 128 bits, as a number: sums of such do not depend on the order."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest(), "big")
