"""Statements of a booking: one row for each team (money.md M33)."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounting.access.models.teams import Team
from accounting.access.reads.teams import known_teams
from accounting.access.scope import Scope
from accounting.core.charge_lines import NAMES
from accounting.core.efficiency import StateTimes
from accounting.core.money import NOTHING, Money
from accounting.months.models.period import Statement
from accounting.months.reads.lines import Booking
from accounting.months.reads.payers import Payer, payer_of, payers_of_booking


@dataclass(frozen=True, slots=True)
class StatementRow:
    """What one team pays for a period. `platform` and `unmapped` are rows, too.

    Attributes:
        name, department, cost_centre: of a closed month as they were at its close.
        slot: the color of the team; 0 for `platform` and `unmapped`.
        before: payable of the month before; None if it was not booked.
        change: of the payable against the revision that was reopened; None without one.
    """

    team: str
    name: str
    department: str
    cost_centre: str
    held_ms: int
    charge: Money
    entries: Money
    corrections: Money
    total: Money
    payable: Money
    without_money_ms: int
    slot: int = 0
    before: Money | None = None
    change: Money | None = None


def statement_rows(
    booking: Booking,
    scope: Scope,
    before: Booking | None = None,
    earlier: Booking | None = None,
) -> list[StatementRow]:
    """The statements that a person may read: teams by name, then unmapped, then the platform.

    Args:
        booking: whose statements.
        scope: of the reader.
        before: of the month before.
        earlier: the revision of the month that was closed before this one.
    """
    teams = {team.slug: team for team in known_teams().values()}
    payers = payers_of_booking(booking)
    then = _payables(before)
    closed = None if earlier is None else _payables(earlier)
    rows = [
        _row(
            one,
            payer_of(payers, one.team),
            booking.currency,
            then,
            closed,
            teams.get(one.team),
        )
        for one in Statement.objects.filter(revision_id=booking.revision_id)
        if _may_read(scope, teams.get(one.team))
    ]
    return sorted(rows, key=lambda row: (row.team in NAMES, row.name.casefold()))


def statement_row(booking: Booking, scope: Scope, team: str) -> StatementRow | None:
    """One of them; None if it does not exist or may not be read."""
    return next(
        (row for row in statement_rows(booking, scope) if row.team == team), None
    )


def _payables(booking: Booking | None) -> dict[str, Money]:
    if booking is None:
        return {}
    found = Statement.objects.filter(revision_id=booking.revision_id)
    return {
        team: Money(payable, booking.currency)
        for team, payable in found.values_list("team", "payable")
    }


def _may_read(scope: Scope, team: Team | None) -> bool:
    if scope.sees_all:
        return True
    return team is not None and team.pk in scope.lead_of


def _row(
    one: Statement,
    payer: Payer,
    currency: str,
    then: Mapping[str, Money],
    closed: Mapping[str, Money] | None,
    team: Team | None,
) -> StatementRow:
    payable = Money(one.payable, currency)
    return StatementRow(
        team=one.team,
        name=payer.name,
        department=payer.department,
        cost_centre=payer.cost_centre,
        held_ms=StateTimes(one.busy_ms, one.idle_ms, one.unknown_ms).allocated_ms,
        charge=Money(one.own6, currency),
        entries=Money(one.entries6, currency),
        corrections=Money(one.corrections6, currency),
        total=Money(one.total6, currency),
        payable=payable,
        without_money_ms=one.without_money_ms,
        slot=team.colour_slot if team else 0,
        before=then.get(one.team),
        change=None if closed is None else payable - closed.get(one.team, NOTHING),
    )
