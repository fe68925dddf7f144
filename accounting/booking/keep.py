"""Keeps the running bookings of open and settling months up to date."""

from datetime import datetime

from django.db import connection, transaction

from accounting.booking.locking import hold_booking
from accounting.booking.periods import (
    closed_revisions,
    next_period,
    next_to_close,
    previous_period,
)
from accounting.booking.running import book_running
from accounting.models import PeriodRevision, UsageDay
from accounting.rating.billing_settings import billing_day

# What a booking is computed from. Prices and mapping change usage: their hours are rolled up.
_TABLES = (
    "accounting_billing",
    "accounting_billingperiod",
    "accounting_conversionrate",
    "accounting_entry",
    "accounting_team",
    "accounting_teamquota",
)
# The database counts the rows that were written to each table. A count that arrives late, or is
# lost in a crash, only books a month once more.
_WRITTEN = """
    SELECT string_agg(c.relname || ' ' || pg_stat_get_tuples_inserted(c.oid)
                      + pg_stat_get_tuples_updated(c.oid)
                      + pg_stat_get_tuples_deleted(c.oid), ',' ORDER BY c.relname)
    FROM pg_class c
    WHERE c.relname = ANY(%s) AND c.relkind = 'r'
       OR c.oid IN (SELECT inhrelid FROM pg_inherits
                    WHERE inhparent = 'usage_day'::regclass)
"""


def book_changed(now: datetime) -> list[str]:
    """Book the months that are not closed, up to the current one, if something changed.

    Before the first close these are the last two months.

    Returns:
        The months that were booked.
    """
    if not UsageDay.objects.exists():
        return []
    return [period for period in open_periods(now) if _book(period, now)]


def open_periods(now: datetime) -> list[str]:
    """Months that are open or settling, in order."""
    current = f"{billing_day(now):%Y-%m}"
    period = next_to_close() or previous_period(current)
    found = []
    while period <= current:
        found.append(period)
        period = next_period(period)
    return found


def _book(period: str, now: datetime) -> bool:
    with transaction.atomic():
        hold_booking()
        inputs = inputs_now()
        found = PeriodRevision.objects.filter(period=period, reopened_at=None).first()
        if found is not None and (found.is_closed or found.inputs == inputs):
            return False
        booked = book_running(period, now)
        PeriodRevision.objects.filter(pk=booked.pk).update(inputs=inputs)
        return True


def inputs_now() -> str:
    """A text that differs after anything that a booking is computed from was written."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(f"SELECT md5(({_WRITTEN}))", [list(_TABLES)])
        [(written,)] = cursor.fetchall()
    return ",".join([written, *(str(one.pk) for one in closed_revisions()[-1:])])
