"""Waits of units that are over or still last, as observations keep them (S21, S22, S23)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Max, Min, Q

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod, PodHold, Workload
from scheduler_view.clusters.models import WAITS, ObservationRun
from scheduler_view.queues.models.memory import WaitStretch
from scheduler_view.queues.rules.pools import ResourcePool
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.savings.mapping import runs_from_json
from scheduler_view.savings.models import HeldDay
from scheduler_view.savings.rules.held_time import HeldTime
from scheduler_view.savings.rules.waiting.inversion import InvertedStretch
from scheduler_view.savings.rules.waiting.starvation import (
    LEAST_MS,
    LOOK_BACK_MS,
    PastWait,
)
from scheduler_view.waits.models import WaitRecord

UnitKey = tuple[str, str, str]  # kind, namespace, name


@dataclass(frozen=True, slots=True)
class InvertedUnit:
    """A unit that waited behind lower priorities on one day.

    Attributes:
        number: of its wait record.
        since_ms: when it was created; None if unknown.
        stretches: cut to the day, in order of time.
    """

    number: int
    key: UnitKey
    since_ms: int | None
    stretches: tuple[InvertedStretch, ...]


def inverted_units(
    cluster: Cluster, start: datetime, end: datetime
) -> list[InvertedUnit]:
    """Units with stretches in [start, end) in which lower priorities held enough."""
    rows = list(
        WaitStretch.objects.filter(
            wait__cluster=cluster,
            until__gt=start,
            since__lt=end,
            lower_units__gt=0,
            lower_since__isnull=False,
        )
        .annotate(first=Min("wait__stretches__since"))
        .select_related("wait")
        .order_by("wait", "since")
    )
    uids = {uid for row in rows for uid in row.lower_pods}
    found = Pod.objects.filter(cluster=cluster, uid__in=uids)
    numbers = dict(found.values_list("uid", "pk"))
    of_wait: dict[WaitRecord, list[InvertedStretch]] = defaultdict(list)
    for row in rows:
        is_first = row.since == row.first
        of_wait[row.wait].append(_stretch(row, numbers, start, end, is_first=is_first))
    return [
        InvertedUnit(
            wait.pk,
            (wait.kind, wait.namespace, wait.name),
            None if wait.created_at is None else to_ms(wait.created_at),
            tuple(own),
        )
        for wait, own in of_wait.items()
    ]


def _stretch(
    row: WaitStretch,
    numbers: Mapping[str, int],
    start: datetime,
    end: datetime,
    *,
    is_first: bool,
) -> InvertedStretch:
    since = row.lower_since or row.since
    return InvertedStretch(
        to_ms(max(row.since, start)),
        to_ms(min(row.until, end)),
        row.priority,
        row.units,
        row.lower_units or 0,
        to_ms(since),
        tuple(numbers[uid] for uid in row.lower_pods if uid in numbers),
        is_first=is_first,
    )


def holds_on(cluster: Cluster, day: date, pods: Collection[int]) -> dict[int, HeldTime]:
    """The holds of pods, with the windows of one billing day, by number."""
    bounds = {
        pod: (bound, None if is_open else ended)
        for pod, bound, ended, is_open in PodHold.objects.filter(pod__in=pods)
        .values_list("pod")
        .annotate(
            bound=Min("bound_ms"),
            ended=Max("ended_ms"),
            opened=Max("pod", filter=Q(ended_ms=None)),
        )
        .order_by()
    }
    rows = HeldDay.objects.filter(cluster=cluster, day=day, pod__in=pods)
    return {
        row.pod_id: HeldTime(
            row.pod_id,
            *bounds[row.pod_id],
            kind="",
            runs=tuple(runs_from_json(row.day, row.runs)),
        )
        for row in rows
        if row.pod_id in bounds
    }


@dataclass(frozen=True, slots=True)
class PastWaits:
    """Waits up to an instant.

    Attributes:
        long: longer than a day, and not over before the day.
        others: all that could have overtaken them, and those of the 28 days before.
        keys: of the long ones, by number.
    """

    now_ms: int
    long: tuple[PastWait, ...]
    others: tuple[PastWait, ...]
    keys: Mapping[int, UnitKey]


def past_waits(cluster: Cluster, start: datetime, end: datetime) -> PastWaits | None:
    """Waits of a day; None if none is long, or nothing was observed."""
    seen = ObservationRun.objects.filter(cluster=cluster, kind=WAITS).first()
    if seen is None or seen.seen_at is None or seen.seen_at <= start:
        return None
    now = min(end, seen.seen_at)
    records = WaitRecord.objects.filter(cluster=cluster, created_at__isnull=False)
    long = records.filter(
        Q(bound_at=None) | Q(bound_at__gt=start),
        Q(ended_at=None) | Q(ended_at__gt=start),
        created_at__lt=now - timedelta(milliseconds=LEAST_MS),
        priority__isnull=False,
        pod_units__gt=0,
    )
    own = [(row, _past(row)) for row in long]
    if not own:
        return None
    first = min(row.created_at for row, _ in own if row.created_at is not None)
    since = min(first, now - timedelta(milliseconds=LOOK_BACK_MS))
    others = records.filter(bound_at__gte=since, bound_at__lte=now)
    return PastWaits(
        to_ms(now),
        tuple(one for _, one in own),
        tuple(_past(row) for row in others.iterator()),
        {row.pk: (row.kind, row.namespace, row.name) for row, _ in own},
    )


def _past(row: WaitRecord) -> PastWait:
    created, bound, ended = (
        None if at is None else to_ms(at)
        for at in (row.created_at, row.bound_at, row.ended_at)
    )
    return PastWait(
        row.pk,
        ResourcePool(row.resource, row.model),
        row.tier,
        row.priority,
        row.pod_units,
        created or 0,
        bound,
        ended,
    )


class UnitOwners:
    """Team and workload of units, read once for all."""

    def __init__(self, cluster: Cluster, keys: Iterable[UnitKey], at: datetime) -> None:
        wanted = set(keys)
        self._teams = owners(cluster.pk, {key[1] for key in wanted}, at)
        rows = Workload.objects.filter(
            cluster=cluster, name__in={key[2] for key in wanted}
        ).values_list("kind", "namespace__name", "name", "pk")
        self._workloads = {(kind, space, name): pk for kind, space, name, pk in rows}

    def team(self, key: UnitKey) -> int:
        """The number of the team of its namespace; 0 without one."""
        return self._teams.get(key[1], 0)

    def workload(self, key: UnitKey) -> int | None:
        """The number of its workload; None if it never had pods in metrics."""
        return self._workloads.get(key)


def deadlines_of(cluster: Cluster, names: Collection[str]) -> dict[UnitKey, int]:
    """`activeDeadlineSeconds` of units by kind, namespace and name, as last observed."""
    return _newest(cluster, names, "deadline_s")


def backoff_limits_of(cluster: Cluster, names: Collection[str]) -> dict[UnitKey, int]:
    """`backoffLimit` of Jobs by kind, namespace and name, as last observed."""
    return _newest(cluster, names, "backoff_limit")


def _newest(
    cluster: Cluster, names: Collection[str], column: str
) -> dict[UnitKey, int]:
    rows = WaitRecord.objects.filter(
        cluster=cluster, name__in=names, **{f"{column}__isnull": False}
    ).order_by("pk")
    found = rows.values_list("kind", "namespace", "name", column)
    return {(kind, space, name): value for kind, space, name, value in found}
