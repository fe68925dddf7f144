"""The output of every source: one metric of one object, as samples in time.

A source (accounting.metering.sources) parses labels and scales once, using the catalogue; all later
code uses canonical metrics and units only. Prometheus, a scrape and a file give equal series for
equal data.
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
TARGET_NODE = "target_node"  # the scraped target's node, in place of `node` (trap T31)


class ScraperIdentity(NamedTuple):
    """The scraper of samples: `job`, `instance` and replica labels (rules.md N3)."""

    job: str = ""
    instance: str = ""
    replica: str = ""  # prometheus_replica, replica, __replica__, prometheus; with ","


class PodName(NamedTuple):
    """A pod as a metric label names it; `uid` is empty if the exporter has none."""

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
    """The GPU (part) of an exporter's series, and the pod that it names.

    `exported` comes from `exported_*` labels, `plain` from plain ones; which of them is the
    workload depends on the scraper (trap T6) and is determined in `inventory`.
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
    names: tuple[tuple[str, str], ...] = ()  # label and node, where they differ (N14)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Samples of one metric.

    Attributes:
        metric: canonical id of the catalogue: `engine_active`, `gpu_util`, `power_watts`,
            `power_limit_watts`, `energy_joules`, `memory_used_bytes`, `gpu_other` (an
            exporter metric that only proves presence), `up`, or a kube-state name as it is
            (`kube_pod_info`).
        name: as the source spells it.
        scraper: of the samples.
        labels: all labels of kube-state and `up` series (without `exported_` if kube-state was
            scraped with honor_labels=false; `node` only where kube-state itself writes it, else
            `TARGET_NODE`); empty for exporter series.
        gpu: the GPU of an exporter series; None for others.
        times_ms: ascending; equal times are allowed (rules.md N2).
        values: in the canonical unit (utilization: ratio 0 to 1); NaN if the source reported NaN or
            a blank value.
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
        notes: faults that were found, as (code, subject, message).
        interval_ms: the source's configured interval, or None (rules.md N4).
        declared: names whose scale the source declares (rules.md N8).
        is_file: from imported files, not from a live source.
    """

    series: tuple[Series, ...]
    is_partial: bool = False
    notes: tuple[tuple[str, str, str], ...] = ()
    interval_ms: int | None = None
    declared: frozenset[str] = frozenset()
    is_file: bool = False


def content_hash(readings: Iterable[Reading]) -> bytes:
    """A hash of the content of readings, independent of the order of their series."""
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
    """BLAKE2b with 128 bits, as a number: a sum of hashes does not depend on the order."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest(), "big")
