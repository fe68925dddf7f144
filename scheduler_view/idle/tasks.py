"""Finds the holds of a cluster that are idle now, and stores them with each window (S37).

Two looks: which holds did nothing in the last quarter of an hour, from the newest facts; and since
when, for those alone. Past windows are read from what findings keep of them (`HeldDay`, made again
every hour of the running day), so that a hold that is idle for a week costs no more than one that
is idle for an hour. Running it twice changes nothing; a killed run leaves the rows of before.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from django.db import transaction
from django.db.models import Min

from accounting.access.reads.billing_settings import billing_day
from accounting.core.interval import DAY_MS, WINDOW_MS, to_instant
from accounting.kit.failpoints import reach
from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster, Gpu
from accounting.metering.models.pod import Pod, PodHold
from accounting.usage.reads.windows import newest_end_ms
from scheduler_view.idle.models import IdleHold, IdleLook
from scheduler_view.idle.reads import owner_labels
from scheduler_view.idle.rules import IdleTime, held_at, idle_time, owner_of
from scheduler_view.savings.reads.work import kept_runs, last_labels, window_times
from scheduler_view.savings.rules.held_time import HeldTime, WindowTime, runs_by_pod
from scheduler_view.waits.rules.activity import Activity, activity_of

LATEST_MS = 3 * WINDOW_MS  # without work in it, a hold is looked at
LOOK_BACK_MS = 2 * DAY_MS  # where nothing is kept of past windows yet
VALUES = (
    *("cluster", "team", "model", "gpus", "since_ms", "until_ms", "idle_ms"),
    *("gpu_ms", "raw", "unpriced_ms", "rate", "currency", "owner"),
)


def find_idle(cluster: Cluster) -> int | None:
    """Replace the idle holds of a cluster; how many, or None if no window is newer."""
    until_ms = newest_end_ms(cluster.pk)
    if until_ms is None or _is_later(cluster, until_ms):
        return None
    latest = _latest(cluster, until_ms)
    holds = _holds(cluster, latest, until_ms)
    rows = _rows(cluster, latest, holds, until_ms)
    with transaction.atomic():
        lock("idle", cluster.pk)
        if _is_later(cluster, until_ms):
            return None  # another worker was quicker, with a newer window
        stored = IdleHold.objects.filter(cluster=cluster)
        stored.exclude(pod__in=[row.pod_id for row in rows]).delete()
        reach("idle_finding")
        IdleHold.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["pod"],
            update_fields=VALUES,
        )
        IdleLook.objects.update_or_create(
            cluster=cluster, defaults={"until_ms": until_ms}
        )
    return len(rows)


def _is_later(cluster: Cluster, until_ms: int) -> bool:
    """Whether what is stored is of this window or of a newer one."""
    return IdleLook.objects.filter(cluster=cluster, until_ms__gte=until_ms).exists()


def _latest(cluster: Cluster, until_ms: int) -> Mapping[int, list[WindowTime]]:
    """The newest windows of each pod that did no work in any of them."""
    found: dict[int, list[WindowTime]] = defaultdict(list)
    for one in _windows(cluster, until_ms - LATEST_MS, until_ms):
        found[one.pod].append(one)
    return {
        pod: windows
        for pod, windows in found.items()
        if Activity.BUSY not in map(_activity, _by_start(windows))
    }


def _by_start(windows: Iterable[WindowTime]) -> list[list[WindowTime]]:
    return [[*of] for _, of in groupby(windows, key=lambda one: one.start_ms)]


def _activity(parts: Sequence[WindowTime]) -> Activity:
    return activity_of(
        sum(one.busy_ms for one in parts),
        sum(one.idle_ms for one in parts),
        sum(one.unknown_ms for one in parts),
    )


def _holds(
    cluster: Cluster, pods: Collection[int], until_ms: int
) -> dict[int, HeldTime]:
    """What is known of the time of holds that have not ended."""
    bound = dict(
        PodHold.objects.filter(pod__in=pods, ended_ms=None)
        .values_list("pod")
        .annotate(Min("bound_ms"))
    )
    runs = kept_runs(cluster, bound)
    known = {
        pod: max((run.end_ms for run in runs[pod]), default=bound_ms)
        for pod, bound_ms in bound.items()
    }
    if known:
        earliest = max(min(known.values()), until_ms - LOOK_BACK_MS)
        today = billing_day(to_instant(until_ms)).toordinal()
        windows = (
            one
            for one in _windows(cluster, earliest, until_ms)
            if one.pod in known and one.start_ms + WINDOW_MS > known[one.pod]
        )
        for pod, found in runs_by_pod(windows, today):
            runs[pod] += found
    return {
        pod: HeldTime(pod, bound_ms, None, "", tuple(runs[pod]))
        for pod, bound_ms in bound.items()
    }


def _rows(
    cluster: Cluster,
    latest: Mapping[int, list[WindowTime]],
    holds: Mapping[int, HeldTime],
    until_ms: int,
) -> list[IdleHold]:
    times = {pod: idle_time(hold, until_ms) for pod, hold in holds.items()}
    idle = {pod: time for pod, time in times.items() if time is not None}
    labels = owner_labels()
    records = dict(Pod.objects.filter(pk__in=idle).values_list("pk", "record"))
    models = _models(latest[pod] for pod in idle)
    return [
        _row(
            cluster,
            latest[pod],
            time,
            models,
            owner_of(last_labels(records[pod]), labels),
        )
        for pod, time in idle.items()
    ]


def _row(
    cluster: Cluster,
    windows: Sequence[WindowTime],
    time: IdleTime,
    models: Mapping[int, str],
    owner: str,
) -> IdleHold:
    last = _by_start(windows)[-1]
    held = held_at(last)
    return IdleHold(
        pod_id=last[0].pod,
        cluster=cluster,
        team_id=last[0].team or None,
        model=", ".join(sorted({models[_gpu(one)] for one in last}))[:200],
        gpus=held.gpus,
        since_ms=time.since_ms,
        until_ms=time.until_ms,
        idle_ms=time.idle_ms,
        gpu_ms=time.gpu_ms,
        raw=time.raw,
        unpriced_ms=time.unpriced_ms,
        rate=held.per_hour,
        currency=time.currency,
        owner=owner,
    )


def _windows(cluster: Cluster, start_ms: int, until_ms: int) -> Iterator[WindowTime]:
    """Held windows of a cluster from the one with an instant, by pod and time."""
    start = to_instant(start_ms // WINDOW_MS * WINDOW_MS)
    return window_times(cluster, start, to_instant(until_ms))


def _gpu(window: WindowTime) -> int:
    return int(window.part.partition(":")[0])


def _models(windows: Iterable[Iterable[WindowTime]]) -> dict[int, str]:
    gpus = {_gpu(one) for of_pod in windows for one in of_pod}
    return dict(Gpu.objects.filter(pk__in=gpus).values_list("pk", "model"))
