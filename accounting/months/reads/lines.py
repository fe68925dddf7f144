"""The booking of a period: which revision is read, and in which table its lines are.

A closed revision has frozen lines, a running one lines that the next booking replaces.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256

from django.conf import settings

from accounting.months.models.charge import ChargeLine, RunningLine
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.reads.revisions import in_effect, revisions, revisions_of


class BookingError(ValueError):
    """The period has no booking, or not this revision."""


@dataclass(frozen=True, slots=True)
class Booking:
    """What was booked for a period, without its lines.

    Attributes:
        revision_id: key of its lines and statements.
        name: `2026-10-r1`.
        table: where its lines are.
        starts_at, ends_at: the period, half-open.
        booked_at: when its lines were computed.
        total6, payable: sums of its statements.
        hash: of the close; "" while it is running.
        previous_hash: of the month before; "" where that was never closed.
        organization_id, organization_name: who invoices; of a closed revision those of its close.
    """

    revision_id: int
    period: str
    revision: int
    table: str
    is_closed: bool
    starts_at: datetime
    ends_at: datetime
    timezone: str
    currency: str
    minor_places: int
    method: str
    booked_at: datetime
    line_count: int
    total6: Decimal
    payable: Decimal
    without_money_ms: int
    hash: str
    previous_hash: str
    organization_id: str
    organization_name: str

    @property
    def name(self) -> str:
        """`2026-10-r1`, as corrections and statements name it."""
        return f"{self.period}-r{self.revision}"

    @property
    def snapshot(self) -> str:
        """Another text when it was computed again, closed or opened again."""
        return self.hash or f"{self.revision_id} {self.booked_at.isoformat()}"

    @property
    def revision_name(self) -> str:
        """`r1`, or `running`: part of the names of files."""
        return f"r{self.revision}" if self.is_closed else "running"


def content_of(booking: Booking) -> str:
    """A digest of what its statements come to: another one where a close freezes other amounts."""
    statements = Statement.objects.filter(revision_id=booking.revision_id)
    amounts = statements.order_by("team").values_list(
        "team", "own6", "entries6", "corrections6", "total6", "payable"
    )
    parts = (booking.name, booking.method, booking.currency, booking.line_count)
    text = repr((parts, booking.without_money_ms, list(amounts)))
    return sha256(text.encode()).hexdigest()[:32]


def latest_booking() -> Booking | None:
    """The booking in effect of the latest month that has one."""
    found = [row for row in revisions() if not row.reopened_at]
    return _booking(found[-1]) if found else None


def bookings_between(first: str, last: str) -> list[Booking]:
    """The bookings in effect of some months, from `first` to `last`, in their order."""
    return [
        _booking(row)
        for row in revisions()
        if not row.reopened_at and first <= row.period <= last
    ]


def booking_of(period: str, revision: int | None = None) -> Booking:
    """The booking of a period: its latest revision that was not reopened, or the one given.

    Raises:
        BookingError: there is none.
    """
    found = revisions_of(period)
    row = in_effect(period)
    if revision is not None:
        row = next((one for one in found if one.revision == revision), None)
    if row is None:
        known = ", ".join(f"{one} ({_state(one)})" for one in found)
        what = period if revision is None else f"{period}, revision {revision}"
        hint = f" Revisions: {known}." if known else ""
        raise BookingError(f"{what} has no booking.{hint}")
    return _booking(row)


@dataclass(frozen=True, slots=True)
class RevisionName:
    """A revision that can be read.

    Attributes:
        name: `2026-10` for the one in effect, `2026-10-r1` for one that was reopened.
        label: with its state.
    """

    name: str
    label: str


def revision_names() -> list[RevisionName]:
    """Every booking, the latest first."""
    return [_revision_name(row) for row in reversed(revisions())]


def _revision_name(row: PeriodRevision) -> RevisionName:
    state = _state(row)
    if state == "running":
        return RevisionName(row.period, f"{row.period}, running")
    label = f"{row.period}, revision {row.revision}, {state}"
    is_old = row.reopened_at is not None
    return RevisionName(
        f"{row.period}-r{row.revision}" if is_old else row.period, label
    )


def _state(row: PeriodRevision) -> str:
    if row.reopened_at is not None:
        return "reopened"
    return "closed" if row.is_closed else "running"


def _booking(row: PeriodRevision) -> Booking:
    model = ChargeLine if row.is_closed else RunningLine
    return Booking(
        revision_id=row.pk,
        period=row.period,
        revision=row.revision,
        table=model._meta.db_table,  # noqa: SLF001  # Django's public name for it
        is_closed=row.is_closed,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        timezone=row.timezone,
        currency=row.currency,
        minor_places=row.minor_places,
        method=row.method,
        booked_at=row.booked_at,
        line_count=row.line_count,
        total6=row.total6,
        payable=row.payable,
        without_money_ms=row.without_money_ms,
        hash=row.hash,
        previous_hash=row.previous_hash,
        organization_id=row.organization_id or settings.ORGANIZATION_ID,
        organization_name=row.organization_name or settings.ORGANIZATION_NAME,
    )


def booked_days(booking: Booking) -> list[PeriodRevision]:
    """The revisions whose billing days its lines may have: its own, and earlier periods'.

    Of each period the latest revision, in the order of the periods.
    """
    rows = PeriodRevision.objects.filter(period__lt=booking.period)
    latest = {row.period: row for row in rows.order_by("period", "revision")}
    own = PeriodRevision.objects.get(pk=booking.revision_id)
    return [*latest.values(), own]
