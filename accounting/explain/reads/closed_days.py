"""Closed days of an amount: as booked, as corrected, and time x price as known now (M5, M31)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from django.db import connection

from accounting.core.money import Money, minor_places
from accounting.explain.reads.prices import Amount, PaidTime
from accounting.kit.reads.selection import Amounts, Selection
from accounting.kit.rows import OffsetInstant, column, listed
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.inputs import inputs_now
from accounting.months.rules.methods import Base
from accounting.usage.reads.booked import booked_part
from accounting.usage.reads.relation.relation import relation

Figure = Callable[[Selection], Money | None]
"""The same amount of another selection, with six places."""

PLAIN = str(
    Base.ALLOCATION
)  # the method by which time x price is what teams are charged


class Reason(StrEnum):
    """Why time x price of closed days is not what is booked and corrected."""

    METHOD = "method"  # the method charges something else than held time x price
    STALE = "stale"  # something changed since corrections were computed
    ROUNDING = "rounding"  # less than half of a minor unit
    OTHER = "other"  # such as hours that are no longer kept


@listed("Gap")
class Gap:
    """What is between booked + corrections and time x price.

    Attributes:
        amount: measured - booked - corrections, each in the places of the currency.
    """

    amount: Amount = column()
    reason: Reason = column(choices=[one.value for one in Reason])
    is_stale: bool = column(
        "something changed since corrections were computed", default=False
    )
    corrected_at: OffsetInstant | None = column(
        "null: not computed since the latest close", default=None
    )


@listed("ClosedDays")
class ClosedDays:
    """The closed days as known now.

    Attributes:
        booked: at the close of their months; None if no time has a price.
        corrections: of these days, by whichever month.
    """

    booked: Amount | None = column()
    corrections: Amount = column()
    entries: Amount = column("credits and adjustments of these days")
    measured: Amount | None = column("time x price, current data; null if unknown")
    gap: Gap | None = column("null if booked + corrections = measured")


def closed_days(
    selection: Selection,
    months: Sequence[PeriodRevision],
    paid: PaidTime,
    figure: Figure,
) -> ClosedDays:
    """The closed days of an amount, as booked and as known now.

    Args:
        selection: of closed days only.
        months: their closes, at least one.
        paid: the time behind the amount.
        figure: the amount.
    """
    booked = figure(replace(selection, amounts=Amounts.BOOKED))
    measured = figure(replace(selection, amounts=Amounts.MEASURED))
    corrections, entries = _later(selection, paid, months[0].currency)
    return ClosedDays(
        booked=booked,
        corrections=corrections,
        entries=entries,
        measured=measured,
        gap=_gap(booked, corrections, measured, months),
    )


def _later(selection: Selection, paid: PaidTime, currency: str) -> tuple[Money, Money]:
    """Corrections and entries of some days, whichever month has booked them."""
    asked = replace(selection, amounts=Amounts.CORRECTED)
    lines = booked_part(asked, (), is_held=paid.is_held, of_lines=True)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT coalesce(sum(u.charge_part) FILTER (WHERE u.corrects <> ''), 0),
                   coalesce(sum(u.charge_part) FILTER (WHERE u.corrects = ''), 0)
            FROM ({lines.rows}) u
            WHERE {paid.lines}
              AND (u.corrects <> '' OR u.kind IN ('credit', 'adjustment'))
            """,  # built from this project's own constants
            relation(asked, ()).parameters | lines.parameters,
        )
        [(corrections, entries)] = cursor.fetchall()
    return Money(corrections, currency), Money(entries, currency)


def _gap(
    booked: Money | None,
    corrections: Money,
    measured: Money | None,
    months: Sequence[PeriodRevision],
) -> Gap | None:
    if booked is None or measured is None:
        return None
    if len({one.currency for one in (booked, corrections, measured)} - {""}) > 1:
        return None
    shown = measured.rounded() - booked.rounded() - corrections.rounded()
    if not shown.amount:
        return None
    exact = measured - booked - corrections
    half = Decimal(5).scaleb(-minor_places(exact.currency) - 1)
    if abs(exact.amount) < half:
        return Gap(amount=shown, reason=Reason.ROUNDING)
    is_stale, corrected_at = _corrected(months)
    reason = Reason.STALE if is_stale else Reason.OTHER
    if any(one.method != PLAIN for one in months):
        reason = Reason.METHOD
    return Gap(
        amount=shown, reason=reason, is_stale=is_stale, corrected_at=corrected_at
    )


def _corrected(months: Sequence[PeriodRevision]) -> tuple[bool, datetime | None]:
    """Whether something was written since corrections were computed, and when that was.

    The first month that is not closed has them. One that was booked before the latest close has
    none of the month that was closed then.
    """
    running = (
        PeriodRevision.objects.filter(closed_at=None, reopened_at=None)
        .order_by("period")
        .first()
    )
    if running is None or running.booked_at < max(
        one.closed_at for one in months if one.closed_at is not None
    ):
        return True, None
    return running.inputs != inputs_now(), running.booked_at
