"""Merges exporter samples: when and where each GPU was sampled, and which pods its samples name."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.labels import is_own, label_of, union_of
from accounting.metering.rules.inventory.merge.operations import (
    ChangedRecords,
    Everything,
    merge_changes,
    put_spans,
    scraper_record,
    spans_of,
    within,
)
from accounting.metering.rules.inventory.records import (
    ClaimRecord,
    Device,
    GpuRecord,
    Inventory,
    LabelKey,
    Naming,
    SampleSpan,
    ScrapeLocation,
)
from accounting.metering.rules.samples.scraper_series import ScrapeSteps, steps_at
from accounting.metering.rules.samples.series import GpuKey, Series, Times
from accounting.metering.rules.units.geometry import GpuPart, observed, part_in


def observe_gpus(
    inventory: Inventory,
    everything: Everything,
    period: Interval,
    touched: ChangedRecords,
) -> None:
    """Merge every exporter sample and every exporter's own pod of a period."""
    _own_pods(inventory, everything, touched)
    _scrapers(inventory, everything, touched)
    steps = _steps(everything)
    fresh: dict[
        int, list[SampleSpan]
    ] = {}  # the GPUs of one exporter share their times
    for (uuid, place), track in steps.items():
        if id(track) not in fresh:
            low = bisect_left(track.times, period.start_ms)
            high = bisect_left(track.times, period.end_ms)
            fresh[id(track)] = spans_of(track.times[low:high], track.at)
        found = fresh[id(track)]
        record = inventory.gpus.setdefault(uuid, GpuRecord(uuid))
        if found and put_spans(record.spans.setdefault(place, []), found):
            touched.gpus.add(uuid)
    for series, _ in everything:
        if series.gpu is not None:
            _model(inventory, series.gpu, touched)
            _forget_other_names(inventory, series, period, touched)
    _geometries(inventory, everything, period, touched)
    _claims(inventory, everything, period, touched)
    _labels(inventory, everything, steps, period, touched)


Tracks = dict[
    tuple[str, ScrapeLocation], ScrapeSteps
]  # by UUID and place: samples of any metric


def _steps(everything: Everything) -> Tracks:
    """The steps of every GPU at every place, from all its metrics together (N4, N14)."""
    arrays: dict[tuple[str, ScrapeLocation], dict[bytes, Times]] = defaultdict(dict)
    intervals: dict[tuple[str, ScrapeLocation], int | None] = {}
    for series, reading in everything:
        if series.gpu is not None:
            key = (series.gpu.uuid, ScrapeLocation(series.gpu.node, series.scraper))
            arrays[key].setdefault(series.times_ms.tobytes(), series.times_ms)
            intervals[key] = reading.interval_ms
    known: dict[tuple[str, bytes], ScrapeSteps] = {}
    others: dict[str, list[ScrapeSteps]] = defaultdict(list)
    found: Tracks = {}
    for key, parts in arrays.items():
        node = key[1].node
        times = _together(list(parts.values()))
        same = (node, times.tobytes())
        steps = known.get(same)
        if steps is None:
            steps = known[same] = ScrapeSteps(
                times.tolist(), intervals[key], others[node]
            )
        others[node].append(steps)
        found[key] = steps
    return found


def _together(parts: Sequence[Times]) -> Times:
    """Every time of ascending parts once."""
    if len(parts) == 1 and bool(np.all(np.diff(parts[0]) > 0)):
        return parts[0]
    times: Times = np.sort(np.concatenate(parts))
    once: Times = times[np.diff(times, prepend=times[0] - 1) > 0]
    return once


def _claims(
    inventory: Inventory,
    everything: Everything,
    period: Interval,
    touched: ChangedRecords,
) -> None:
    """Which devices exporters show for which claim; devices from the API are more reliable."""
    for series, _ in everything:
        gpu = series.gpu
        claim = None if gpu is None else gpu.claim
        if (
            gpu is None
            or claim is None
            or not len(series.times_ms[within(series, period)])
        ):
            continue
        key = (claim.namespace, claim.name)
        record = inventory.claims.setdefault(key, ClaimRecord(*key))
        part = part_in(gpu)
        label = label_of(series)
        is_named = label is not None and not is_own(label, inventory)
        found = Device(
            claim.driver,
            gpu.node or claim.pool,
            claim.device,
            part.uuid,
            part.instance,
            part.kind,
            (label.pod.uid or label.pod.pod) if label and is_named else "",
        )
        if not record.is_observed and found not in record.devices:
            record.devices.add(found)
            touched.claims.add(key)


def _geometries(
    inventory: Inventory,
    everything: Everything,
    period: Interval,
    touched: ChangedRecords,
) -> None:
    """How each GPU that is or was partitioned is divided."""
    divided = {
        series.gpu.uuid
        for series, _ in everything
        if series.gpu is not None and series.gpu.instance
    }
    divided.update(uuid for uuid, record in inventory.gpus.items() if record.geometry)
    shown: dict[str, dict[GpuPart, list[Times]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for series, _ in everything:
        gpu = series.gpu
        if gpu is not None and gpu.uuid in divided:
            times = series.times_ms[within(series, period)]
            shown[gpu.uuid][part_in(gpu)].append(times)
    for uuid, parts in shown.items():
        found = observed(parts)
        if found:
            last = max(int(t[-1]) for every in parts.values() for t in every if len(t))
            if merge_changes(inventory.gpus[uuid].geometry, found, last):
                touched.gpus.add(uuid)


def _labels(
    inventory: Inventory,
    everything: Everything,
    steps: Tracks,
    period: Interval,
    touched: ChangedRecords,
) -> None:
    """When samples named which pod."""
    shown: dict[LabelKey, dict[bytes, Naming]] = defaultdict(dict)
    made: dict[tuple[int, bytes], Naming] = {}  # the GPUs of one exporter share these
    for series, _ in everything:
        label = label_of(series)
        if label is None or is_own(label, inventory):
            continue
        times = series.times_ms[within(series, period)]
        key = times.tobytes()
        if len(times) and key not in shown[label]:
            track = steps[label.uuid, label.place]
            same = (id(track), key)
            if same not in made:
                made[same] = Naming(times, steps_at(track, times).astype(np.int32))
            shown[label][key] = made[same]
    for label, parts in shown.items():
        new = union_of(parts.values())
        known = inventory.gpu_labels.get(label)
        if known is not None:
            is_old = ~np.isin(known.times, new.times)
            new = union_of([Naming(known.times[is_old], known.steps[is_old]), new])
        if known is None or not _equal(known, new):
            inventory.gpu_labels[label] = new
            touched.labels.add(label)


def _equal(a: Naming, b: Naming) -> bool:
    return np.array_equal(a.times, b.times) and np.array_equal(a.steps, b.steps)


def _own_pods(
    inventory: Inventory, everything: Everything, touched: ChangedRecords
) -> None:
    for series, _ in everything:
        if series.metric == "up" and series.labels.get("pod"):
            own = (series.labels.get("namespace", ""), series.labels["pod"])
            if own not in inventory.own_pods:
                inventory.own_pods.add(own)
                touched.own_pods.add(own)


def _scrapers(
    inventory: Inventory, everything: Everything, touched: ChangedRecords
) -> None:
    for series, _ in everything:
        if series.gpu is None:
            continue
        if series.scraper not in inventory.scrapers:
            touched.scrapers.add(series.scraper)
        record = scraper_record(inventory, series.scraper)
        if series.gpu.exported is not None and not record.shows_exported:
            record.shows_exported = True
            if series.scraper not in touched.scrapers:
                touched.renaming.add(series.scraper)
            touched.scrapers.add(series.scraper)


def _forget_other_names(
    inventory: Inventory, series: Series, period: Interval, touched: ChangedRecords
) -> None:
    """Drop spans of the period on a name that was taken for the node before it was shown."""
    gpu = series.gpu
    for _, name in gpu.names if gpu is not None else ():
        place = ScrapeLocation(name, series.scraper)
        spans = inventory.gpus[gpu.uuid].spans if gpu is not None else {}
        if gpu is None or name == gpu.node or place not in spans:
            continue
        kept = [
            span
            for span in spans[place]
            if span.last_ms < period.start_ms or span.first_ms >= period.end_ms
        ]
        if len(kept) < len(spans[place]):
            touched.gpus.add(gpu.uuid)
            spans[place] = kept
            if not kept:
                del spans[place]


def _model(inventory: Inventory, gpu: GpuKey, touched: ChangedRecords) -> None:
    record = inventory.gpus[gpu.uuid]
    if gpu.model and not record.model:
        record.model = gpu.model
        touched.gpus.add(gpu.uuid)
