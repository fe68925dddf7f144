"""Which worker applies a change set: one for each cluster, for a lease, with a fence.

A worker renews its lease while it lives. After it is killed, its lease expires and another one
continues at the same step. A worker that was only paused finds that its fence is not the row's and
writes nothing (I13).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, connections
from django.db.models import F, Q

from accounting.kit.locks import lock
from scheduler_view.changes.actions.for_person import applying
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import stored_edit
from scheduler_view.changes.tasks.base_versions import lost_updates

# docs/operations.md says how long a killed worker is waited for
PLAN_EXPIRED = (
    "The plan expired before it was applied, and nothing was sent. Plan again."
)
LEASE = timedelta(seconds=15)
BEAT_S = 4.0  # between two renewals by a worker that lives
END_S = 5.0  # for the last renewal to end
log = structlog.get_logger(__name__)


class ApplyLeaseLostError(RuntimeError):
    """Another worker has taken the change set over: our state must not be written."""


@dataclass(frozen=True, slots=True)
class ApplyLease:
    """The right to apply one change set."""

    change_set: ChangeSet
    fence: int

    def renew(self, at: datetime) -> None:
        """Renew the lease.

        Raises:
            ApplyLeaseLostError: another worker has it.
        """
        held = ChangeSet.objects.filter(
            pk=self.change_set.pk, fence=self.fence, state=ChangeState.APPLYING
        ).update(lease_until=at + LEASE)
        if not held:
            raise ApplyLeaseLostError(f"{self.change_set} was taken over")

    @contextmanager
    def kept(self, now: Callable[[], datetime]) -> Iterator[None]:
        """Renew the lease while the block runs: calls to a cluster may last longer than it."""
        ending = threading.Event()
        thread = threading.Thread(target=self._beat, args=(now, ending), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join(END_S)

    def _beat(self, now: Callable[[], datetime], ending: threading.Event) -> None:
        """A lease that was taken over, or that its worker has ended, is not renewed."""
        mine = ChangeSet.objects.filter(
            pk=self.change_set.pk,
            fence=self.fence,
            state=ChangeState.APPLYING,
            lease_until__isnull=False,
        )
        while not ending.wait(BEAT_S):
            try:
                if not mine.update(lease_until=now() + LEASE):
                    return
            except DatabaseError as error:
                log.warning("cannot renew the lease", error=str(error))
            finally:
                connections.close_all()  # this thread's own


def claim(change_set: ChangeSet, at: datetime) -> ApplyLease | None:
    """Start or continue; None if it is not due or the cluster is being changed.

    A change set that is too late becomes refused or expired, without an error.
    """
    with applying(change_set):
        lock("push", change_set.cluster_id)
        row = ChangeSet.objects.select_for_update().get(pk=change_set.pk)
        busy = ChangeSet.objects.filter(
            cluster=row.cluster, state=ChangeState.APPLYING, lease_until__gt=at
        )
        if busy.exists() or not _is_due(row, at):
            return None
        if row.state != ChangeState.APPLYING and _is_too_late(row, at):
            return None
        done = ChangeSet.objects.filter(pk=row.pk, version=row.version).update(
            state=ChangeState.APPLYING,
            apply_wanted_at=row.apply_wanted_at or at,
            lease_until=at + LEASE,
            retry_at=None,
            fence=F("fence") + 1,
            version=F("version") + 1,
        )
        if not done:
            return None
        row.refresh_from_db()
    return ApplyLease(row, row.fence)


def due(at: datetime) -> Q:
    """Change sets that need a worker now."""
    not_resting = Q(retry_at__isnull=True) | Q(retry_at__lte=at)
    free = Q(lease_until__isnull=True) | Q(lease_until__lte=at)
    return (
        Q(state=ChangeState.APPROVED, apply_wanted_at__isnull=False)
        | Q(state=ChangeState.SCHEDULED, starts_at__lte=at)
        | (Q(state=ChangeState.APPLYING) & not_resting & free)
    )


def _is_due(row: ChangeSet, at: datetime) -> bool:
    return ChangeSet.objects.filter(due(at), pk=row.pk).exists()


def _is_too_late(row: ChangeSet, at: datetime) -> bool:
    """Refuse a change set that was overtaken: nothing of it has been sent yet."""
    lost = lost_updates(row.cluster, [stored_edit(one) for one in row.edits])
    expires = row.plan_expires_at
    if lost:
        columns = {"state": ChangeState.REFUSED, "error": "; ".join(lost)}
    elif (
        row.state == ChangeState.APPROVED
        and expires is not None
        and (row.apply_wanted_at or at) > expires
    ):
        columns = {"state": ChangeState.EXPIRED, "error": PLAN_EXPIRED}
    else:
        return False
    ChangeSet.objects.filter(pk=row.pk).update(version=F("version") + 1, **columns)
    return True
