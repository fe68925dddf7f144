"""Files that workers write: request, progress, list, download (money.md M45-M47)."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.http import Http404, HttpResponseBase
from django.utils import timezone
from rest_framework import exceptions, status
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import BUDGETS
from accounting.access.scope import scope_of
from accounting.exports.actions import request_export
from accounting.exports.models import ExportJob, ExportState
from accounting.exports.pages.export_files import job_answer
from accounting.exports.reads import (
    ExportRow,
    export_job,
    export_key,
    export_row,
    export_rows,
)
from accounting.exports.serializers import ExportBodySerializer
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.request import ExportError, ExportRequest, Format
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import JSON_ONLY, Negotiation, RowsView
from accounting.kit.api.schema import lists
from accounting.kit.problems import RequestRefused
from accounting.kit.serializers.declared import serializer_of
from accounting.months.api.schema import acts, downloads, reads_one
from accounting.months.reads.lines import BookingError
from accounting.months.reads.payers import readable_payers


class ExportsView(RowsView):
    """Files of a month."""

    subject = "exports"
    right = BUDGETS

    @lists(serializer_of(ExportRow))
    def get(self, request: Request) -> Response:
        """List files, newest first: all, or those of the teams that one leads."""
        read = partial(export_rows, scope_of(request.user))
        return self.keyset_page(request, read, export_key, serializer_of(ExportRow))

    @acts(ExportBodySerializer, serializer_of(ExportRow), "exports_create", code=201)
    def post(self, request: Request) -> Response:
        """Request a file; a worker writes it. `Location` is the address of its progress.

        Leads name one of their teams.
        """
        values = checked(ExportBodySerializer, request)
        scope, team = scope_of(request.user), values.get("team")
        if team is None and not scope.sees_all:
            raise exceptions.ValidationError({"team": "Name one of your teams."})
        if team is not None and team not in readable_payers(scope):
            raise Http404
        return answered_once(request, lambda: self._request(request, values))

    def _request(self, request: Request, values: dict[str, Any]) -> Response:
        user: Any = request.user
        try:
            asked = ExportRequest(
                What(values["what"]),
                values["period"],
                values["profile"],
                values.get("team"),
                Format(values["format"]),
                values.get("revision"),
            )
            job = request_export(asked, actor=user, now=timezone.now())
        except (BookingError, ExportError) as error:
            raise exceptions.ValidationError({"period": str(error)}) from error
        return Response(
            serializer_of(ExportRow).one(export_row(job)),
            status.HTTP_201_CREATED,
            headers={"Location": f"/api/v1/exports/{job.pk}"},
        )


class ExportView(RowsView):
    """One file."""

    subject = "exports"
    right = BUDGETS
    renderer_classes = JSON_ONLY

    @reads_one(serializer_of(ExportRow), "export_retrieve")
    def get(self, request: Request, number: int) -> Response:
        """Read the progress of a file: rows and bytes so far, or its checksum."""
        return Response(serializer_of(ExportRow).one(export_row(_job(request, number))))


class AnyType(Negotiation):
    """A file has the type of its format, whatever a client accepts."""

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """JSON, for refusals."""
        del request, format_suffix
        first = next(iter(renderers))
        return first, str(first.media_type)


class ExportFileView(RowsView):
    """The bytes of a file."""

    subject = "exports"
    right = BUDGETS
    renderer_classes = JSON_ONLY
    content_negotiation_class = AnyType

    @downloads
    def get(self, request: Request, number: int) -> HttpResponseBase:
        """Download a file, whole or from a byte on (`Range`). The ETag is its SHA-256.

        409 until it is complete, 410 after it has expired.
        """
        job = _job(request, number)
        answer = job_answer(request._request, job)  # noqa: SLF001  # DRF's public name for it
        if answer.status_code == status.HTTP_409_CONFLICT:
            state = job.error if job.state == ExportState.FAILED else job.state
            raise RequestRefused(
                answer.status_code, f"The file is not complete: {state}."
            )
        if answer.status_code == status.HTTP_410_GONE:
            raise RequestRefused(
                answer.status_code, "The file has expired. Request it again."
            )
        if answer.status_code == status.HTTP_416_REQUESTED_RANGE_NOT_SATISFIABLE:
            size = answer.headers["Content-Range"]
            raise RequestRefused(answer.status_code, f"The range is outside of {size}.")
        return answer


def _job(request: Request, number: int) -> ExportJob:
    """The requested job.

    Raises:
        Http404: there is none that the person may read.
    """
    job = export_job(scope_of(request.user), number)
    if job is None:
        raise Http404
    return job
