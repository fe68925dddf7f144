"""The running booking of a period that is not closed: replaced as a whole."""

from datetime import UTC, datetime

from django.conf import settings

from accounting.kit.audit import SYSTEM, Actor, act
from accounting.months.models.charge import RunningLine
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.inputs import inputs_now
from accounting.months.tasks import compute, store
from accounting.months.tasks.checks.of_close import causes_to_store
from accounting.months.tasks.hours import divide_running
from accounting.months.tasks.locking import hold_booking
from accounting.months.tasks.periods import (
    PeriodError,
    PeriodTerms,
    next_to_close,
    previous_period,
)


def book_running(
    period: str, now: datetime | None = None, *, by: Actor = SYSTEM
) -> PeriodRevision:
    """Compute the lines and statements of a period as of now, and replace its running booking.

    Args:
        by: who requested it, in the audit log.

    Returns:
        The running revision; a closed one unchanged, where the period was closed in the
        meantime.

    Raises:
        PeriodError: months after it are closed, and it is not.
    """
    with act(by, f"booking of {period}"):
        hold_booking()
        revision = running_revision(period, now or datetime.now(UTC))
        if revision.is_closed:
            return revision
        revision.inputs = inputs_now()  # before they are read
        terms = PeriodTerms.of(period)
        compute.compute(terms, books_corrections=is_first_open(period))
        RunningLine.objects.filter(revision=revision).delete()
        store.store_lines("running_line", revision)
        divide_running(revision)
        revision.save()
        revision.causes = causes_to_store(terms)  # they read its total
        revision.save(update_fields=["causes"])
        return revision


def running_revision(period: str, now: datetime) -> PeriodRevision:
    """The revision in effect of a period: the closed one, or one with today's terms.

    Raises:
        PeriodError: as for `book_running`.
    """
    found = PeriodRevision.objects.filter(period=period, reopened_at=None).first()
    if found is not None and found.is_closed:
        return found
    following = next_to_close()
    if following is not None and period < following:
        raise PeriodError(f"{period} was not closed, and months after it were")
    terms = PeriodTerms.of(period)
    earlier = PeriodRevision.objects.filter(period=period, reopened_at__isnull=False)
    revision = found or PeriodRevision(period=period, revision=earlier.count() + 1)
    revision.starts_at = terms.starts_at
    revision.ends_at = terms.ends_at
    revision.timezone = terms.timezone
    revision.currency = terms.currency
    revision.minor_places = terms.minor_places
    revision.method = terms.method.id
    revision.organization_id = settings.ORGANIZATION_ID
    revision.organization_name = settings.ORGANIZATION_NAME
    revision.booked_at = now
    revision.previous_hash = previous_hash(period)
    revision.save()
    return revision


def previous_hash(period: str) -> str:
    """The hash of the month before's revision in effect; "" where it was never closed."""
    found = PeriodRevision.objects.filter(
        period=previous_period(period),
        closed_at__isnull=False,
        reopened_at__isnull=True,
    ).first()
    return found.hash if found else ""


def is_first_open(period: str) -> bool:
    """Whether corrections of closed periods are booked in it: it follows the latest closed."""
    return period == next_to_close()
