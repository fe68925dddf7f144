"""Raw samples of any source, and their conversion into series by the catalogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accounting.core.recent import Recent
from accounting.metering.rules.samples.series import (
    GpuKey,
    Reading,
    ScraperIdentity,
    Series,
)
from accounting.metering.sources.catalogue import (
    QUEUE_METRICS,
    Metric,
    gpu_key,
    gpu_metric_of,
    is_unknown_gpu_metric,
    known_name,
    metric_of,
    node_of,
    odd_label,
    overlong_label,
    queue_meaning,
    scraper_of,
    workload_labels,
)
from accounting.metering.sources.exposition import RawSeries

TOO_LONG = "Its value is longer than names of this kind can be. Its series are ignored."
ODD = "Its value has characters that are not valid in a name. Its series are ignored."


@dataclass(frozen=True, slots=True, eq=False)
class SampleBatch:
    """Samples of several series; `ids` index `series`, in any order of time."""

    series: Sequence[RawSeries]
    ids: NDArray[np.int32]
    times: NDArray[np.int64]  # milliseconds since 1970
    values: NDArray[np.float64]  # as reported by the source, unscaled


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a raw series, by the catalogue."""

    metric: Metric
    scraper: ScraperIdentity
    gpu: GpuKey | None
    labels: Mapping[str, str]


MOST_NODES = 10_000  # of one name: memory


@dataclass(slots=True)
class UnknownNames:
    """Names that look like GPU metrics and are not in the catalogue.

    Attributes:
        nodes: by name, the nodes in its series' labels, if any; the first `MOST_NODES`.
    """

    nodes: dict[str, set[str]] = field(default_factory=dict)

    def look_at(self, raw: RawSeries) -> None:
        """Record a series if its name is not known."""
        if is_unknown_gpu_metric(raw.name):
            self.add(raw.name, dict(raw.labels))

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Record a name, and the node in its labels."""
        node, nodes = node_of(labels), self.nodes.setdefault(name, set())
        if node and len(nodes) < MOST_NODES:
            nodes.add(node)


def build_reading(
    batch: SampleBatch,
    *,
    scales: Mapping[str, str],
    interval_ms: int | None = None,
    is_partial: bool = False,
    notes: tuple[tuple[str, str, str], ...] = (),
) -> Reading:
    """Series in canonical units from raw samples, each in order of time.

    Args:
        batch: samples of one source.
        scales: declared scale by metric name (rules.md N8).
        interval_ms: the source's declared interval (N4).
        is_partial: the source returned an incomplete response.
        notes: faults that were found while reading.
    """
    if not len(batch.ids):
        return Reading((), is_partial, notes, interval_ms, frozenset(scales))
    order = in_order(batch)
    ids, times, values = batch.ids[order], batch.times[order], batch.values[order]
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    ends = np.append(starts[1:], len(ids))
    declared = tuple(sorted(scales.items()))
    found: list[Series] = []
    faults: set[tuple[str, str, str]] = set()
    _meanings.begin(len(starts))
    for low, high in zip(starts.tolist(), ends.tolist(), strict=True):
        raw = batch.series[int(ids[low])]
        series = one_series(raw, times[low:high], values[low:high], declared)
        if series is not None:
            found.append(series)
        elif label := overlong_label(raw.labels):
            faults.add(("label_too_long", f"{raw.name}: {label}", TOO_LONG))
        elif label := odd_label(raw.labels):
            faults.add(("odd_label", f"{raw.name}: {label}", ODD))
    return Reading(
        tuple(found),
        is_partial,
        (*notes, *sorted(faults)),
        interval_ms,
        frozenset(scales),
    )


def in_order(batch: SampleBatch) -> NDArray[np.intp]:
    """Indices that sort by series, then time; samples are usually in order of time."""
    order = np.argsort(batch.ids, kind="stable")
    ids, times = batch.ids[order], batch.times[order]
    if np.all((times[1:] >= times[:-1]) | (ids[1:] != ids[:-1])):
        return order
    return np.lexsort((batch.times, batch.ids))


def one_series(
    raw: RawSeries,
    times: NDArray[np.int64],
    values: NDArray[np.float64],
    scales: "Scales",
) -> Series | None:
    """One series by the catalogue; None for one that belongs to no GPU or pod."""
    meaning = meaning_of(raw, scales)
    if meaning is None:
        return None
    scale, blank = meaning.metric.scale, meaning.metric.blank
    if blank is not None:
        values = _without_blanks(values, blank)
    return Series(
        metric=meaning.metric.id,
        name=known_name(raw.name),
        scraper=meaning.scraper,
        times_ms=times,
        values=values if scale == 1.0 else _scaled(values, scale),
        labels=meaning.labels,
        gpu=meaning.gpu,
    )


def _without_blanks(values: NDArray[np.float64], blank: float) -> NDArray[np.float64]:
    """NaN for a value that is not an amount: negative, infinite, or a mark for a missing value."""
    good = (values >= 0) & (values < blank)
    return values if good.all() else np.where(good, values, np.nan)


def _scaled(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Percent divides, so that 85 becomes exactly 0.85; others multiply."""
    return values / round(1 / scale) if scale < 1 else values * scale


Scales = tuple[tuple[str, str], ...]
_MISSING = object()
_meanings: Recent[tuple[RawSeries, Scales], Meaning | None] = Recent(10_000)


def meaning_of(raw: RawSeries, scales: Scales) -> Meaning | None:
    """The meaning of a raw series; cached, because a source reports the same series for hours."""
    key = raw, scales
    found = _meanings.get(key, _MISSING)
    if found is _MISSING:
        found = _meanings[key] = _meaning(raw, scales)
    return found  # type: ignore[return-value]  # not the mark


def _meaning(raw: RawSeries, scales: Scales) -> Meaning | None:
    if overlong_label(raw.labels) or odd_label(raw.labels):
        return None
    labels = dict(raw.labels)
    scraper = scraper_of(labels)
    if raw.name == "up" or raw.name.startswith("kube_"):
        metric = metric_of(raw.name, {})
        own = labels if raw.name == "up" else workload_labels(raw.name, labels)
        return Meaning(metric, scraper, None, own)
    if raw.name in QUEUE_METRICS:
        found = queue_meaning(raw.name, labels)
        return None if found is None else Meaning(found[0], scraper, None, found[1])
    gpu = gpu_key(labels)
    if gpu is None:
        return None
    metric = gpu_metric_of(known_name(raw.name), dict(scales), labels)
    return Meaning(metric, scraper, gpu, {})
