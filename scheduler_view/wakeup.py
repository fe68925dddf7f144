"""Wakes the worker. The page never waits for it: due work is recorded in Postgres.

The task is named, not imported: it brings the Kubernetes client, which the web process
neither needs nor may have.
"""

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

WORK = "scheduler_view.tasks.work"
RING_S = 60  # a wake-up that no worker took by then expires; the sweeper sends another
log = structlog.get_logger(__name__)


def ring(cluster_id: int) -> None:
    """Ask a worker to look at a cluster's change sets, once this transaction is whole."""
    transaction.on_commit(lambda: _ring(cluster_id))


def _ring(cluster_id: int) -> None:
    try:
        current_app.send_task(WORK, (cluster_id,), expires=RING_S, retry=False)
    except OperationalError as error:  # the clock finds the work within 15 seconds
        log.warning("Redis is not available", cluster=cluster_id, error=str(error))
