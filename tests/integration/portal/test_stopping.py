"""A stop that interrupts a statement is a stop, whatever is said by what tidies up after it."""

import os
import signal
import threading

import pytest
from django.db import DatabaseError, connection, transaction

from portal.embedded.stopping import Stopped, is_stop, stopping_signals


def interrupted() -> None:
    """A statement, and a transaction of what tidies up."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(20)")
    finally:
        with transaction.atomic():
            pass


@pytest.mark.django_db(transaction=True)
def test_a_stop_in_the_middle_of_a_statement_is_known_as_one() -> None:
    connection.ensure_connection()
    with stopping_signals(), pytest.raises((Stopped, DatabaseError)) as found:
        interrupted()
    connection.connection.cancel()  # its session would be in the way of the next test
    connection.close()
    assert isinstance(found.value, DatabaseError)  # what this is about
    assert is_stop(found.value)


def test_an_error_of_its_own_is_none() -> None:
    assert not is_stop(DatabaseError("no such table"))
    assert not is_stop(None)
