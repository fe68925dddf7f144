"""Closes that workers do on request: recorded, claimed, closed or refused (money.md M28).

The state is in PostgreSQL; a message only wakes a worker. The worker locks the request in the
transaction that closes the month, so the month is closed and the request ended, or neither. The
lock of a killed worker ends with its session: then the next one starts again.
"""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import F, Q

from accounting.kit.audit import SYSTEM, act
from accounting.kit.failpoints import reach
from accounting.kit.reads.database_clock import database_now
from accounting.kit.wakeup import wake_worker
from accounting.months.actions.periods import CloseRefused, check_right, close
from accounting.months.models.close_request import CloseRequest, CloseRequestState
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.close_requests import LIFETIME
from accounting.months.reads.lines import booking_of, content_of
from accounting.months.reads.revisions import next_revision
from accounting.months.tasks.checks.of_close import early_checks
from accounting.months.tasks.periods import PeriodError, first_day
from accounting.months.tasks.running import book_running

log = structlog.get_logger(__name__)
CLOSE_MONTHS = "accounting.tasks.close_months"
CLAIMED = timedelta(
    seconds=5
)  # a worker that has just claimed a request locks it in that time
MOST_ATTEMPTS = 3  # a close that ends its worker each time is given up


class CloseRequested(PeriodError):
    """A close of this month is requested already and not finished."""


class _Changed(PeriodError):
    """The month comes to other amounts than those that were read."""


def request_close(
    period: str,
    by: AbstractBaseUser,
    *,
    version: str = "",
    now: datetime | None = None,
) -> CloseRequest:
    """Record a request to close a month, and wake a worker; without Redis, beat does so.

    It waits for no booking that is computed meanwhile. The checks that need usage and prices are
    the worker's.

    Args:
        period: YYYY-MM.
        by: a person of finance or an administrator.
        version: `content_of` the booking that the person read: only this is closed.
        now: the time for which it is checked whether the month is over.

    Raises:
        CloseRefused: the month is not over, or another one must be closed first.
        CloseRequested: another request for it is not finished.
        PeriodError: it is closed, or the text is not a month.
        NotAllowed: the person may not close periods.
    """
    check_right(by)
    first_day(period)
    if is_closed(period):
        raise PeriodError(f"{period} is closed")
    early = early_checks(period, now)
    if any(one.is_blocking and not one.is_overridable for one in early):
        raise CloseRefused(period, early)
    with act(by, f"request to close {period}"):
        _expire(CloseRequest.objects.filter(period=period), database_now())
        found = CloseRequest.objects.filter(
            period=period, state=CloseRequestState.WAITING
        )
        if (waiting := found.first()) is not None:
            raise _requested(waiting)
        try:
            with transaction.atomic():
                made = CloseRequest.objects.create(
                    period=period,
                    revision=next_revision(period),
                    version=version,
                    requested_by_id=by.pk,
                    requested_at=database_now(),
                )
        except IntegrityError:  # another one was first
            raise _requested(found.get()) from None
        wake_worker(CLOSE_MONTHS)
        return made


def next_close() -> CloseRequest | None:
    """Claim the oldest request that no worker has; None if there is none.

    Requests that are too old, or have ended too many workers, end here.
    """
    now = database_now()
    with act(SYSTEM, "requests to close that no worker has finished"):
        unlocked = CloseRequest.objects.select_for_update(skip_locked=True)
        _expire(unlocked, now)
        due = unlocked.filter(
            Q(started_at=None) | Q(started_at__lt=now - CLAIMED),
            state=CloseRequestState.WAITING,
        )
        for asked in due.order_by("id"):
            if asked.attempt >= MOST_ATTEMPTS:
                last = f"; the last error: {asked.error}" if asked.error else ""
                text = f"workers stopped {MOST_ATTEMPTS} times while they closed it"
                _end(asked, CloseRequestState.FAILED, text + last)
                continue
            CloseRequest.objects.filter(pk=asked.pk).update(
                attempt=F("attempt") + 1, started_at=now
            )
            asked.refresh_from_db()
            return asked
    return None


def run_close(asked: CloseRequest) -> bool:
    """Close the month of a claimed request; True if it is closed.

    A refusal is stored with its reason. After any other error the next worker starts again.
    """
    reach("close_claimed")
    try:
        return _close(asked)
    except PeriodError as error:
        log.info("close refused", period=asked.period, reason=str(error))
        blocking = error.checks if isinstance(error, CloseRefused) else ()
        reach("close_refused")
        with act(
            asked.requested_by, f"close of {asked.period} refused", by_worker=True
        ):
            _end(
                asked,
                CloseRequestState.REFUSED,
                str(error),
                [one.fields() for one in blocking if one.is_blocking],
            )
        if isinstance(error, _Changed):
            book_running(asked.period)  # what is read next is what it comes to now
        return False
    except Exception as error:  # its text is in the log; it may name internals
        with act(
            asked.requested_by,
            f"close of {asked.period} stopped by an error",
            by_worker=True,
        ):
            CloseRequest.objects.filter(pk=asked.pk, attempt=asked.attempt).update(
                error=f"an unexpected error, {type(error).__name__}"
            )
        raise


def _close(asked: CloseRequest) -> bool:
    """Close, and end the request, in one transaction.

    Raises:
        PeriodError: as for `close`; or the month comes to other amounts than were read.
    """
    with act(asked.requested_by, f"close {asked.period}", by_worker=True):
        mine = (
            CloseRequest.objects.select_for_update(skip_locked=True)
            .filter(pk=asked.pk, state=CloseRequestState.WAITING, attempt=asked.attempt)
            .first()
        )
        if mine is None:
            log.info("close is not done here any more", period=asked.period)
            return False
        close(asked.period, asked.requested_by)
        if asked.version and content_of(booking_of(asked.period)) != asked.version:
            raise _Changed(
                "the amounts of the month have changed since its close was requested. Read it again"
            )
        _end(asked, CloseRequestState.CLOSED, "")
        return True


def is_closed(period: str) -> bool:
    """Whether a month is closed now."""
    return PeriodRevision.objects.filter(
        period=period, closed_at__isnull=False, reopened_at__isnull=True
    ).exists()


def _requested(waiting: CloseRequest) -> CloseRequested:
    who, at = waiting.requested_by.get_username(), waiting.requested_at
    return CloseRequested(
        f"{who} requested the close of {waiting.period} at {at:%Y-%m-%d %H:%M:%S} UTC, and it is "
        "not finished: wait for its result"
    )


def _expire(requests: Any, now: datetime) -> None:
    """End requests that are too old, where no worker closes the month now."""
    old = requests.select_for_update(skip_locked=True).filter(
        state=CloseRequestState.WAITING, requested_at__lte=now - LIFETIME
    )
    for asked in old:
        log.warning("request to close has expired", period=asked.period)
        _end(asked, CloseRequestState.EXPIRED, asked.error)


def _end(
    asked: CloseRequest,
    state: CloseRequestState,
    error: str,
    blocking: list[dict[str, object]] | None = None,
) -> None:
    CloseRequest.objects.filter(
        pk=asked.pk, state=CloseRequestState.WAITING, attempt=asked.attempt
    ).update(
        state=state,
        error=error,
        checks=blocking or [],
        finished_at=database_now(),
    )
