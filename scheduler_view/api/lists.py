"""Quotas and tiers: lists; they are changed by change sets only."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.api.rows import RowsView
from accounting.api.schema import lists
from accounting.serializers.declared import serializer_of
from scheduler_view.queries.quotas import QuotaRow, among, quota_rows
from scheduler_view.queries.tiers import TierRow, tier_rows


class QuotasView(RowsView):
    """Team quotas."""

    subject = "quotas"
    parameters = ("cluster", "team")

    @lists(serializer_of(QuotaRow), parameters)
    def get(self, request: Request) -> Response:
        """List quotas of the teams that you can see."""
        found = quota_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, serializer_of(QuotaRow))


class TiersView(RowsView):
    """Priority tiers."""

    subject = "tiers"
    parameters = ("cluster",)

    @lists(serializer_of(TierRow), parameters)
    def get(self, request: Request) -> Response:
        """List tiers, highest first. People without a team see none."""
        scope = scope_of(request.user)
        filters = self.selection(request).filters
        rows = among(tier_rows() if scope.sees_any else [], filters)
        return self.listed(request, rows, serializer_of(TierRow))
