"""A copy of a database in which no time passes, for Django and for PostgreSQL.

Statements find the clock in a schema before PostgreSQL's own, so that the product runs as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import time_machine
from django.core.management import call_command
from django.db import connection

from accounting.tasks import book_periods
from tests.database_copies import connected_to, copy_of

CLOCKS = ("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp")
_CLOCK = """
    CREATE FUNCTION frozen.{name}() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT '{now}'::timestamptz $$
"""


@contextmanager
def clocks_stopped(now: datetime) -> Iterator[None]:
    """No time passes for this process and for connections to its database.

    Args:
        now: the instant, with a time zone.
    """
    name = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA frozen")
        for clock in CLOCKS:
            cursor.execute(_CLOCK.format(name=clock, now=now.isoformat()))
        cursor.execute(
            f'ALTER DATABASE "{name}" SET search_path = frozen, pg_catalog, public'
        )
    connection.close()  # the path is read by new connections
    try:
        with time_machine.travel(now, tick=False):
            yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f'ALTER DATABASE "{name}" RESET search_path')
            cursor.execute("DROP SCHEMA frozen CASCADE")
        connection.close()


@contextmanager
def frozen_copy(template: str, name: str, now: datetime) -> Iterator[None]:
    """Connected to a copy, migrated and booked by this version at one instant; dropped at the end.

    Args:
        template: a database to which nobody is connected.
        now: the instant, with a time zone.
    """
    with copy_of(template, name), connected_to(name):
        call_command("migrate", verbosity=0, interactive=False)
        with clocks_stopped(now):
            book_periods()  # as a worker does within ten minutes
            yield
