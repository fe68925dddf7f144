"""`report corrections`: what a period corrects of closed ones, and why (money.md M31, M32)."""

from collections.abc import Iterable, Mapping

from accounting.core.decimal_text import plain
from accounting.kit.reads.selection import Selection, SelectionError, refuse_others
from accounting.months.reads.corrections import correction_rows
from accounting.months.reads.lines import Booking, BookingError, booking_of
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running


def correction_report(
    period: str | None, selection: Selection
) -> Iterable[Mapping[str, str]]:
    """The corrections that a period has booked; a running period is computed again.

    Args:
        period: YYYY-MM: where the corrections are booked, not what they correct.
        selection: only teams; without a range, because the period is one.

    Raises:
        SelectionError: the period is not valid, or a filter is not supported.
    """
    if period is None:
        raise SelectionError("corrections need --period YYYY-MM")
    if selection.period is not None:
        raise SelectionError(
            "corrections have a --period and do not support --from and --to"
        )
    refuse_others(selection, ("team",), "corrections")
    try:
        book_running(period)
        booking = booking_of(period)
    except (BookingError, PeriodError) as error:
        raise SelectionError(str(error)) from error
    return booked_corrections(booking, selection.filters.get("team"))


def booked_corrections(
    booking: Booking, teams: Iterable[str] | None = None
) -> list[Mapping[str, str]]:
    """The corrections of a booking as texts: raw is exact, also where the charge is 0.000000."""
    wanted = None if teams is None else frozenset(teams)
    return [
        {
            "booked_in": booking.period,
            "corrects": row.corrects,
            "cause": row.cause,
            "team": row.team,
            "ms": str(row.ms),
            "raw": plain(row.raw),
            "charge": f"{row.charge:f}",
        }
        for row in correction_rows(booking)
        if wanted is None or row.team in wanted
    ]
