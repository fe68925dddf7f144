"""Says how soon waiting units start, and keeps estimates to measure their error (S18, S19)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Max

from accounting.access.reads.billing_settings import billing_at
from accounting.core.interval import to_instant, to_ms
from accounting.metering.models.cluster import Cluster
from scheduler_view.queues.models.queues import StartEstimate
from scheduler_view.queues.reads.durations import (
    groups_of,
    hold_durations,
    owners_of_pods,
)
from scheduler_view.queues.reads.estimate_errors import estimate_errors
from scheduler_view.queues.reads.past_lengths import past_lengths
from scheduler_view.queues.rules.accuracy import EstimatedStart, may_be_shown
from scheduler_view.queues.rules.like_waits import (
    SaidStart,
    StartWord,
    horizons,
    is_endless,
    said_start,
    size_class,
)
from scheduler_view.queues.rules.pools import ResourcePool
from scheduler_view.queues.rules.queued import (
    QueuedUnit,
    QueueReader,
    Subject,
    positions_of,
)
from scheduler_view.queues.rules.starts import (
    ENDS_BY_ITSELF,
    ESTIMATED,
    RunningHold,
    estimate_starts,
)
from scheduler_view.queues.tasks.wait_records import WAITING
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.placement.gpu_requests import gpus_of
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import LASTING
from scheduler_view.waits.rules.world.nodes import model_of
from scheduler_view.waits.rules.world.pods import PodObject

FIRST_AFTER = timedelta(seconds=60)  # after the unit was made; then hourly
AGAIN_AFTER = timedelta(hours=1)
BATCH = 500
_TIMES = ("start_at", "low_at", "high_at")


def store_estimates(
    cluster: Cluster,
    reader: QueueReader,
    explanations: Iterable[WaitExplanation],
    queued: Sequence[QueuedUnit],
    records: Mapping[Subject, WaitRecord],
    now: datetime,
) -> None:
    """Write positions and estimated starts of what waits; units that do not wait have none."""
    index = reader.index
    found = {(one.kind, one.namespace, one.name): one for one in explanations}
    starts: dict[Subject, EstimatedStart] = {}
    said: dict[Subject, SaidStart] = {}
    if any(one.cause in ENDS_BY_ITSELF for one in queued):
        said = _said(cluster, queued, found, records, now)
    if any(one.cause in ESTIMATED for one in queued):
        starts = estimate_starts(
            index.rooms,
            queued,
            _holds(cluster, index, now),
            hold_durations(now),
            to_ms(now),
            reader.shortages(queued),
        )
    shown = _measured(cluster, starts, queued, now)
    store_waiting(queued, found, records, said=said, starts=shown)
    _keep(starts, records, now)


def _said(
    cluster: Cluster,
    queued: Iterable[QueuedUnit],
    explanations: Mapping[Subject, WaitExplanation],
    records: Mapping[Subject, WaitRecord],
    now: datetime,
) -> dict[Subject, SaidStart]:
    """How soon units start that need no change to start; nothing of those whose age is unknown."""
    lengths = past_lengths(cluster.pk, now)
    ends = horizons(now.astimezone(billing_at(now).zone))
    found = {}
    for one in queued:
        why, row = explanations.get(one.subject), records.get(one.subject)
        since = _waits_since(row, why) if row is not None and why is not None else None
        if one.cause not in ENDS_BY_ITSELF or why is None or since is None:
            continue
        if is_endless(why.blockers, why.blocker_sets):
            found[one.subject] = SaidStart(StartWord.ENDLESS)
            continue
        key = one.cause.value, one.pools[0], size_class(one.units)
        waited_ms = to_ms(now) - to_ms(since)
        found[one.subject] = said_start(lengths.get(key, ()), waited_ms, ends)
    return found


def _measured(
    cluster: Cluster,
    starts: Mapping[Subject, EstimatedStart],
    queued: Iterable[QueuedUnit],
    now: datetime,
) -> dict[Subject, EstimatedStart]:
    """Estimates that may be shown as a time of day: of pools whose ranges mostly held."""
    errors = estimate_errors() if starts else {}
    places = positions_of(queued) if errors else {}
    return {
        subject: one
        for subject, one in starts.items()
        if errors
        and (error := errors.get((cluster.pk, places[subject].pool))) is not None
        and may_be_shown(one, error.held, to_ms(now))
    }


def store_waiting(
    queued: Iterable[QueuedUnit],
    explanations: Mapping[Subject, WaitExplanation],
    records: Mapping[Subject, WaitRecord],
    *,
    said: Mapping[Subject, SaidStart],
    starts: Mapping[Subject, EstimatedStart],
) -> None:
    """Write why units wait, for what, and since when; units from metrics have no position."""
    units = list(queued)
    positions = positions_of(units)
    waiting = {one.subject: one for one in units}
    changed = []
    for subject, row in records.items():
        before = [getattr(row, name) for name in WAITING]
        unit = waiting.get(subject)
        one = explanations.get(subject)
        row.stage, row.cause = (one.stage.value, one.cause.value) if one else ("", "")
        row.waits_since = _waits_since(row, one) if one else None
        row.position = row.count = row.start_at = row.low_at = row.high_at = None
        if unit is not None:
            place = positions[subject]
            row.resource, row.model = place.pool.resource[:317], place.pool.model[:253]
            row.units = unit.units
            if not row.is_from_metrics:  # which do not show priorities
                row.position = place.rank
                row.count = None if place.rank is None else place.count
        word = said.get(subject)
        row.start_word = word.word.value if word else ""
        row.start_like, row.start_kept = (word.like, word.kept) if word else (0, 0)
        if subject in starts:
            row.start_at, row.low_at, row.high_at = _instants(starts[subject])
        if before != [getattr(row, name) for name in WAITING]:
            changed.append(row)
    WaitRecord.objects.bulk_update(changed, WAITING, batch_size=BATCH)


def _waits_since(row: WaitRecord, one: WaitExplanation) -> datetime | None:
    """When the unit was created; a service is older than its pods that wait."""
    if one.kind in LASTING and one.since_ms is not None:
        return to_instant(one.since_ms)
    return row.created_at


def _instants(
    one: EstimatedStart,
) -> tuple[datetime, datetime | None, datetime | None]:
    low = None if one.low_ms is None else to_instant(one.low_ms)
    return to_instant(one.start_ms), low, (
        None if one.high_ms is None else to_instant(one.high_ms)
    )  # fmt: skip


def _keep(
    starts: Mapping[Subject, EstimatedStart],
    records: Mapping[Subject, WaitRecord],
    now: datetime,
) -> None:
    """Keep the estimates of units whose first bind will measure them."""
    due = {
        row: one
        for subject, one in starts.items()
        if (row := records.get(subject)) is not None
        and row.bound_at is None
        and row.created_at is not None
        and row.created_at + FIRST_AFTER <= now
    }
    kept = StartEstimate.objects.filter(wait__in=due).values_list("wait")
    last = dict(kept.annotate(last=Max("made_at")).order_by())
    StartEstimate.objects.bulk_create(
        [
            StartEstimate(
                wait=row,
                made_at=now,
                resource=row.resource,
                model=row.model,
                **dict(zip(_TIMES, _instants(one), strict=True)),
            )
            for row, one in due.items()
            if row.pk not in last or last[row.pk] <= now - AGAIN_AFTER
        ],
        ignore_conflicts=True,
        batch_size=BATCH,
    )


def _holds(cluster: Cluster, index: WorldIndex, now: datetime) -> list[RunningHold]:
    """Every pod that holds GPUs on a node."""
    added = index.world.added
    holding = [
        (pod, max(gpus)) for pod in index.placed if (gpus := gpus_of(pod.spec, added))
    ]
    owners = owners_of_pods(cluster.pk, [pod.uid for pod, _ in holding], now)
    return [
        RunningHold(
            pod.uid,
            pod.node,
            pod.spec.requests,
            _bound_ms(pod, to_ms(now)),
            groups_of(
                *owners.get(pod.uid, (None, "", "")),
                ResourcePool(resource, _model(index, pod)),
                pod.spec.priority_class,
            ),
            pod.is_ending,
        )
        for pod, resource in holding
    ]


def _model(index: WorldIndex, pod: PodObject) -> str:
    room = index.rooms.get(pod.node)
    return "" if room is None else model_of(room.node.labels)


def _bound_ms(pod: PodObject, now_ms: int) -> int:
    told = pod.scheduled.since_ms if pod.scheduled is not None else None
    return told or pod.created_ms or now_ms
