"""Keeps why each unit waited, as long as it does not change (scheduling.md S21)."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from accounting.core.interval import to_instant
from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.models.memory import WaitStretch
from scheduler_view.queues.rules.queued import QueuedUnit, Subject
from scheduler_view.queues.tasks.history.pool_samples import LONGEST_GAP
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.explanation import BlockerSet, WaitExplanation
from scheduler_view.waits.rules.placement.gpu_requests import gpu_request
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.world.pods import PodObject

BATCH = 500
_VALUES = (
    *("stage", "cause", "priority", "units", "resource", "model"),
    *("lower_units", "lower_since", "lower_pods"),
)


def store_stretches(
    cluster: Cluster,
    index: WorldIndex,
    explanations: Iterable[WaitExplanation],
    queued: Iterable[QueuedUnit],
    records: Mapping[Subject, WaitRecord],
    now: datetime,
) -> None:
    """Extend the newest stretch of each unit that waits, or begin another one.

    As for pools, the time since the last observation has the values of then; the wait of a unit
    that was bound lasted until its bind. Units that are only starting do not wait.

    Args:
        records: with the stages of the last observation.
    """
    newest = WaitStretch.objects.filter(
        wait__cluster=cluster, until__gte=now - LONGEST_GAP
    ).order_by("wait", "-since")
    last = {row.wait_id: row for row in newest.distinct("wait")}
    waiting = {one.subject: one for one in queued}
    pods = {pod.uid: pod for pod in index.placed}
    extended, begun = [], []
    for one in explanations:
        subject = one.kind, one.namespace, one.name
        unit, record = waiting.get(subject), records.get(subject)
        if unit is None or record is None:
            continue
        row = _row(record, unit, one, now)
        if one.inverted is not None:
            _fill(row, index, one.inverted, pods)
        old = last.pop(record.pk, None) if record.stage else None
        if old is not None:
            extended.append(old.pk)
        if old is None or _values(old) != _values(row):
            begun.append(row)
    _end(last, records, now)
    WaitStretch.objects.filter(pk__in=extended).update(until=now)
    WaitStretch.objects.bulk_create(begun, ignore_conflicts=True, batch_size=BATCH)


def _end(
    last: Mapping[int, WaitStretch],
    records: Mapping[Subject, WaitRecord],
    now: datetime,
) -> None:
    """Stretches of units that were bound since the last observation end with the bind."""
    ended = []
    for record in records.values():
        row = last.get(record.pk)
        if row and record.bound_at and row.until < record.bound_at <= now:
            row.until = record.bound_at
            ended.append(row)
    WaitStretch.objects.bulk_update(ended, ["until"], batch_size=BATCH)


def _row(
    record: WaitRecord, unit: QueuedUnit, one: WaitExplanation, now: datetime
) -> WaitStretch:
    pool = unit.pools[0]
    return WaitStretch(
        wait=record,
        since=now,
        until=now,
        stage=one.stage.value,
        cause=one.cause.value,
        priority=one.priority,
        units=unit.units,
        resource=pool.resource[:317],
        model=pool.model[:253],
    )


def _fill(
    row: WaitStretch,
    index: WorldIndex,
    found: BlockerSet,
    pods: Mapping[str, PodObject],
) -> None:
    """The GPUs that a set of pods of lower priority holds, and since when all of them do.

    A set without GPUs, such as one that is short of CPU only, is left out.
    """
    units, since = 0, []
    for one in found.blockers:
        pod = pods.get(one.uid)
        request = pod and gpu_request(index.world, pod.namespace, pod.spec, pod.claims)
        if pod is None or not request or not request.units or one.since_ms is None:
            continue
        units += request.units
        since.append(one.since_ms)
        row.lower_pods = [*row.lower_pods, pod.uid]
    if since:
        row.lower_units = units
        row.lower_since = to_instant(max(since))


def _values(row: WaitStretch) -> list[object]:
    return [getattr(row, name) for name in _VALUES]


def forget_stretches(before: datetime) -> None:
    """Remove stretches that ended before."""
    WaitStretch.objects.filter(until__lt=before).delete()
