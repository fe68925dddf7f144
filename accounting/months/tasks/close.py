"""Closing a period: one transaction freezes its lines, hours and statements (money.md M28-M30)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from accounting.kit.failpoints import reach
from accounting.months.models.charge import RunningLine
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks import compute, store
from accounting.months.tasks.hours import divide_at_close
from accounting.months.tasks.locking import hold_booking, hold_usage
from accounting.months.tasks.payers import payers_of
from accounting.months.tasks.periods import (
    PeriodError,
    PeriodTerms,
    latest_closed,
    next_to_close,
)
from accounting.months.tasks.running import (
    book_running,
    is_first_open,
    running_revision,
)

Checks = Callable[[str], list[dict[str, Any]]]


def close_period(
    period: str,
    *,
    by: Any = None,
    now: datetime | None = None,
    check: Checks | None = None,
) -> PeriodRevision:
    """Compute a period's booking and freeze it. A closed period is returned as it is.

    A second closer waits for the first and gets its result. A killed close leaves nothing.

    Args:
        period: the month after the latest closed one; any month if none is closed.
        by: the user.
        now: the time of the close.
        check: called with the table of the computed lines; it raises if something blocks the
            close. What it returns is kept with the close.

    Raises:
        PeriodError: another period must be closed first.
    """
    moment = now or datetime.now(UTC)
    with transaction.atomic():
        hold_booking()
        expected = next_to_close()
        if expected is not None and period > expected:
            raise PeriodError(
                f"{period} cannot be closed before {expected}: months are closed in order"
            )
        revision = running_revision(period, moment)
        if revision.is_closed:
            return revision
        hold_usage()
        compute.compute(PeriodTerms.of(period), books_corrections=is_first_open(period))
        revision.checks = check("booking_line") if check else []
        revision.causes = {}
        RunningLine.objects.filter(revision=revision).delete()
        reach("period_computed")
        store.store_lines("charge_line", revision)
        reach("period_stored")
        divide_at_close(revision)
        revision.hash = store.hash_lines("charge_line", revision)
        revision.payers = payers_of(revision)
        revision.closed_at = moment
        revision.closed_by = by
        revision.save()
        reach("period_closed")
    return revision


def reopen_period(
    period: str, *, reason: str, by: Any, confirmed_by: Any, now: datetime | None = None
) -> PeriodRevision:
    """Open the latest closed period again: its next close is a new revision.

    The old revision stays readable. The period and the months after it that are booked are booked
    again in the same transaction: nobody finds the period without amounts, or its corrections in
    another month.

    Raises:
        PeriodError: it is not the latest closed period.
    """
    moment = now or datetime.now(UTC)
    with transaction.atomic():
        hold_booking()
        closed = latest_closed()
        if closed is None or closed.period != period:
            last = (
                f"The latest is {closed.period}." if closed else "No month is closed."
            )
            raise PeriodError(f"{period} is not the latest closed period. {last}")
        closed.reopened_at = moment
        closed.reopened_by = by
        closed.reopen_confirmed_by = confirmed_by
        closed.reopen_reason = reason
        closed.save()
        running = PeriodRevision.objects.filter(period__gt=period, reopened_at=None)
        for name in (period, *running.values_list("period", flat=True)):
            book_running(name, moment)
        return closed
