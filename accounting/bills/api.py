"""Bills of providers: lists, one against our cost, and the import of a file."""

import hashlib
from functools import partial
from typing import IO

from django.http import Http404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.reads.billing_settings import billing_at
from accounting.access.rights import BILLS
from accounting.access.scope import scope_of
from accounting.bills.actions.finals import set_final
from accounting.bills.actions.import_bill import (
    BillsBusy,
    bounds_of_request,
    import_bill,
)
from accounting.bills.models import Bill
from accounting.bills.reads.bill_variance import cluster_variance_rows, variance_rows
from accounting.bills.reads.bills import (
    BillRow,
    UnmatchedRow,
    bill_key,
    bill_row,
    bill_rows,
    unmatched_rows,
)
from accounting.bills.rules.columns import BillFileError
from accounting.bills.serializers import (
    BillFinalSerializer,
    BillImportSerializer,
    BillVarianceSerializer,
)
from accounting.core.billing_calendar import months_later
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import ConflictError, RowsView
from accounting.kit.api.schema import (
    KEY,
    READ_REFUSALS,
    RETRY_AFTER,
    WRITE_REFUSALS,
    lists,
    problems,
    takes,
)
from accounting.kit.parsers import FILE_PARSERS, StrictJsonParser, file_of
from accounting.kit.reads.selection import check_word
from accounting.kit.serializers.declared import serializer_of
from accounting.months.api.booked import check_month
from accounting.months.tasks.periods import first_day

FLAGS = {"dry_run": True, "final": False}
"""Parameters of an import, and what they are by default."""
_FLAG_TEXTS = {
    "dry_run": "false imports the file; by default it is checked, and nothing is stored",
    "final": "the provider has closed the billing period",
}


class BillsView(RowsView):
    """Bills of providers."""

    subject = "bills"
    right = BILLS
    parameters = ("period",)
    write_parameters = tuple(FLAGS)
    parser_classes = FILE_PARSERS

    @lists(serializer_of(BillRow), parameters)
    def get(self, request: Request) -> Response:
        """Bills in effect, in the order of their import."""
        month = request.query_params.get("period", "")
        read = partial(bill_rows, scope_of(request.user), currency(), month=month)
        return self.keyset_page(request, read, bill_key, serializer_of(BillRow))

    @extend_schema(
        request={parser.media_type: OpenApiTypes.BINARY for parser in FILE_PARSERS},
        parameters=[
            KEY,
            RETRY_AFTER,
            *(
                OpenApiParameter(name, bool, default=FLAGS[name], description=text)
                for name, text in _FLAG_TEXTS.items()
            ),
        ],
        responses={
            200: OpenApiResponse(
                BillImportSerializer,
                description="Nothing new: a dry run, rows that cannot be used, or a known file.",
            ),
            201: OpenApiResponse(BillImportSerializer, description="Imported."),
            **problems(*WRITE_REFUSALS, 422),
        },
    )
    def post(self, request: Request) -> Response:
        """Check a FOCUS file, the body of the request, and with `dry_run=false` import it. The same
        file again changes nothing."""
        flags = {name: _flag(request, name) for name in FLAGS}
        with file_of(request) as file:
            file.seek(0)
            body = {"file": hashlib.file_digest(file, "sha256").hexdigest(), **flags}  # type: ignore[arg-type]  # a binary file
            return answered_once(
                request, lambda: self._import(request, file, flags), body
            )

    def _import(
        self, request: Request, file: IO[bytes], flags: dict[str, bool]
    ) -> Response:
        try:
            found = import_bill(
                file,
                name="over REST",
                saves=not flags["dry_run"],
                is_final=flags["final"],
                actor=request.user,  # type: ignore[arg-type]  # signed in
                now=timezone.now(),
                bounds=bounds_of_request(),
            )
        except BillFileError as error:
            raise exceptions.ParseError(f"{error}.") from error
        except BillsBusy as error:
            raise ConflictError(f"{error}.", wait=error.retry_after_s) from error
        is_new = found.is_saved and not all(bill.is_known for bill in found.bills)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(BillImportSerializer(found).data, status=code)


class BillView(RowsView):
    """One bill."""

    subject = "bills"
    right = BILLS

    @extend_schema(
        operation_id="bill_retrieve",
        parameters=[RETRY_AFTER],
        responses={200: serializer_of(BillRow), **problems(*READ_REFUSALS)},
    )
    def get(self, request: Request, number: int) -> Response:
        """One bill, also a replaced one."""
        return Response(serializer_of(BillRow).one(_row(request, number)))


class BillVarianceView(RowsView):
    """A bill against our cost."""

    subject = "bills"
    right = BILLS

    @lists(BillVarianceSerializer)
    def get(self, request: Request, number: int) -> Response:
        """By billing day and cluster."""
        rows = variance_rows([_row(request, number).id], currency())
        return self.listed(request, rows, BillVarianceSerializer)


class ClusterVarianceView(RowsView):
    """All bills of a month against our cost."""

    subject = "bills"
    right = BILLS

    @lists(BillVarianceSerializer)
    def get(self, request: Request, period: str) -> Response:
        """All bills in effect together, by billing day and cluster of the month."""
        check_month(period)
        first = first_day(period)
        rows = cluster_variance_rows(first, months_later(first, 1), currency())
        return self.listed(request, rows, BillVarianceSerializer)


class BillUnmatchedView(RowsView):
    """What a bill has for no node and no cluster."""

    subject = "bills"
    right = BILLS

    @lists(serializer_of(UnmatchedRow))
    def get(self, request: Request, number: int) -> Response:
        """By resource and service, the largest cost first."""
        rows = unmatched_rows(_row(request, number).id)
        return self.listed(request, rows, serializer_of(UnmatchedRow))


class BillFinalView(RowsView):
    """Marks a bill as final."""

    subject = "bills"
    right = BILLS
    parser_classes = (StrictJsonParser,)

    @takes(BillFinalSerializer, serializer_of(BillRow), 409)
    def post(self, request: Request, number: int) -> Response:
        """The provider has closed the billing period of this bill."""
        values = checked(BillFinalSerializer, request)
        row = _row(request, number)

        def make() -> Response:
            set_final(
                Bill.objects.get(pk=row.id),
                actor=request.user,  # type: ignore[arg-type]  # signed in
                reason=values["reason"],
            )
            return Response(serializer_of(BillRow).one(_row(request, number)))

        return answered_once(request, make)


def currency() -> str:
    """The billing currency of today."""
    return billing_at(timezone.now()).currency


def _row(request: Request, number: int) -> BillRow:
    row = bill_row(scope_of(request.user), number, currency())
    if row is None:
        raise Http404
    return row


def _flag(request: Request, name: str) -> bool:
    words = {"true": True, "false": False}
    text = request.query_params.get(name)
    if text is None:
        return FLAGS[name]
    check_word(name, text, tuple(words))
    return words[text]
