"""The database's clock."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The database's clock, which all workers share."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
