"""Queues of a batch scheduler: the newest value of each of their metrics, and their sums.

Not part of the ledger: a queue admits work but holds no GPUs (trap T30).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import within
from accounting.metering.rules.samples.series import Reading
from accounting.metering.rules.units.resources import kubernetes_resource, sanitised

PREFIX = "queue_"
# a part that is this much older than the newest no longer exists
STALE_MS = 15 * 60_000
UNLIMITED = "unlimited"


class QueueKey(NamedTuple):
    """One value of one queue.

    Attributes:
        resource: in Kubernetes' spelling; empty for counts of workloads.
        field: quota, borrowing_limit, used, pending, requested, waiting, preempted, preempting.
        part: flavor, status or reason: parts of one field are summed.
    """

    scheduler: str
    queue: str
    resource: str
    field: str
    part: str


class QueueValue(NamedTuple):
    """A sample; infinity means no limit."""

    at_ms: int
    value: float


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """One queue and resource, in units; None for values that the scheduler does not report.

    Integers, except for KAI, which counts fractions of GPUs.

    Attributes:
        quota: the guaranteed units (Kueue: nominal, Volcano: deserved); KAI: or `unlimited`.
        borrowing_limit: above the quota; `unlimited` if none is set.
        borrowed: used above the quota, flavor by flavor.
        pending: requested and not admitted.
        waiting: workloads that are not admitted.
        preempted: workloads that it lost, since its controller started.
        preempting: workloads of any queue that were preempted for it.
        at_ms: time of the newest sample.
    """

    scheduler: str
    queue: str
    resource: str
    quota: int | float | str | None = None
    borrowing_limit: int | float | str | None = None
    used: int | float | None = None
    borrowed: int | float | None = None
    pending: int | float | None = None
    waiting: int | None = None
    preempted: int | None = None
    preempting: int | None = None
    at_ms: int = 0

    @property
    def figures(self) -> tuple[int | float | str | None, ...]:
        """In the order of a table: quota, limit, used, borrowed, pending, workloads."""
        return (
            self.quota,
            self.borrowing_limit,
            self.used,
            self.borrowed,
            self.pending,
            self.waiting,
            self.preempted,
            self.preempting,
        )


def newest_values(
    readings: Iterable[Reading], period: Interval, added: Mapping[str, str]
) -> dict[QueueKey, QueueValue]:
    """The newest value of each metric of GPUs or workloads in a period.

    Args:
        readings: of all sources of the cluster.
        period: half-open.
        added: resources that an administrator added, by kube-state's spelling.
    """
    found: dict[QueueKey, QueueValue] = {}
    for reading in readings:
        for series in reading.series:
            if not series.metric.startswith(PREFIX):
                continue
            labels, inside = series.labels, within(series, period)
            resource = labels["resource"]
            name = kubernetes_resource(sanitised(resource), added) if resource else ""
            if name is None or not len(series.times_ms[inside]):
                continue
            sample = QueueValue(
                int(series.times_ms[inside][-1]), float(series.values[inside][-1])
            )
            if math.isnan(sample.value):
                continue
            key = QueueKey(
                labels["scheduler"],
                labels["queue"],
                name,
                series.metric.removeprefix(PREFIX),
                labels["part"],
            )
            found[key] = max(sample, found.get(key, sample))
    return found


def queue_facts(values: Mapping[QueueKey, QueueValue]) -> list[QueueFacts]:
    """The sums of one cluster's stored values, by queue and resource."""
    newest: dict[str, int] = {}
    for key, value in values.items():
        newest[key.scheduler] = max(newest.get(key.scheduler, 0), value.at_ms)
    parts: dict[tuple[str, str, str], dict[str, dict[str, QueueValue]]] = {}
    for key, value in values.items():
        if value.at_ms >= newest[key.scheduler] - STALE_MS:
            fields = parts.setdefault((key.scheduler, key.queue, key.resource), {})
            fields.setdefault(key.field, {})[key.part] = value
    queues = {(scheduler, queue) for scheduler, queue, _ in parts}
    return [
        _facts(scheduler, queue, resource, parts)
        for scheduler, queue in sorted(queues)
        for resource in _resources(scheduler, queue, parts)
    ]


Parts = Mapping[tuple[str, str, str], Mapping[str, Mapping[str, QueueValue]]]


def _resources(scheduler: str, queue: str, parts: Parts) -> Sequence[str]:
    """Resources of a queue; a queue without any is one row."""
    named = sorted(r for s, q, r in parts if (s, q) == (scheduler, queue) and r)
    return named or [""]


def _facts(scheduler: str, queue: str, resource: str, parts: Parts) -> QueueFacts:
    own = dict(parts.get((scheduler, queue, resource), {}))
    own |= parts.get((scheduler, queue, ""), {})  # counts of workloads have no resource
    quota, used = own.get("quota", {}), own.get("used", {})
    borrowed = [
        max(0.0, value.value - quota[part].value)
        for part, value in used.items()
        if part in quota
    ]
    total, asked = _sum(used), _sum(own.get("requested", {}))
    pending = _sum(own.get("pending", {}))
    if pending is None and asked is not None:
        pending = max(0, asked - (total or 0))
    return QueueFacts(
        scheduler=scheduler,
        queue=queue,
        resource=resource,
        quota=_sum(quota),
        borrowing_limit=_limit(own.get("borrowing_limit", {})),
        used=total,
        borrowed=round(sum(borrowed)) if borrowed else None,
        pending=pending,
        waiting=_sum(own.get("waiting", {})),
        preempted=_sum(own.get("preempted", {})),
        preempting=_sum(own.get("preempting", {})),
        at_ms=max(v.at_ms for found in own.values() for v in found.values()),
    )


def _sum(parts: Mapping[str, QueueValue]) -> int | None:
    finite = [v.value for v in parts.values() if math.isfinite(v.value)]
    return round(sum(finite)) if finite else None


def _limit(parts: Mapping[str, QueueValue]) -> int | str | None:
    if any(math.isinf(value.value) for value in parts.values()):
        return UNLIMITED
    return _sum(parts)
