"""The evidence of one number, as the panel of a page shows it (money.md M5, rules.md N28)."""

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import WHOLE_FLEET
from accounting.access.scope import scope_of
from accounting.explain.reads.explain import FIGURES, explain
from accounting.explain.serializers import ExplanationSerializer, explanation_members
from accounting.kit.api.rows import JSON_ONLY, RowsView
from accounting.kit.api.schema import PERIOD, REPORT, parameter_of, reads
from accounting.kit.reads.dimensions import FILTERS
from accounting.kit.reads.selection import check_word

PLACES = 6  # as other amounts over REST
_WHAT = "Which number is explained. `ledger` needs the scope `read:ledger`, others `read:usage`"
_DOCUMENTED = (
    OpenApiParameter("what", str, enum=FIGURES, default="charge", description=_WHAT),
    *(parameter_of(name) for name in REPORT),
)


class ExplanationView(RowsView):
    """The formula of a number with its values, its samples, its prices and what was booked."""

    renderer_classes = JSON_ONLY
    parameters = ("what", *PERIOD, *FILTERS)

    @property
    def subject(self) -> str:  # type: ignore[override]  # the scope of the list with the number
        """The list that has the number: its scope is needed."""
        is_ledger = self.request.query_params.get("what") == "ledger"
        return "ledger" if is_ledger else "usage"

    @reads(ExplanationSerializer, "explanation", _DOCUMENTED)
    def get(self, request: Request) -> Response:
        """Explain one number of the time, teams and other filters. Amounts have six places: the
        prices sum to the number in `usage`, or of `ledger` to that of all states. In a list of
        several rows, the last place can differ by one: the list is rounded on its total."""
        figure = request.query_params.get("what", "charge")
        check_word("what", figure, FIGURES)
        if figure == "ledger" and not WHOLE_FLEET.allows(scope_of(request.user)):
            raise Http404
        found = explain(self.selection(request), figure, PLACES)
        return Response(explanation_members(figure, found))
