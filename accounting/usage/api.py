"""Usage, the ledger and holds as lists, as `manage.py report` prints them."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import WHOLE_FLEET
from accounting.access.scope import scope_of
from accounting.kit.api.rows import CsvRenderer, Row, RowsView, check_names
from accounting.kit.api.schema import PERIOD, REPORT, lists
from accounting.kit.reads.selection import (
    EXCLUDES,
    Selection,
    SelectionError,
    check_word,
    narrowed,
)
from accounting.usage.reads.holds import HOLD_FILTERS, hold_key, hold_rows
from accounting.usage.reads.intensity import ONLY, only_pointless, with_intensity
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.usage import usage_stream
from accounting.usage.rules.rows import UsageRow
from accounting.usage.serializers import (
    USAGE_MEASURES,
    HoldRowSerializer,
    LedgerRowSerializer,
    UsageRowSerializer,
)


class UsageView(RowsView):
    """Allocated GPU time and its charge, by any dimensions."""

    subject = "usage"
    parameters = ("by", "as", "only", "columns", *REPORT, *EXCLUDES, "close")

    @lists(UsageRowSerializer, parameters, values={"only": ONLY})
    def get(self, request: Request) -> HttpResponseBase:
        """List usage, as `report usage` does."""
        selection, by = self.selection(request), self.by(request, "team")
        measures = self._measures(request)
        rows: Iterator[UsageRow] = usage_stream(selection, by)
        if not selection.revisions:  # a close has no activity
            rows = with_intensity(rows, selection, by)
        found = only_pointless(rows, request.query_params.get("only"))
        fields = UsageRowSerializer.each(found)
        if isinstance(request.accepted_renderer, CsvRenderer):
            return self._file(request, fields, measures)
        return self.answer(request, list(fields))

    def selection(self, request: Request) -> Selection:
        """Also without the excluded values, and with the named closes."""
        query = request.query_params
        excludes = {
            of: query.getlist(name) for name, of in EXCLUDES.items() if name in query
        }
        check_names(scope_of(request.user), excludes)
        found = super().selection(request)
        return narrowed(found, excludes, query.getlist("close"))

    def _measures(self, request: Request) -> Sequence[str] | None:
        """The requested columns of a CSV file, beside its dimensions; None for all."""
        text = request.query_params.get("columns")
        if text is None:
            return None
        if not isinstance(request.accepted_renderer, CsvRenderer):
            raise SelectionError("'columns' requires format=csv", parameter="columns")
        names = list(dict.fromkeys(text.split(",")))
        for name in names:
            check_word("columns", name, USAGE_MEASURES)
        return names

    def _file(
        self, request: Request, rows: Iterator[Row], measures: Sequence[str] | None
    ) -> HttpResponseBase:
        """A CSV file that is sent while its rows are written."""
        first = next(rows, None)
        if first is None:
            return self.answer(request, [])
        columns = list(first)
        if measures is not None:
            columns = [name for name in columns if name not in USAGE_MEASURES]
            columns.extend(measures)
        return self.streamed(request, chain([first], rows), columns)


class LedgerView(RowsView):
    """The seven states of every GPU and their charges."""

    subject = "ledger"
    right = WHOLE_FLEET
    parameters = ("by", "as", *REPORT)

    @lists(LedgerRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List the ledger, as `report ledger` does. For finance and administrators."""
        rows = ledger_rows(self.selection(request), self.by(request, "cluster"))
        return self.listed(request, rows, LedgerRowSerializer)


class HoldsView(RowsView):
    """GPU allocations of pods."""

    subject = "holds"
    parameters = (*PERIOD, *HOLD_FILTERS)

    @lists(HoldRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List GPU allocations, as `report holds` does."""
        read = partial(hold_rows, self.selection(request))
        return self.keyset_page(request, read, hold_key, HoldRowSerializer)
