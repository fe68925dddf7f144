"""Quotas and tiers: lists; they are changed by change sets only."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.api.rows import RowsView
from accounting.api.schema import lists
from scheduler_view import serializers
from scheduler_view.queries.quotas import among, quota_rows
from scheduler_view.queries.tiers import tier_rows


class QuotasView(RowsView):
    """What teams may hold."""

    subject = "quotas"
    parameters = ("cluster", "team")

    @lists(serializers.QuotaRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """Quotas of the teams that the asker may read."""
        found = quota_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, serializers.QuotaRowSerializer)


class TiersView(RowsView):
    """Who goes first."""

    subject = "tiers"
    parameters = ("cluster",)

    @lists(serializers.TierRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """Every tier, highest first; people without a team see none."""
        scope = scope_of(request.user)
        filters = self.selection(request).filters
        rows = among(tier_rows() if scope.sees_any else [], filters)
        return self.listed(request, rows, serializers.TierRowSerializer)
