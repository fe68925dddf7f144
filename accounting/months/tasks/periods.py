"""Which days, instants, currency and method a billing period has (money.md M26)."""

from dataclasses import dataclass
from datetime import date, datetime

from accounting.access.reads.billing_settings import billing_at, midnight
from accounting.core.billing_calendar import months_later
from accounting.core.money import minor_places
from accounting.kit.outcomes import Refused
from accounting.metering.reads.ledger_ends import first_billing_day
from accounting.months.models.period import BillingPeriod, PeriodRevision
from accounting.months.reads.revisions import revisions
from accounting.months.rules.methods import DEFAULT_METHOD, Method


class PeriodError(Refused):
    """A text that is not a billing period, or a period that does not allow what was asked."""


@dataclass(frozen=True, slots=True)
class PeriodTerms:
    """What a booking is computed with.

    Attributes:
        name: YYYY-MM.
        first, after: billing days, half-open.
        starts_at, ends_at: instants, half-open; a month has 672 to 745 hours, and others where
            the time zone changes.
        currency: of all its charges, with `minor_places`.
    """

    name: str
    first: date
    after: date
    starts_at: datetime
    ends_at: datetime
    timezone: str
    currency: str
    method: Method

    @property
    def minor_places(self) -> int:
        """Decimal places of a payable amount."""
        return minor_places(self.currency)

    @classmethod
    def of(cls, name: str) -> "PeriodTerms":
        """The terms of a period by the billing settings as they are now.

        Raises:
            PeriodError: the name is not a month.
        """
        first = first_day(name)
        after = months_later(first, 1)
        starts_at = midnight(first)
        settings = billing_at(starts_at)
        chosen = BillingPeriod.objects.filter(name=name).first()
        return cls(
            name=name,
            first=first,
            after=after,
            starts_at=starts_at,
            ends_at=midnight(after),
            timezone=settings.timezone,
            currency=billing_currency() or settings.currency,
            method=Method.parse(chosen.method) if chosen else DEFAULT_METHOD,
        )

    @classmethod
    def booked(cls, revision: PeriodRevision) -> "PeriodTerms":
        """The terms that a revision was computed with, also where settings changed since."""
        first = first_day(revision.period)
        return cls(
            name=revision.period,
            first=first,
            after=months_later(first, 1),
            starts_at=revision.starts_at,
            ends_at=revision.ends_at,
            timezone=revision.timezone,
            currency=revision.currency,
            method=Method.parse(revision.method),
        )


def first_day(name: str) -> date:
    """The first billing day of `YYYY-MM`.

    Raises:
        PeriodError: the text is not a month.
    """
    try:
        first = date.fromisoformat(f"{name}-01")
    except ValueError:
        raise PeriodError(f"{name!r} is not a month such as 2026-10") from None
    if len(name) != 7:
        raise PeriodError(f"{name!r} is not a month such as 2026-10")
    return first


def next_period(name: str) -> str:
    """The month after."""
    return f"{months_later(first_day(name), 1):%Y-%m}"


def previous_period(name: str) -> str:
    """The month before."""
    return f"{months_later(first_day(name), -1):%Y-%m}"


def first_period() -> str | None:
    """The month of the ledger's first day; None without any usage."""
    first = first_billing_day()
    return f"{first:%Y-%m}" if first else None


def closed_revisions() -> list[PeriodRevision]:
    """The closed revisions in effect, in the order of their periods."""
    found = PeriodRevision.objects.filter(
        closed_at__isnull=False, reopened_at__isnull=True
    )
    return list(found.order_by("period"))


def next_to_close() -> str | None:
    """The month that must be closed next; None before the first close: any month may be it."""
    ever = [one for one in revisions() if one.is_closed]
    closed = [one.period for one in ever if not one.reopened_at]
    if closed:
        return next_period(closed[-1])
    return next((one.period for one in ever), None)


def latest_closed() -> PeriodRevision | None:
    """The closed revision in effect of the last closed period."""
    return (
        PeriodRevision.objects.filter(closed_at__isnull=False, reopened_at__isnull=True)
        .order_by("-period")
        .first()
    )


def billing_currency() -> str | None:
    """The billing currency: fixed by the first close; None before it."""
    closed = [
        (one.closed_at, one.pk, one.currency) for one in revisions() if one.closed_at
    ]
    return min(closed)[2] if closed else None
