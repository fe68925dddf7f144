"""What keeps bookings of several processes apart."""

from django.db import connection

from accounting.kit.locks import lock

LOCK_SPACE = "booking"


def hold_booking() -> None:
    """Let no other process book, close, reopen or add entries until the transaction ends."""
    lock(LOCK_SPACE, 0)


def hold_usage() -> None:
    """Let no rollup change usage until the transaction ends: a close reads one state of it.

    Rollups wait meanwhile. Hours that they have not finished are dirty and block the close.
    """
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE usage_day IN SHARE MODE")
