"""How far the close of a month is: requested, closed by a worker, or refused (money.md M28)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from accounting.kit.reads.database_clock import database_now
from accounting.months.models.close_request import CloseRequest, CloseRequestState
from accounting.months.reads.revisions import in_effect, next_revision

LIFETIME = timedelta(hours=1)
"""A request that no worker has closed by then expires: later, facts may be others."""
NO_WORKER_YET = timedelta(seconds=30)
_EXPIRED = "no worker closed the month within an hour of the request"


class CloseState(StrEnum):
    """What a reader can expect of a close."""

    NONE = "none"  # nobody has requested it
    QUEUED = "queued"
    RUNNING = "running"
    CLOSED = "closed"
    REFUSED = "refused"
    FAILED = "failed"
    EXPIRED = "expired"


UNFINISHED = frozenset({CloseState.QUEUED, CloseState.RUNNING})


@dataclass(frozen=True, slots=True)
class CloseProgress:
    """The latest request to close a month's revision, or its close without one.

    Attributes:
        revision: that the close makes, or has made.
        requested_by: "" without a request: nobody requested it, or a command closed the month.
        attempt: how often a worker has started.
        error: why it is not closed; else "".
        blocking: the checks that blocked a refused close, as `CloseCheck.fields`.
        is_slow: no worker has started for half a minute.
        hash: of the close; "" before it.
    """

    period: str
    revision: int
    state: CloseState
    requested_by: str = ""
    requested_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempt: int = 0
    error: str = ""
    blocking: Sequence[dict[str, Any]] = ()
    is_slow: bool = False
    hash: str = ""
    closed_at: datetime | None = None
    closed_by: str = ""

    @property
    def is_unfinished(self) -> bool:
        """Whether it waits for a worker, or a worker closes the month."""
        return self.state in UNFINISHED

    @property
    def has_ended_without_close(self) -> bool:
        """Whether it can be requested again."""
        return self.state in {
            CloseState.REFUSED,
            CloseState.FAILED,
            CloseState.EXPIRED,
        }


def close_progress(period: str) -> CloseProgress:
    """How far the close of a month is."""
    number = next_revision(period)
    now_booked = in_effect(period)
    closed = now_booked if now_booked is not None and now_booked.is_closed else None
    asked = (
        CloseRequest.objects.filter(period=period, revision=number)
        .select_related("requested_by")
        .last()
    )
    state = CloseState.NONE
    is_slow = False
    if closed is not None:
        state = CloseState.CLOSED
    elif asked is not None:
        now = database_now()
        state = _state(asked, now)
        is_slow = (
            state is CloseState.QUEUED and now - asked.requested_at > NO_WORKER_YET
        )
    person = closed.closed_by if closed is not None else None
    return CloseProgress(
        period,
        number,
        state,
        requested_by=asked.requested_by.get_username() if asked else "",
        requested_at=asked.requested_at if asked else None,
        started_at=asked.started_at if asked else None,
        finished_at=asked.finished_at if asked else None,
        attempt=asked.attempt if asked else 0,
        error=_error(asked, state),
        blocking=asked.checks if asked and state is CloseState.REFUSED else (),
        is_slow=is_slow,
        hash=closed.hash if closed is not None else "",
        closed_at=closed.closed_at if closed is not None else None,
        closed_by=person.get_username() if person else "",
    )


def _state(asked: CloseRequest, now: datetime) -> CloseState:
    if asked.state != CloseRequestState.WAITING:
        return CloseState(asked.state)
    if asked.attempt:
        return CloseState.RUNNING
    # Without any worker nobody stores that it has expired.
    is_over = now >= asked.requested_at + LIFETIME
    return CloseState.EXPIRED if is_over else CloseState.QUEUED


def _error(asked: CloseRequest | None, state: CloseState) -> str:
    if asked is None or state is CloseState.CLOSED:
        return ""
    return _EXPIRED if state is CloseState.EXPIRED else asked.error
