"""What of an amount was booked at the close of months, and by which closes (money.md M5)."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from accounting.core.interval import Interval
from accounting.core.money import Money, sum_money, sums_by_currency
from accounting.explain.reads.closed_days import ClosedDays, Figure, closed_days
from accounting.explain.reads.prices import Amount, PaidTime, PriceUsed, amounts_of
from accounting.kit.reads.selection import FIRST, LAST, Selection
from accounting.kit.rows import OffsetInstant, column, listed
from accounting.months.models.period import PeriodRevision
from accounting.usage.reads.booked import booked_part


@listed("BookedMonth")
class BookedMonth:
    """What a close has booked of the number.

    Attributes:
        period: `2026-10`.
        hash: of all lines of the close.
        amount: in the places of the currency; None if its time has no price.
    """

    period: str = column()
    revision: int = column()
    method: str = column()
    hash: str = column()
    closed_at: OffsetInstant = column()
    amount: Amount | None = column()


@listed("Booked")
class BookedAmount:
    """The parts of the number by close.

    Attributes:
        months: in their order.
        closed: what its closed days would be now.
    """

    months: tuple[BookedMonth, ...] = column()
    opened: tuple[Amount, ...] = column(
        "time x price of other time, by currency", name="not_booked"
    )
    closed: ClosedDays = column(name="closed_days")

    @property
    def totals(self) -> tuple[Money, ...]:
        """The amount, by currency; () if it is not known."""
        parts = [one.amount for one in self.months if one.amount is not None]
        return sums_by_currency([*parts, *self.opened])


def booked_amount(
    selection: Selection,
    prices: Sequence[PriceUsed],
    paid: PaidTime,
    figure: Figure,
) -> BookedAmount | None:
    """The parts of an amount by close; None if nothing of its range is booked.

    Args:
        selection: of the amount.
        prices: all of it, as `prices_used` has them.
        paid: the time behind it.
        figure: the same amount of another selection, with six places.
    """
    if not booked_part(selection, (), is_held=True).parameters:
        return None
    period = selection.period or Interval.of(FIRST, LAST)
    months = _closes_in(period)
    if not months:
        return None
    closed = period.intersection(Interval.of(months[0].starts_at, months[-1].ends_at))
    return BookedAmount(
        months=tuple(_month(one, prices) for one in months),
        opened=amounts_of(one for one in prices if not one.revision_id),
        closed=closed_days(replace(selection, period=closed), months, paid, figure),
    )


def _closes_in(period: Interval) -> list[PeriodRevision]:
    """The closes in effect that a period touches, in order; they have no gap (M28)."""
    closed = PeriodRevision.objects.filter(
        closed_at__isnull=False,
        reopened_at__isnull=True,
        starts_at__lt=period.end,
        ends_at__gt=period.start,
    )
    return list(closed.order_by("starts_at"))


def _month(close: PeriodRevision, prices: Sequence[PriceUsed]) -> BookedMonth:
    if close.closed_at is None:
        raise ValueError(f"{close} is not closed")
    lines = [one.amount for one in prices if one.revision_id == close.pk]
    nothing = Money(Decimal(0), close.currency)
    return BookedMonth(
        period=close.period,
        revision=close.revision,
        method=close.method,
        hash=close.hash,
        closed_at=close.closed_at,
        amount=sum_money(lines) if lines else nothing,
    )
