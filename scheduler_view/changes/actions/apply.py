"""Apply an approved change set, object by object, so that nothing is lost if it is killed.

The step of an object is marked before it is sent; afterwards the server's response is stored. A
worker that continues after a kill reads back marked steps. An unchanged object is never written.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

import structlog
from django.db.models import F, Max

from accounting.kit.failpoints import reach
from scheduler_view.changes.actions.apply_lease import (
    ApplyLease,
    ApplyLeaseLostError,
    claim,
)
from scheduler_view.changes.actions.ending import UNKNOWN
from scheduler_view.changes.actions.for_person import applying
from scheduler_view.changes.actions.internal_error import internal_error_message
from scheduler_view.changes.actions.push import (
    Fate,
    PushResult,
    outcome_of,
    send,
    settled,
)
from scheduler_view.changes.actions.quota_loans import is_return
from scheduler_view.changes.actions.store_desired import store
from scheduler_view.changes.mapping import step_of
from scheduler_view.changes.models import (
    WAIT_BEGINS,
    ChangeSet,
    ChangeState,
    ChangeStep,
    StepState,
)
from scheduler_view.changes.tasks.base_versions import LostUpdate
from scheduler_view.changes.tasks.watch import look_at
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError
from scheduler_view.clusters.tasks.cluster_connection import Connect, connect_to

PATIENCE = timedelta(minutes=15)  # without progress; then the rest is refused
RETURN_PATIENCE = timedelta(days=1)  # for the return of a loan, which no person repeats
TOKEN_PATIENCE = timedelta(days=1)  # for a person who renews a token
# a change set whose workers die each time is stopped
MOST_CLAIMS, LONGEST = 20, timedelta(hours=1)
PAUSE = timedelta(seconds=5)  # after a temporary error without a time from the server
LONGEST_PAUSE = timedelta(minutes=2)
CHANGED_SINCE = "Applied, but changed since"
_OPEN = (StepState.WAITING, StepState.SENT)
_DONE = (StepState.APPLIED, StepState.UNCHANGED)
_STATES = {
    Fate.APPLIED: StepState.APPLIED,
    Fate.UNCHANGED: StepState.UNCHANGED,
    Fate.REFUSED: StepState.REFUSED,
    Fate.STOPPED: StepState.REFUSED,
}
log = structlog.get_logger(__name__)
Now = Callable[[], datetime]


def apply(change_set: ChangeSet, *, now: Now, connect: Connect = connect_to) -> bool:
    """Apply a change set as far as possible now; False if another worker does, or it is not due.

    A temporary error ends this run with `retry_at` set; the periodic task wakes a worker again.
    """
    held = claim(change_set, now())
    if held is None:
        change_set.refresh_from_db()
        return False
    try:
        with held.kept(now):
            _run(held, now, connect)
    except ApplyLeaseLostError:
        log.warning("taken over", change_set=change_set.pk)
        return False
    except Exception as error:  # an internal error: retried for a limited time
        log.exception("cannot apply", change_set=change_set.pk)
        text = internal_error_message("apply this", error)
        return _stumbled(held, PushResult(Fate.LATER, text), now())
    finally:
        change_set.refresh_from_db()
    _look_back(change_set, now, connect)
    return True


def _look_back(change_set: ChangeSet, now: Now, connect: Connect) -> None:
    """Observe the applied objects now, so that pages show them before the next observation."""
    if change_set.state not in (ChangeState.APPLIED, ChangeState.PARTLY_APPLIED):
        return
    done = change_set.steps.filter(state__in=_DONE)
    kinds = sorted(set(done.values_list("kind", flat=True)), reverse=True)
    try:
        look_at(change_set.cluster, kinds, now=now, connect=connect)
    except Exception:  # it is applied; the next observation retries
        log.exception("cannot look back", change_set=change_set.pk)


def _stumbled(held: ApplyLease, outcome: PushResult, at: datetime) -> bool:
    try:
        _pause(held, "", outcome, at)
    except ApplyLeaseLostError:
        return False
    return True


def _run(held: ApplyLease, now: Now, connect: Connect) -> None:
    is_long = now() - _progress(held, now()) >= LONGEST
    if held.fence > MOST_CLAIMS and is_long:
        text = f"gave up after {held.fence} attempts that did not finish"
        _refuse_rest(held, PushResult(Fate.STOPPED, text), now())
        _finish(held, now())
        return
    cluster = held.change_set.cluster
    try:
        with (
            connect(cluster, AccessRole.READER) as reader,
            connect(cluster, AccessRole.PUSHER) as pusher,
        ):
            for row in held.change_set.steps.filter(state__in=_OPEN):
                outcome = _one(held, row, reader, pusher, now)
                if outcome.fate == Fate.LATER:
                    _pause(held, f"{row}: ", outcome, now())
                    return
                if outcome.fate == Fate.STOPPED:
                    _refuse_rest(held, outcome, now())
                    break
    except ClusterError as error:  # the connection failed
        _refuse_rest(held, outcome_of(error), now())
    _finish(held, now())


def _one(
    held: ApplyLease,
    row: ChangeStep,
    reader: ClusterClient,
    pusher: ClusterClient,
    now: Now,
) -> PushResult:
    step = step_of(row)
    try:
        outcome = settled(reader, step, was_sent=row.state == StepState.SENT)
    except ClusterError as error:
        outcome = outcome_of(error)
    if outcome is None:
        was_sent = row.state == StepState.SENT
        _mark(held, row, now(), StepState.SENT)
        reach("step_marked")
        outcome = send(pusher, reader, step)
        if outcome.is_not_done and not was_sent:
            _mark(held, row, now(), StepState.WAITING)
    if outcome.fate in _STATES:
        _record(held, row, outcome, now())
        reach("step_recorded")
    return outcome


def _mark(held: ApplyLease, row: ChangeStep, at: datetime, state: StepState) -> None:
    """SENT before an object is sent: from here on the outcome is unknown until it is stored.

    WAITING again if the API server did nothing.
    """
    with _acting(held):
        held.renew(at)
        _clear_error(held)
        if row.state != state:
            row.state = state
            row.save(update_fields=["state"])


def _clear_error(held: ApplyLease) -> None:
    """It no longer rests; what an object's result says stays."""
    rows = ChangeSet.objects.filter(pk=held.change_set.pk).exclude(error="")
    rows.exclude(error__startswith=CHANGED_SINCE).update(error="")


def _record(
    held: ApplyLease, row: ChangeStep, outcome: PushResult, at: datetime
) -> None:
    with _acting(held):
        held.renew(at)
        row.state, row.done_at = _STATES[outcome.fate], at
        row.message, row.code = outcome.message, outcome.code
        row.save(update_fields=["state", "done_at", "message", "code"])
        if row.state in _DONE:
            _store_once(held, at)


def _store_once(held: ApplyLease, at: datetime) -> None:
    """The first applied object makes the edits the desired state."""
    change_set = held.change_set
    change_set.refresh_from_db()
    if change_set.stored_at or change_set.applied_at:  # the latter by older versions
        return
    try:
        store(change_set)
    except LostUpdate as error:
        note = f"{CHANGED_SINCE}: {error}"
        ChangeSet.objects.filter(pk=change_set.pk).update(error=note)
        return
    ChangeSet.objects.filter(pk=change_set.pk).update(stored_at=at)


def _progress(
    held: ApplyLease, at: datetime, *, is_token_wait: bool = False
) -> datetime:
    """Time of the last progress: an object was done, it started, or a wait for a token ended.

    Args:
        held: the change set.
        at: now.
        is_token_wait: it waits for a token now, so that this wait does not count.
    """
    change_set = held.change_set
    done = change_set.steps.aggregate(last=Max("done_at"))["last"]
    waited = None if is_token_wait else change_set.token_wait_until
    times = (change_set.apply_wanted_at or at, done, waited)
    return max(one for one in times if one)


def _pause(held: ApplyLease, where: str, outcome: PushResult, at: datetime) -> None:
    """Wait for the server's time; give up after a limit, and store the state."""
    patience = RETURN_PATIENCE if is_return(held.change_set) else PATIENCE
    waits = ""
    if outcome.waits_for_token:
        patience, waits = TOKEN_PATIENCE, WAIT_BEGINS
    since = _progress(held, at, is_token_wait=outcome.waits_for_token)
    if at - since >= patience:
        _refuse_rest(held, outcome, at)
        _finish(held, at)
        return
    pause = timedelta(seconds=outcome.retry_after_s) if outcome.retry_after_s else PAUSE
    with _acting(held):
        held.renew(at)
        ChangeSet.objects.filter(pk=held.change_set.pk).update(
            retry_at=at + min(pause, LONGEST_PAUSE),
            lease_until=None,
            error=f"{waits}{where}{outcome.message}",
            token_wait_until=at if waits else F("token_wait_until"),
            version=F("version") + 1,
        )


def _refuse_rest(held: ApplyLease, outcome: PushResult, at: datetime) -> None:
    with _acting(held):
        held.renew(at)
        for row in held.change_set.steps.filter(state__in=_OPEN):
            was_sent = row.state == StepState.SENT
            row.state, row.code, row.done_at = StepState.REFUSED, outcome.code, at
            row.message = f"{UNKNOWN if was_sent else ''}{outcome.message}"
            row.save(update_fields=["state", "code", "message", "done_at"])


def _finish(held: ApplyLease, at: datetime) -> None:
    change_set = held.change_set
    with _acting(held):
        held.renew(at)
        states = set(change_set.steps.values_list("state", flat=True))
        if StepState.REFUSED not in states:
            state = ChangeState.APPLIED
            _store_once(held, at)
        elif states & set(_DONE):
            state = ChangeState.PARTLY_APPLIED
        else:
            state = ChangeState.REFUSED
        change_set.refresh_from_db()
        ChangeSet.objects.filter(pk=change_set.pk).update(
            state=state,
            applied_at=None if state == ChangeState.REFUSED else at,
            lease_until=None,
            retry_at=None,
            error=_why(change_set, state),
            version=F("version") + 1,
        )
        if state == ChangeState.APPLIED and change_set.undoes_id:
            ChangeSet.objects.filter(pk=change_set.undoes_id).update(
                state=ChangeState.UNDONE, version=F("version") + 1
            )
    log.info("applied", change_set=change_set.pk, state=state)


def _why(change_set: ChangeSet, state: str) -> str:
    if change_set.error.startswith(CHANGED_SINCE):
        return change_set.error
    if state == ChangeState.APPLIED:
        return ""
    refused = change_set.steps.filter(state=StepState.REFUSED)
    first = refused.first()
    return f"{refused.count()} refused, first {first}: {first.message}" if first else ""


def _acting(held: ApplyLease) -> AbstractContextManager[None]:
    return applying(held.change_set)
