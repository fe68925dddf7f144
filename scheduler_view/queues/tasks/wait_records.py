"""Keeps the instants of every unit that requests GPUs, waiting or running (scheduling.md S3)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from datetime import datetime

from accounting.core.interval import to_instant, to_ms
from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.rules.queued import Subject
from scheduler_view.queues.rules.unit_facts import unit_facts
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.cause import Stage
from scheduler_view.waits.rules.instants import (
    WaitInstants,
    instants_of,
    is_held,
    is_refused,
)
from scheduler_view.waits.rules.placement.gpu_requests import gpu_request
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.tasks.first_busy import BusyPods, busy_pods

BATCH = 500
INSTANTS = ("created_at", "admitted_at", "bound_at", "started_at", "first_busy_at")
WAITING = (
    "stage",
    "cause",
    "waits_since",
    "resource",
    "model",
    "units",
    "position",
    "count",
    "start_at",
    "low_at",
    "high_at",
    "start_word",
    "start_like",
    "start_kept",
)  # written by `start_estimates`
_ENDED = (
    "ended_at",
    "stage",
    "cause",
    "waits_since",
    "position",
    "count",
    "start_at",
    "low_at",
    "high_at",
    "start_word",
)
_OF_SPEC = ("tier", "priority", "pod_units", "backoff_limit", "deadline_s")
_POOL = (
    "resource",
    "model",
)  # where it was bound; while it waits, of `start_estimates`
_OF_OBJECTS = ("uid", "priority", "backoff_limit", "deadline_s")  # not in metrics
_WRITTEN = (
    *(*INSTANTS, "uid", "is_held", "ended_at", "is_from_metrics", "quiet_until"),
    *(*_OF_SPEC, *_POOL),
)


@dataclass(frozen=True, slots=True)
class _Seen:
    unit: WorkUnit
    uid: str
    instants: WaitInstants
    is_held: bool
    of_spec: Mapping[str, str | int | None]
    is_from_metrics: bool


def store_records(
    cluster: Cluster,
    index: WorldIndex,
    now: datetime,
    *,
    is_from_metrics: bool = False,
    others: Collection[Subject] = (),
) -> dict[Subject, WaitRecord]:
    """Write what changed; returns the records of all units that were observed.

    Args:
        is_from_metrics: what only objects show is kept from an earlier observation of them.
        others: units that are stored although they are not known to request GPUs.
    """
    open_rows = {
        (row.kind, row.namespace, row.name): row
        for row in WaitRecord.objects.filter(cluster=cluster, ended_at=None)
    }
    units = {
        _subject(one): one
        for one in index.units
        if _wants_gpus(index, one) or _subject(one) in others
    }
    reopened = _reopened(cluster, units, open_rows)
    busy = busy_pods(cluster, _never_busy(units, open_rows), now)
    found: dict[Subject, WaitRecord] = {}
    new, changed, over = [], [], []
    for subject, unit in units.items():
        old = open_rows.get(subject)
        uid = uid_of(unit)
        if old is not None and old.uid and uid and old.uid != uid:
            over.append(old)  # made again under the same name
            old = None
        old = old or reopened.get(uid)
        held = is_held(unit)
        seen = instants_of(
            index,
            unit,
            was_held=old is not None and old.is_held,
            was_refused=old is not None and old.stage == Stage.REFUSED,
        )
        of_spec = unit_facts(index, unit)
        found_now = _Seen(unit, uid, seen, held, of_spec, is_from_metrics)
        row = _merged(cluster, subject, old, found_now, busy)
        found[subject] = row
        if old is None:
            new.append(row)
        elif row is not old:
            changed.append(row)
    over += [row for subject, row in open_rows.items() if subject not in units]
    for row in over:
        row.ended_at, row.stage, row.cause, row.start_word = now, "", "", ""
        row.position = row.count = row.start_at = row.low_at = row.high_at = None
        row.waits_since = None
    WaitRecord.objects.bulk_update(over, _ENDED, batch_size=BATCH)
    WaitRecord.objects.bulk_update(changed, _WRITTEN, batch_size=BATCH)
    WaitRecord.objects.bulk_create(new, batch_size=BATCH)
    return found


def _subject(unit: WorkUnit) -> Subject:
    kind = unit.subject.partition("/")[0]
    return kind[:63], unit.namespace[:63], unit.name[:253]


def uid_of(unit: WorkUnit) -> str:
    """Of the unit's own object, or of the bare pod; empty for pods without an owner."""
    if unit.top is not None:
        return unit.top.uid[:64]
    return unit.pods[0].uid[:64] if unit.kind == "Pod" and unit.pods else ""


def _wants_gpus(index: WorldIndex, unit: WorkUnit) -> bool:
    world = index.world
    return any(
        gpu_request(world, pod.namespace, pod.spec, pod.claims) is not None
        for pod in unit.pods
    ) or any(
        maker.template is not None
        and gpu_request(world, maker.namespace, maker.template) is not None
        for maker, _ in unit.missing
    )


def _reopened(
    cluster: Cluster, units: Mapping[Subject, WorkUnit], known: Iterable[Subject]
) -> dict[str, WaitRecord]:
    """Records that ended, of units that are observed again: their first wait is theirs."""
    uids = {uid_of(one) for key, one in units.items() if key not in known} - {""}
    rows = WaitRecord.objects.filter(cluster=cluster, uid__in=uids)
    return {row.uid: row for row in rows.order_by("pk")}


def _merged(
    cluster: Cluster,
    subject: Subject,
    old: WaitRecord | None,
    seen: _Seen,
    busy: BusyPods,
) -> WaitRecord:
    """The old record itself if nothing changed."""
    instants = seen.instants
    if old is not None:
        kept = [getattr(old, name) for name in INSTANTS]
        before = WaitInstants(*(None if at is None else to_ms(at) for at in kept))
        if before.bound_ms is None and is_refused(seen.unit):
            before = replace(before, admitted_ms=None)
        instants = before.then(instants)
    quiet = old.quiet_until if old is not None else None
    if instants.first_busy_ms is None and instants.started_ms is not None:
        uids = [pod.uid for pod in seen.unit.bound]
        at, quiet = busy.first(uids, instants.started_ms, quiet)
        instants = instants.then(WaitInstants(first_busy_ms=at))
    known = [None if at is None else to_instant(at) for at in astuple(instants)]
    values = dict(zip(INSTANTS, known, strict=True))
    row = WaitRecord(
        cluster=cluster,
        kind=subject[0],
        namespace=subject[1],
        name=subject[2],
        uid=seen.uid,
        is_held=seen.is_held,
        is_from_metrics=seen.is_from_metrics,
        quiet_until=quiet,
        **values,
        **seen.of_spec,
    )
    if seen.is_from_metrics:
        _keep_of_objects(row, old)
    if old is None:
        return row
    for name in WAITING:
        if name not in _POOL or not seen.unit.bound:
            setattr(row, name, getattr(old, name))
    if all(getattr(old, name) == getattr(row, name) for name in _WRITTEN):
        return old
    row.pk = old.pk
    return row


def _keep_of_objects(row: WaitRecord, old: WaitRecord | None) -> None:
    """What metrics do not show, as earlier objects did: metrics have the class, not its value."""
    row.priority = None
    for name in _OF_OBJECTS if old is not None else ():
        setattr(row, name, getattr(old, name))


def _never_busy(
    units: Mapping[Subject, WorkUnit], records: Mapping[Subject, WaitRecord]
) -> list[str]:
    """Pods of units that were not busy yet, as far as is known."""
    return [
        pod.uid
        for subject, unit in units.items()
        for pod in unit.bound
        if (row := records.get(subject)) is None or row.first_busy_at is None
    ]


def forget_records(before: datetime) -> None:
    """Remove records of units that ended before."""
    WaitRecord.objects.filter(ended_at__lt=before).delete()
