"""Read-only lists of queues: units that wait, pools, wait times."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.api.rows import RowsView
from accounting.api.schema import lists
from accounting.serializers.declared import serializer_of
from scheduler_view.queries.queues.pools import PoolRow, pool_rows
from scheduler_view.queries.queues.queued_units import QueuedUnitRow, queued_rows
from scheduler_view.queries.queues.wait_times import WaitTimeRow, wait_time_rows
from scheduler_view.queries.quotas import among


class QueuedUnitsView(RowsView):
    """Units of work that wait."""

    subject = "queued-units"
    parameters = ("cluster", "team")

    @lists(serializer_of(QueuedUnitRow), parameters)
    def get(self, request: Request) -> Response:
        """List work that waits, with its position in its pool and its estimated start."""
        found = queued_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, serializer_of(QueuedUnitRow))


class ResourcePoolsView(RowsView):
    """Pools of GPUs."""

    subject = "resource-pools"
    parameters = ("cluster",)

    @lists(serializer_of(PoolRow), parameters)
    def get(self, request: Request) -> Response:
        """List pools: what waits, is free and fits now, and how far estimates were off."""
        found = pool_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, serializer_of(PoolRow))


class WaitTimesView(RowsView):
    """Wait times by tier."""

    subject = "wait-times"
    parameters = ("cluster",)

    @lists(serializer_of(WaitTimeRow), parameters)
    def get(self, request: Request) -> Response:
        """List how long work of each tier waited in the last 28 days, of all teams."""
        found = wait_time_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, serializer_of(WaitTimeRow))
