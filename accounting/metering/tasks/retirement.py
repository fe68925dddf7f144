"""The end of a cluster: set, changed or cleared, and its effects (rules.md N38).

`retire` only stores the new end, so that the page responds at once. `apply_retirement` applies it,
a day at a time, each in one transaction that also stores the progress: it may be stopped at any
point and continued by any worker. Time after the end is cleared without querying a source;
restored time is recomputed. Hours whose facts have expired are stored separately, because they
cannot be recomputed.
"""

from collections.abc import Callable
from datetime import datetime
from time import monotonic

from django.db import transaction

from accounting.core.interval import (
    DAY_MS,
    FAR_MS,
    HOUR_MS,
    WINDOW_MS,
    Interval,
    to_instant,
    to_ms,
    window_of,
)
from accounting.kit.audit import Actor, act
from accounting.kit.failpoints import reach
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster, GpuPresence
from accounting.metering.models.ledger import PendingRetirement
from accounting.metering.models.pod import PodHold
from accounting.metering.reads.data_health.retirement import retired_ms, stored
from accounting.metering.tasks.retirement_steps import bring_back, cut, empty, reopen
from accounting.metering.tasks.windows import schedule

Progress = Callable[[int, int], None]  # days done, total


class RetirementError(ValueError):
    """A cluster cannot end at that time; the message explains why and what to choose."""


def retire(cluster: Cluster, at: datetime | None, *, actor: Actor, reason: str) -> bool:
    """Set the end of a cluster, or clear it (`at` None); True if that changes it.

    All presence and holds end there. `apply_retirement` applies the change.

    Raises:
        RetirementError: the facts or samples of that time are gone, and it is not on a boundary.
    """
    with act(actor, reason):
        row = Cluster.objects.select_for_update().get(pk=cluster.pk)
        old = row.retired_at
        if old == at:
            return False
        if at is not None:
            _check(row.pk, at)
        row.retired_at = cluster.retired_at = at
        row.save(update_fields=["retired_at"])
        _keep_pending(row.pk, old, at)
    return True


def _check(cluster_id: int, at: datetime) -> None:
    """Reject a time inside an hour that can no longer be divided."""
    shown = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    at_ms = to_ms(at)
    if stored(cluster_id).has_expired(at) and at_ms % HOUR_MS:
        raise RetirementError(
            f"{shown}: the five-minute data of that time has expired, so the end must align to "
            f"an hour: {to_instant(at_ms - at_ms % HOUR_MS):%Y-%m-%dT%H:%MZ}"
        )
    if at_ms % WINDOW_MS and not schedule.is_at_hand(cluster_id, window_of(at_ms)):
        raise RetirementError(
            f"{shown}: the samples of that time are deleted, so the end must align to a "
            f"five-minute boundary: {window_of(at_ms).start:%Y-%m-%dT%H:%MZ}"
        )


def _keep_pending(cluster_id: int, old: datetime | None, new: datetime | None) -> None:
    """Store the work of a change; without stored time after it only holds and presences change."""
    end = stored(cluster_id).end
    if end is None:
        return
    first_ms = min(to_ms(at) for at in (old, new) if at is not None)
    first_ms -= first_ms % WINDOW_MS
    changed = Interval(min(first_ms, to_ms(end)), to_ms(end))
    row, is_new = PendingRetirement.objects.get_or_create(
        cluster_id=cluster_id,
        defaults={"start_ms": changed.start_ms, "end_ms": changed.end_ms},
    )
    if not is_new:
        row.start_ms = min(row.start_ms, changed.start_ms)
        row.end_ms = max(row.end_ms, changed.end_ms)
        row.save()


def apply_retirement(
    cluster: Cluster,
    *,
    for_s: float = float("inf"),
    on_progress: Progress | None = None,
) -> Interval | None:
    """Apply the change of a cluster's end.

    Days, newest first, until none is left or `for_s` seconds have passed; the next call
    continues.

    Returns:
        The processed time; None if nothing was to be done.
    """
    until = monotonic() + for_s
    done: list[Interval] = []
    _end_what_is_open(cluster.pk)
    while (step := _next_day(cluster)) is not None:
        day, left = step
        done.append(day)
        reach("retired_day")
        if on_progress is not None:
            on_progress(len(done), len(done) + left)
        if monotonic() >= until:
            break
    return Interval(done[-1].start_ms, done[0].end_ms) if done else None


def _end_what_is_open(cluster_id: int) -> None:
    """End what is still open where an end has come after the last data: no window does it."""
    end_ms = retired_ms(cluster_id)
    if end_ms is None or end_ms > to_ms(database_now()):
        return
    still = (
        PodHold.objects.filter(pod__cluster_id=cluster_id, ended_ms=None),
        GpuPresence.objects.filter(gpu__cluster_id=cluster_id, end_ms=None),
    )
    if any(rows.exists() for rows in still):
        with transaction.atomic():
            cut(cluster_id, end_ms)


def _next_day(cluster: Cluster) -> tuple[Interval, int] | None:
    """Process the newest remaining day; returns it and the number of remaining days."""
    with transaction.atomic():
        waiting = PendingRetirement.objects.select_for_update(skip_locked=True)
        row = waiting.filter(cluster=cluster).first()
        if row is None:
            return None
        day = Interval(_start_of_step(cluster.pk, row), row.end_ms)
        left_ms = day.start_ms - row.start_ms
        if left_ms:
            row.end_ms = day.start_ms
            row.save()
        else:
            row.delete()
        end_ms = retired_ms(cluster.pk)  # the progress after this day
        end_ms = FAR_MS if end_ms is None else end_ms
        if day.start_ms < end_ms:
            reopen(cluster.pk)
            bring_back(cluster, Interval(day.start_ms, min(day.end_ms, end_ms)))
        if end_ms < day.end_ms:
            cut(cluster.pk, end_ms)
            empty(cluster.pk, Interval(max(day.start_ms, end_ms), day.end_ms))
        reach("retiring_day")
        return day, -(-left_ms // DAY_MS)


def _start_of_step(cluster_id: int, row: PendingRetirement) -> int:
    """A day back; all remaining time if it is removed and no hour of it is stored."""
    first = stored(cluster_id).first_hour
    at = row.cluster.retired_at
    goes_away = at is not None and to_ms(at) <= row.start_ms + WINDOW_MS
    if goes_away and (first is None or row.end_ms <= to_ms(first)):
        return row.start_ms
    return max(row.start_ms, (row.end_ms - 1) // DAY_MS * DAY_MS)
