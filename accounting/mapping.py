"""Rows become values and values become rows, here and nowhere else."""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accounting.domain.inventory import PodRecord
from accounting.domain.series import Scraper, Times

_SCALARS = (
    "node",
    "node_first_ms",
    "created_ms",
    "scheduled_ms",
    "terminal_phase",
    "terminal_first_ms",
    "completion_ms",
    "completion_at_ms",
    "owner_kind",
    "owner_name",
    "priority_class",
)


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
    return {
        key: value for key, value in found.items() if value not in (None, "", [], {})
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
    pod.scrapers = {Scraper(*parts) for parts in record.get("scrapers", [])}
    pod.requests = {
        (kind, container, resource): units
        for kind, container, resource, units in record.get("requests", [])
    }
    pod.sidecars = set(record.get("sidecars", []))
    pod.labels = [(at, labels) for at, labels in record.get("labels", [])]
    pod.claims = set(record.get("claims", []))
    pod.annotations = record.get("annotations", {})
    return pod


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
