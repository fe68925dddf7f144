"""Everything that limits GPUs: a list; limits are changed by change sets only."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.api.rows import RowsView
from accounting.api.schema import lists
from accounting.serializers.declared import serializer_of
from scheduler_view.queries.limits.limit_row import LimitRow
from scheduler_view.queries.limits.rows import limit_rows
from scheduler_view.queries.quotas import among


class LimitsView(RowsView):
    """Limits of GPUs."""

    subject = "limits"
    parameters = ("cluster", "team")

    @lists(serializer_of(LimitRow), parameters)
    def get(self, request: Request) -> Response:
        """List quotas, limit ranges, priority classes and queues, also those of others.

        People see those of their teams' namespaces, and of the whole cluster what names no other
        team.
        """
        found = limit_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, serializer_of(LimitRow))
