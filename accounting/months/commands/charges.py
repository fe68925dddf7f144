"""`report charges`: what a billing period charges, from its booking (money.md M5)."""

from collections.abc import Iterable, Mapping
from typing import Any

from accounting.kit.reads.selection import Selection, SelectionError, refuse_others
from accounting.months.reads.charges import DIMENSIONS, ChargeError, charge_rows
from accounting.months.reads.lines import BookingError, booking_of
from accounting.months.serializers.charges import ChargeRowSerializer
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running

FILTERS = tuple(name for name in DIMENSIONS if name != "day")


def charge_report(
    period: str | None, by: str | None, selection: Selection
) -> Iterable[Mapping[str, Any]]:
    """Rows of a period, each with its currency and state; a running period is computed again.

    Args:
        period: YYYY-MM.
        by: names of fields, with commas; None for teams.
        selection: filters; without a range, because the period is one.

    Raises:
        SelectionError: the period or a field is not valid.
    """
    if period is None:
        raise SelectionError("charges need --period YYYY-MM")
    if selection.period is not None:
        raise SelectionError(
            "charges have a --period and do not support --from and --to"
        )
    refuse_others(selection, FILTERS, "charges")
    names = [name for name in ("team" if by is None else by).split(",") if name]
    try:
        book_running(period)
        booking = booking_of(period)
        rows = charge_rows(booking, names, selection.filters)
    except (BookingError, ChargeError, PeriodError) as error:
        raise SelectionError(str(error)) from error
    common = {"currency": booking.currency, "revision": booking.revision_name}
    return ({**row, **common} for row in ChargeRowSerializer.each(rows))
