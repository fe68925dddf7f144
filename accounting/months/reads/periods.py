"""Billing periods as people see them: open, settling or closed (money.md M26)."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from django.db import connection
from django.db.models import Q, Sum

from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.core.billing_calendar import months_later
from accounting.core.charge_lines import PLATFORM
from accounting.core.money import Money
from accounting.kit import texts
from accounting.kit.rows import GpuHours, TextOrNull, column, derived, listed
from accounting.metering.reads.ledger_ends import first_billing_day
from accounting.months.models.period import BillingPeriod, PeriodRevision, Statement
from accounting.months.reads.lines import Booking
from accounting.months.reads.revisions import reopened, revisions
from accounting.months.rules.methods import DEFAULT_METHOD


class PeriodState(StrEnum):
    """A period is open while it lasts, then settling until it is closed."""

    OPEN = "open"
    SETTLING = "settling"
    CLOSED = "closed"
    UNBOOKED = "unbooked"  # over, and never booked: before the first close


@listed("Period")
class PeriodRow:
    """A month and what it comes to; amounts are null without a booking.

    Attributes:
        name: YYYY-MM.
        revision: of its booking; None without one.
        payable: None without a booking; `teams` + `unallocated`, which is the platform's.
    """

    name: str = column(name="period")
    state: PeriodState = column("open, settling, closed or unbooked")
    starts_at: datetime = column()
    ends_at: datetime = column()
    method: str = column()
    revision: int | None = column(default=None)
    currency = derived(TextOrNull, "payable.currency")
    payable: Annotated[Money, texts.payable] | None = column(default=None)
    corrections: Money | None = column(
        "of earlier months, booked in this one", default=None
    )
    without_money_ms: GpuHours = column(
        "time without a price, not charged", name="without_money_gpu_hours", default=0
    )
    line_count: int = column(name="lines", default=0)
    booked_at: datetime | None = column(default=None)
    closed_at: datetime | None = column(default=None)
    closed_by: TextOrNull = column(default="")
    hash: TextOrNull = column("of the close", default="")
    unallocated: Money | None = None

    @property
    def first(self) -> date:
        """Its first day."""
        return date.fromisoformat(f"{self.name}-01")

    @property
    def teams(self) -> Money | None:
        """What teams pay, unmapped time included; None without a booking."""
        if self.payable is None or self.unallocated is None:
            return None
        return self.payable - self.unallocated


def period_rows(now: datetime) -> list[PeriodRow]:
    """Every month from the ledger's first day to the current one, the latest first."""
    first = first_billing_day()
    today = billing_day(now)
    month, rows = today.replace(day=1), []
    booked = {row.period: row for row in revisions() if not row.reopened_at}
    sums = _sums()
    methods = dict(BillingPeriod.objects.values_list("name", "method"))
    earliest = min([*booked, f"{first or today:%Y-%m}"])
    while f"{month:%Y-%m}" >= earliest:
        name = f"{month:%Y-%m}"
        rows.append(_row(name, booked.get(name), sums, methods.get(name), now))
        month = months_later(month, -1)
    return rows


def period_row(name: str, now: datetime) -> PeriodRow | None:
    """One of `period_rows`; None if it is not among them."""
    return next((row for row in period_rows(now) if row.name == name), None)


def data_since(booking: Booking) -> datetime | None:
    """When the ledger's data begins, if that is after the start of the period.

    To the hour while hours are kept, else the midnight of the first billing day.
    """
    first = first_billing_day()
    if first is None or midnight(first) < booking.starts_at:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT min(hour_start) FROM usage_hour WHERE billing_on = %(first)s
               AND hour_start >= %(first)s::date - interval '2 days'
               AND hour_start < %(first)s::date + interval '2 days'""",
            {"first": first},
        )
        hour: datetime | None = cursor.fetchone()[0]
    since = hour or midnight(first)
    return since if booking.starts_at < since < booking.ends_at else None


def _sums() -> dict[int, tuple[Decimal, Decimal]]:
    """Corrections, and the payable of the platform, by revision in effect."""
    found = Statement.objects.filter(revision__reopened_at__isnull=True)
    sums = found.values_list("revision").annotate(
        corrections=Sum("corrections6"),
        of_platform=Sum("payable", filter=Q(team=PLATFORM), default=0),
    )
    return {pk: (some, of_platform) for pk, some, of_platform in sums.order_by()}


def _row(
    name: str,
    booked: PeriodRevision | None,
    sums: Mapping[int, tuple[Decimal, Decimal]],
    method: str | None,
    now: datetime,
) -> PeriodRow:
    first = date.fromisoformat(f"{name}-01")
    starts_at, ends_at = midnight(first), midnight(months_later(first, 1))
    if booked is None:
        state = PeriodState.OPEN if now < ends_at else PeriodState.UNBOOKED
        return PeriodRow(
            name=name,
            state=state,
            starts_at=starts_at,
            ends_at=ends_at,
            method=method or DEFAULT_METHOD.id,
        )
    running = PeriodState.OPEN if now < booked.ends_at else PeriodState.SETTLING
    corrections, of_platform = sums.get(booked.pk, (Decimal(0), Decimal(0)))
    return PeriodRow(
        name=name,
        state=PeriodState.CLOSED if booked.is_closed else running,
        starts_at=booked.starts_at,
        ends_at=booked.ends_at,
        method=booked.method,
        revision=booked.revision,
        payable=Money(booked.payable, booked.currency),
        unallocated=Money(of_platform, booked.currency),
        corrections=Money(corrections, booked.currency),
        without_money_ms=booked.without_money_ms,
        booked_at=booked.booked_at,
        closed_at=booked.closed_at,
        closed_by=booked.closed_by.get_username() if booked.closed_by else "",
        hash=booked.hash,
        line_count=booked.line_count,
    )


def earlier_revisions(name: str) -> list[PeriodRevision]:
    """The revisions of a period that were closed and opened again, the latest first."""
    return reopened(name)[::-1]


def stored_checks(name: str) -> list[dict[str, Any]]:
    """The checks of a closed period, as they were at its close."""
    found = PeriodRevision.objects.filter(period=name, reopened_at__isnull=True)
    return [check for row in found for check in row.checks]


def overrides_of(booking: Booking) -> list[dict[str, Any]]:
    """The checks that two people overrode at the close; every statement shows them (M27)."""
    checks = PeriodRevision.objects.get(pk=booking.revision_id).checks
    return [one for one in checks if one.get("override")]
