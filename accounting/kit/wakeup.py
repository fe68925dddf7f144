"""Wakes a worker. No request waits for it: due work is recorded in PostgreSQL.

Tasks are named, not imported: their modules import what the web process must not have.
"""

from importlib import import_module

import structlog
from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

EXPIRES_S = 60  # a message that no worker took by then; the periodic task sends another
# Celery would wait 6 s for a Redis that is not there and 30 s for one that hangs, and so would
# the page.
AT_ONCE = {"max_retries": 0, "socket_timeout": 1, "socket_connect_timeout": 1}
log = structlog.get_logger(__name__)

WRITE_EXPORTS = "accounting.tasks.write_exports"
BOOK_PERIODS = "accounting.tasks.book_periods"
SEND_NOTIFICATIONS = "accounting.tasks.send_notifications"


def wake_worker(task: str, *values: int) -> None:
    """Send a task when this transaction has committed; if it is rolled back, nothing is sent.

    Args:
        task: its name. It must find its work in PostgreSQL, and be sent by beat as well: a lost
            message is not repeated.
        values: its arguments.
    """
    transaction.on_commit(lambda: _send(task, values), robust=True)


def _send(task: str, values: tuple[int, ...]) -> None:
    import_module(
        settings.TASK_APP
    )  # commands have not: theirs would be Celery's own broker
    try:
        with current_app.connection_for_write(transport_options=AT_ONCE) as redis:
            current_app.send_task(
                task, values, expires=EXPIRES_S, retry=False, connection=redis
            )
    except OperationalError as error:  # beat sends it within a minute
        log.warning("Redis is not available", task=task, error=str(error))
