"""Rings for the worker. The page never waits for it: what is due stands in Postgres."""

import structlog
from django.db import transaction
from kombu.exceptions import OperationalError

from scheduler_view.tasks import work

RING_S = 60  # a bell that nobody heard by then is dropped: the sweeper rings again
log = structlog.get_logger(__name__)


def ring(cluster_id: int) -> None:
    """Ask a worker to look at a cluster's change sets, once this transaction is whole."""
    transaction.on_commit(lambda: _ring(cluster_id))


def _ring(cluster_id: int) -> None:
    try:
        work.apply_async((cluster_id,), expires=RING_S, retry=False)
    except OperationalError as error:  # the clock finds the work within 15 seconds
        log.warning("no bell", cluster=cluster_id, error=str(error))
