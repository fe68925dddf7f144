"""Read-only lists of queues: units that wait, pools, wait times."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.api.rows import RowsView
from accounting.api.schema import lists
from scheduler_view.queries.queues.pools import pool_rows
from scheduler_view.queries.queues.queued_units import queued_rows
from scheduler_view.queries.queues.wait_times import wait_time_rows
from scheduler_view.queries.quotas import among
from scheduler_view.serializers.queues import (
    PoolRowSerializer,
    QueuedUnitRowSerializer,
    WaitTimeRowSerializer,
)


class QueuedUnitsView(RowsView):
    """Units of work that wait."""

    subject = "queued-units"
    parameters = ("cluster", "team")

    @lists(QueuedUnitRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List work that waits, with its position in its pool and its estimated start."""
        found = queued_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, QueuedUnitRowSerializer)


class ResourcePoolsView(RowsView):
    """Pools of GPUs."""

    subject = "resource-pools"
    parameters = ("cluster",)

    @lists(PoolRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List pools: what waits, is free and fits now, and how far estimates were off."""
        found = pool_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, PoolRowSerializer)


class WaitTimesView(RowsView):
    """Wait times by tier."""

    subject = "wait-times"
    parameters = ("cluster",)

    @lists(WaitTimeRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List how long work of each tier waited in the last 28 days, of all teams."""
        found = wait_time_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, WaitTimeRowSerializer)
