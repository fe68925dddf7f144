"""The database's clock and the bounds of what is stored."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The database's clock: the one that all workers share."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
