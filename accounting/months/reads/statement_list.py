"""Statements as REST lists them, by team (money.md M33, M47)."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounting.core.efficiency import StateTimes
from accounting.core.money import Money
from accounting.kit.reads.paging import (
    ALL_ROWS,
    Key,
    Seek,
    seek_rows,
)
from accounting.months.models.period import (
    PeriodRevision,
    Statement,
)
from accounting.months.reads.lines import Booking
from accounting.months.reads.payers import (
    Payer,
    payer_of,
    payers_of_booking,
)


@dataclass(frozen=True, slots=True)
class ListedStatement:
    """What one team, `unmapped` or `platform` pays for a period.

    Attributes:
        number: of a closed one; "" while it is running.
        payer: the names of the team; of a closed month those of its close.
        own, entries, corrections: sum to `total`; `rounding` is payable - total.
        before: payable of the month before, if that is closed.
    """

    booking: Booking
    number: str
    team: str
    payer: Payer
    own: Decimal
    entries: Decimal
    corrections: Decimal
    total: Decimal
    rounding: Decimal
    payable: Money
    before: Money | None
    busy_ms: int
    idle_ms: int
    unknown_ms: int
    without_money_ms: int

    @property
    def held_ms(self) -> int:
        """Time that its pods held GPUs."""
        return StateTimes(self.busy_ms, self.idle_ms, self.unknown_ms).allocated_ms


def listed_statements(
    booking: Booking, teams: Sequence[str] | None = None, seek: Seek = ALL_ROWS
) -> list[ListedStatement]:
    """The statements of a booking, by team.

    Args:
        booking: from `queries.finance.lines`.
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
