"""Statements as REST lists them, by team (money.md M33, M47)."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

from accounting.core.efficiency import StateTimes
from accounting.core.money import Money
from accounting.kit import texts
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.kit.rows import GpuHours, TextOrNull, column, derived, listed, member
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.reads.lines import Booking
from accounting.months.reads.payers import Payer, payer_of, payers_of_booking


@listed("Statement")
class ListedStatement:
    """What one team pays for a month.

    Attributes:
        payer: the names of the team; of a closed month those of its close.
    """

    number: TextOrNull = column("null until the month is closed")
    period = derived(str, "booking.period")
    revision = derived(int, "booking.revision")
    closed = derived(bool, "booking.is_closed")
    team: str = column("slug, `unmapped` or `platform`")
    name = derived(
        str, "payer.name", "of the team, in a closed month that of its close"
    )
    department = derived(TextOrNull, "payer.department")
    cost_center = derived(TextOrNull, "payer.cost_centre")
    currency = derived(str, "booking.currency")
    method = derived(str, "booking.method")
    own: Decimal = column("of this month's time")
    entries: Decimal = column("credits and adjustments")
    corrections: Decimal = column("of earlier, closed months")
    total: Decimal = column("own + entries + corrections")
    rounding: Decimal = column("payable - total")
    payable: Annotated[Money, texts.payable] = column()
    before: Annotated[Money, texts.payable] | None = column(
        "of the month before, if closed", name="payable_before"
    )

    @member(name="held_gpu_hours")
    def held_ms(self) -> GpuHours:
        """Time that its pods held GPUs."""
        return StateTimes(self.busy_ms, self.idle_ms, self.unknown_ms).allocated_ms

    busy_ms: GpuHours = column(name="busy_gpu_hours")
    idle_ms: GpuHours = column(name="idle_gpu_hours")
    unknown_ms: GpuHours = column(name="unknown_gpu_hours")
    without_money_ms: GpuHours = column(
        "time without a price, not charged", name="without_money_gpu_hours"
    )
    booking: Booking
    payer: Payer


def listed_statements(
    booking: Booking, teams: Sequence[str] | None = None, seek: Seek = ALL_ROWS
) -> list[ListedStatement]:
    """The statements of a booking, by team.

    Args:
        booking: from `months.reads.lines`.
        teams: only theirs; None for all.
        seek: the rows of a page; a key is `statement_key` of a row.
    """
    found = Statement.objects.filter(revision_id=booking.revision_id)
    if teams is not None:
        found = found.filter(team__in=teams)
    rows = list(seek_rows(found, ("team",), seek))
    before = _closed_before(booking, [row.team for row in rows])
    payers = payers_of_booking(booking)
    return [
        _listed(booking, row, payer_of(payers, row.team), before.get(row.team))
        for row in rows
    ]


def statement_key(row: ListedStatement) -> Key:
    """The position of a row in its list."""
    return [row.team]


def _closed_before(booking: Booking, teams: Sequence[str]) -> dict[str, Decimal]:
    """Payables of the month before. A running one would change, and a closed list does not."""
    if not booking.previous_hash:
        return {}
    month = PeriodRevision.objects.filter(hash=booking.previous_hash)
    found = Statement.objects.filter(revision__in=month, team__in=teams)
    return dict(found.values_list("team", "payable"))


def _listed(
    booking: Booking, row: Statement, payer: Payer, before: Decimal | None
) -> ListedStatement:
    number = f"{booking.period}-{row.team}-r{booking.revision}"
    return ListedStatement(
        booking=booking,
        number=number if booking.is_closed else "",
        team=row.team,
        payer=payer,
        own=row.own6,
        entries=row.entries6,
        corrections=row.corrections6,
        total=row.total6,
        rounding=row.payable - row.total6,
        payable=Money(row.payable, booking.currency),
        before=None if before is None else Money(before, booking.currency),
        busy_ms=row.busy_ms,
        idle_ms=row.idle_ms,
        unknown_ms=row.unknown_ms,
        without_money_ms=row.without_money_ms,
    )
