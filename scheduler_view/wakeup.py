"""Wakes a worker. The page never waits for it: due work is recorded in Postgres.

The task is named, not imported, because its module imports the Kubernetes client, which the web
process must not have.
"""

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

WORK = "scheduler_view.tasks.work"
# a wakeup that no worker took by then expires; the periodic task sends another
RING_S = 60
# Celery would wait 6 s for a Redis that is not there, and so would the page
AT_ONCE = {"max_retries": 0}
log = structlog.get_logger(__name__)


def ring(cluster_id: int) -> None:
    """Wake a worker for a cluster's change sets when this transaction has committed."""
    transaction.on_commit(lambda: _ring(cluster_id))


def _ring(cluster_id: int) -> None:
    try:
        with current_app.connection_for_write(transport_options=AT_ONCE) as redis:
            current_app.send_task(
                WORK, (cluster_id,), expires=RING_S, retry=False, connection=redis
            )
    except OperationalError as error:  # beat finds the work within 15 seconds
        log.warning("Redis is not available", cluster=cluster_id, error=str(error))
