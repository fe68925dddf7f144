"""Divides the lines of bookings over the hours of their days, once (money.md M5, decision 42).

Reports by hour, and ranges that begin or end within a closed day, sum what is stored here.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db import connection, transaction

from accounting.months.models.charge import LineHours
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.locking import hold_booking
from accounting.months.tasks.periods import closed_revisions
from accounting.prices.sql.line_hours_sql import IS_LATER, line_hours

AT_CLOSE = 100_000
"""Most lines that a close divides itself, in seconds; usage cannot be written meanwhile."""

_NEAR = timedelta(days=2)  # a billing day begins less than a day from midnight of UTC


def divide_running(revision: PeriodRevision) -> None:
    """Replace the hours of a running booking: of its corrections and entries; in a transaction.

    Its own time is priced hour by hour in reports (rules.md N28).
    """
    LineHours.objects.filter(revision=revision).delete()
    _divide("running_line", revision, IS_LATER)


def divide_at_close(revision: PeriodRevision) -> None:
    """Freeze the hours of a revision that is about to be closed; in its transaction.

    More than `AT_CLOSE` lines are left to `divide_closed`.
    """
    LineHours.objects.filter(revision=revision).delete()
    if revision.line_count <= AT_CLOSE:
        _divide("charge_line", revision)


def divide_closed() -> list[str]:
    """Divide the closed revisions in effect that have no hours yet, oldest first.

    These are large ones, and those that were closed before hours were stored. Until then reports
    have time x price for hours and parts of days of these months.

    Returns:
        The revisions that were divided.
    """
    return [str(one) for one in closed_revisions() if _divide_late(one)]


def _divide_late(revision: PeriodRevision) -> bool:
    with transaction.atomic():
        hold_booking()
        if LineHours.objects.filter(revision=revision).exists():
            return False
        return _divide("charge_line", revision) > 0


def _divide(table: str, revision: PeriodRevision, which: str = "true") -> int:
    """Store the hours of lines `l` of a revision; the number of these lines."""
    lines = f"""SELECT l.* FROM {table} l WHERE l.revision_id = %(id)s
        AND l.billing_on IS NOT NULL AND {which}"""
    values: dict[str, Any] = {"id": revision.pk, "currency": revision.currency}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT billing_on FROM ({lines}) l", values)
        days = sorted(day for (day,) in cursor.fetchall())
        if not days:
            return 0
        begin, end = (datetime.combine(day, time(), UTC) for day in (days[0], days[-1]))
        # Nothing is known of the sizes of intermediate results: loops over them take hours.
        cursor.execute(
            "SET LOCAL enable_nestloop = off; SET LOCAL jit = off;"
            " SET LOCAL work_mem = '256MB'"
        )
        cursor.execute(
            f"""INSERT INTO line_hours (revision_id, line_id, hours, parts)
                SELECT %(id)s, line_id, hours, parts FROM ({line_hours(lines)}) divided""",
            {
                **values,
                "days": days,
                "days_begin": begin - _NEAR,
                "days_end": end + _NEAR,
            },
        )
        found: int = cursor.rowcount
        cursor.execute("SET LOCAL enable_nestloop TO DEFAULT")
        return found
