"""Conversion of rows to values and back; only here."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from accounting.core.interval import Interval
from accounting.metering.rules.holds.gpu_assignment import Place
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.label_counts import Tally
from accounting.metering.rules.inventory.records import PodRecord
from accounting.metering.rules.samples.series import ScraperIdentity, Times
from accounting.metering.rules.samples.shown_scales import ShownScale
from accounting.metering.rules.units.geometry import GpuPart

_SCALARS = (
    "node",
    "node_first_ms",
    "node_last_ms",
    "created_ms",
    "scheduled_ms",
    "terminal_phase",
    "terminal_first_ms",
    "failed_reason",
    "has_run",
    "was_named",
    "completion_ms",
    "completion_at_ms",
    "owner_kind",
    "owner_name",
    "priority_class",
    "unschedulable_ms",
)


def scales_from_json(found: str) -> dict[str, ShownScale]:
    """What a scraper showed, by name, from the JSON of `Scraper.scales`."""
    return msgspec.json.decode(found, type=dict[str, ShownScale])


def pod_to_json(pod: PodRecord) -> dict[str, Any]:
    """A pod's evidence as the JSON of `Pod.record`."""
    found: dict[str, Any] = {name: getattr(pod, name) for name in _SCALARS}
    found["scrapers"] = sorted([s.job, s.instance, s.replica] for s in pod.scrapers)
    found["requests"] = sorted(
        [kind, container, resource, units]
        for (kind, container, resource), units in pod.requests.items()
    )
    found["sidecars"] = sorted(pod.sidecars)
    found["labels"] = pod.labels
    found["claims"] = sorted(pod.claims)
    found["annotations"] = pod.annotations
    found["tolerations"] = sorted(pod.tolerations)
    return {
        key: value
        for key, value in found.items()
        if value not in (None, "", [], {}) and value is not False
    }


def pod_from_row(
    uid: str,
    namespace: str,
    name: str,
    first_ms: int,
    last_ms: int,
    record: dict[str, Any],
) -> PodRecord:
    """A pod's evidence from its row."""
    pod = PodRecord(uid, namespace, name, first_ms, last_ms)
    for key in _SCALARS:
        if key in record:
            setattr(pod, key, record[key])
    pod.scrapers = {ScraperIdentity(*parts) for parts in record.get("scrapers", [])}
    pod.requests = {
        (kind, container, resource): units
        for kind, container, resource, units in record.get("requests", [])
    }
    pod.sidecars = set(record.get("sidecars", []))
    pod.labels = [(at, labels) for at, labels in record.get("labels", [])]
    pod.claims = set(record.get("claims", []))
    pod.annotations = record.get("annotations", {})
    pod.tolerations = {
        (key, operator, value, effect)
        for key, operator, value, effect in record.get("tolerations", [])
    }
    return pod


_PLACES = tuple[
    int, int, str, bool, list[tuple[str, int, str, str, bool]], int, int, bytes
]


@dataclass(frozen=True, slots=True)
class HoldLabels:
    """The stored counts of the labels that named a hold (rules.md N17).

    Attributes:
        held: the hold at the time of counting.
        node, is_shared: of that hold; they determine which labels count.
        tally: of all hours.
        places: the assigned GPUs and instances.
    """

    held: Interval
    node: str
    is_shared: bool
    tally: Tally
    places: frozenset[Place]


def labels_kept(hold: Hold, tally: Tally, places: Iterable[Place]) -> HoldLabels:
    """The stored counts of a hold: its samples, and the places that it has by them."""
    held = Interval(hold.bound_ms, max(hold.bound_ms, hold.booked_until_ms))
    return HoldLabels(held, hold.node, hold.is_shared, tally, frozenset(places))


def pack_labels(kept: HoldLabels) -> bytes:
    """The labels of a hold as stored in `PodHold.label_counts`."""
    every = sorted({*kept.tally.places, *kept.places})
    number = {place: n for n, place in enumerate(kept.tally.places)}
    counts = np.zeros((len(every), kept.tally.counts.shape[1]), "<i4")
    for n, place in enumerate(every):
        if place in number:
            counts[n] = kept.tally.counts[number[place]]
    named = [(*part, vgpu, (part, vgpu) in kept.places) for part, vgpu in every]
    head = (kept.held.start_ms, kept.held.end_ms, kept.node, kept.is_shared, named)
    width, packed = counts.shape[1], zlib.compress(counts.tobytes(), 1)
    return msgspec.msgpack.encode((*head, kept.tally.first_ms, width, packed))


def unpack_labels(stored: bytes) -> HoldLabels:
    """The labels of a hold, unpacked from the output of `pack_labels`."""
    found = msgspec.msgpack.decode(stored, type=_PLACES)
    start, end, node, is_shared, named, first_ms, width, packed = found
    every = [(GpuPart(uuid, n, kind), vgpu) for uuid, n, kind, vgpu, _ in named]
    counts = np.frombuffer(zlib.decompress(packed), "<i4").reshape(len(every), width)
    counted = np.flatnonzero(counts.any(axis=1))
    places = tuple(every[n] for n in counted.tolist())
    tally = Tally(places, first_ms, counts[counted].astype(np.int32))
    mapped = frozenset(p for p, row in zip(every, named, strict=True) if row[-1])
    return HoldLabels(Interval(start, end), node, is_shared, tally, mapped)


def pack_times(times: Times, hour_ms: int) -> bytes:
    """Sample times of one hour as stored: differences, compressed."""
    steps = np.diff(times - hour_ms, prepend=0).astype("<i4")
    return zlib.compress(steps.tobytes(), 1)


def unpack_times(packed: bytes, hour_ms: int) -> Times:
    """Sample times of one hour, milliseconds since 1970."""
    steps = np.frombuffer(zlib.decompress(packed), "<i4").astype(np.int64)
    return np.asarray(np.cumsum(steps) + hour_ms, dtype=np.int64)


def pack_steps(steps: NDArray[np.int32]) -> bytes:
    """The steps of samples as stored."""
    return zlib.compress(steps.astype("<i4").tobytes(), 1)


def unpack_steps(packed: bytes) -> NDArray[np.int32]:
    """The steps of samples in ms."""
    return np.frombuffer(zlib.decompress(packed), "<i4").astype(np.int32)
