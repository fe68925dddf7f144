"""What an entry would do to the payables of its month, before it is added (money.md M25)."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from accounting.access.models.teams import Team
from accounting.core.charge_lines import NAMES, PLATFORM
from accounting.core.money import Money, minor_places
from accounting.core.rounding import half_even
from accounting.months.models.period import Statement
from accounting.months.reads.entries import waiting_entries
from accounting.months.reads.lines import Booking, BookingError, booking_of

NONE = Decimal(0)


@dataclass(frozen=True, slots=True)
class PayableChange:
    """The payable of one statement without and with the entry."""

    name: str
    before: Money
    after: Money

    @property
    def difference(self) -> Money:
        """After less before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class EntryEffect:
    """An entry that is not added yet.

    Attributes:
        amount: signed: below 0 the team pays less.
        first: of its month.
        computed_at: of the running booking that is compared with; None: the month has none, and
            only entries are in the payables.
        rows: the team's and the platform's.
    """

    team: Team
    billing_on: date
    amount: Money
    first: date
    computed_at: datetime | None
    rows: tuple[PayableChange, PayableChange]

    @property
    def is_credit(self) -> bool:
        """Whether the team pays less."""
        return self.amount.amount < 0

    @property
    def seen(self) -> str:
        """The payables as text: another one where a preview of before would mislead."""
        amounts = [f"{one.before.amount} {one.after.amount}" for one in self.rows]
        return ", ".join((*amounts, "computed" if self.computed_at else "not computed"))

    @property
    def size(self) -> Money:
        """The amount without its sign."""
        return Money(abs(self.amount.amount), self.amount.currency)


def entry_effect(team: Team, billing_on: date, amount: Money) -> EntryEffect:
    """The payables of the team and the platform with and without an entry.

    Entries that were added after the latest computation count in both.
    """
    booking = _booking(f"{billing_on:%Y-%m}")
    currency, first = amount.currency, billing_on.replace(day=1)
    waiting = _waiting(first)
    totals = dict.fromkeys((team.slug, PLATFORM), (NONE, NONE))
    if booking is not None:
        found = Statement.objects.filter(
            revision_id=booking.revision_id, team__in=totals
        )
        totals |= {one.team: (one.total6, one.payable) for one in found}
    total6, payable = totals[team.slug]
    mine = waiting.get(team.slug, NONE)
    before = half_even(total6 + mine, minor_places(currency))
    after = half_even(total6 + mine + amount.amount, minor_places(currency))
    # the payable of the period stays: what teams pay less, the platform pays more (M4)
    others = sum(waiting.values(), NONE) - mine
    of_platform = totals[PLATFORM][1] - others - (before - payable)
    return EntryEffect(
        team=team,
        billing_on=billing_on,
        amount=amount,
        first=first,
        computed_at=booking.booked_at if booking else None,
        rows=(
            PayableChange(team.name, Money(before, currency), Money(after, currency)),
            PayableChange(
                NAMES[PLATFORM],
                Money(of_platform, currency),
                Money(of_platform - (after - before), currency),
            ),
        ),
    )


def _booking(period: str) -> Booking | None:
    try:
        return booking_of(period)
    except BookingError:
        return None


def _waiting(first: date) -> dict[str, Decimal]:
    """Entries of the month that are in no line yet, by team."""
    sums: dict[str, Decimal] = {}
    for one in waiting_entries(first):
        sums[one.team.slug] = sums.get(one.team.slug, NONE) + one.amount
    return sums
