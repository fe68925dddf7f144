"""Wasted GPU time as a list."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import WASTE
from accounting.access.scope import scope_of
from accounting.kit.api.rows import RowsView
from accounting.kit.api.schema import PERIOD, lists
from accounting.kit.serializers.declared import serializer_of
from scheduler_view.savings.reads.bridge import BridgeRow, bridge_rows
from scheduler_view.savings.reads.measured_days import waste_days
from scheduler_view.savings.reads.recommendation_row import RecommendationRow
from scheduler_view.savings.reads.recommendations import recommendation_rows
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.reads.rows import waste_report

PLACES = 6


class WasteView(RowsView):
    """Wasted GPU time."""

    subject = "waste"
    right = WASTE
    parameters = (*PERIOD, "cluster", "team")

    @lists(serializer_of(WasteRow), parameters)
    def get(self, request: Request) -> Response:
        """List wasted GPU time by rule and family of work, largest amount first.

        Of all teams, or of those that one leads. Without `from` and `to`: the last 28 days.
        """
        selection = self.selection(request)
        report = waste_report(
            scope_of(request.user),
            waste_days(selection, timezone.now()),
            PLACES,
            clusters=selection.filters.get("cluster", ()),
            teams=selection.filters.get("team", ()),
        )
        return self.listed(request, report.rows, serializer_of(WasteRow))


class WasteBridgeView(RowsView):
    """Where idle and unallocated cost are."""

    subject = "waste-bridge"
    right = WASTE
    parameters = (*PERIOD, "cluster", "team")

    @lists(serializer_of(BridgeRow), parameters)
    def get(self, request: Request) -> Response:
        """List the parts of the idle and the unallocated cost, which sum to it.

        Of all teams, or the idle cost of those that one leads. Without `from` and `to`: the last
        28 days.
        """
        rows = bridge_rows(self.selection(request), timezone.now(), PLACES)
        return self.listed(request, rows, serializer_of(BridgeRow))


class RecommendationsView(RowsView):
    """Recommendations."""

    subject = "recommendations"
    right = WASTE
    parameters = ("team",)

    @lists(serializer_of(RecommendationRow), parameters)
    def get(self, request: Request) -> Response:
        """List what could be saved, from the findings of four weeks, and what was decided."""
        rows = recommendation_rows(
            scope_of(request.user),
            PLACES,
            teams=self.selection(request).filters.get("team", ()),
        )
        return self.listed(request, rows, serializer_of(RecommendationRow))
