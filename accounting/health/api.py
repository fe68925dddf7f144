"""Data issues as a list."""

from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import DATA_ISSUES
from accounting.health.reads.issues import OPEN, STATES, IssueRow, issue_rows
from accounting.kit.api.rows import RowsView
from accounting.kit.api.schema import PERIOD, lists, parameter_of
from accounting.kit.serializers.declared import serializer_of

_STATE = parameter_of("state", STATES, "Default: open.")


class IssuesView(RowsView):
    """Data issues; open issues unless `state` is set."""

    subject = "data-issues"
    right = DATA_ISSUES
    parameters = (*PERIOD, "cluster", "state")

    @lists(serializer_of(IssueRow), (*parameters[:-1], _STATE))
    def get(self, request: Request) -> Response:
        """List data issues, as `report issues` does. For finance and administrators."""
        found = issue_rows(
            self.selection(request), request.query_params.get("state", OPEN)
        )
        return self.listed(request, found, serializer_of(IssueRow))
