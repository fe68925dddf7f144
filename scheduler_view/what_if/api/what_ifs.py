"""What-ifs over recorded weeks: requested, read with their answers, canceled (S36).

A worker computes them: a request is answered with a run that is queued.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import Http404
from django.utils import timezone
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import ADMINISTRATION
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import JSON_ONLY, ConflictError, RowsView
from accounting.kit.api.schema import lists, reads, takes
from accounting.setup.tasks.yaml_lines import DocumentError
from scheduler_view.what_if.actions import cancel_what_if, request_what_if
from scheduler_view.what_if.api.what_if_schema import what_if_body
from scheduler_view.what_if.models import WhatIfRun
from scheduler_view.what_if.reads.what_ifs import what_if_key, what_if_row, what_if_rows
from scheduler_view.what_if.serializers import WhatIfRowSerializer, WhatIfSerializer


class WhatIfsView(RowsView):
    """What-ifs."""

    subject = "what-ifs"
    right = ADMINISTRATION
    parameters = ("cluster",)

    @lists(WhatIfRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List what-ifs, newest first."""
        clusters = self.selection(request).filters.get("cluster")
        read = partial(what_if_rows, clusters=clusters)
        return self.keyset_page(request, read, what_if_key, WhatIfRowSerializer)

    @takes(what_if_body(), WhatIfSerializer, 409)
    def post(self, request: Request) -> Response:
        """Request a what-if over the recorded weeks of a cluster. A worker computes it.

        The body is the same as in the file of `manage.py simulate`.
        """
        values = request.data
        if not isinstance(values, Mapping):
            raise exceptions.ValidationError(["the body must be an object"])
        return answered_once(request, lambda: _requested(request, values))


class WhatIfView(RowsView):
    """One what-if."""

    subject = "what-ifs"
    right = ADMINISTRATION
    renderer_classes = JSON_ONLY

    @reads(WhatIfSerializer, "what_if_retrieve")
    def get(self, request: Request, number: int) -> Response:
        """Get a what-if with its request, its progress and its answer."""
        del request
        return _answer(number, status.HTTP_200_OK)


class WhatIfCancelView(RowsView):
    """The end of a what-if that waits or runs."""

    subject = "what-ifs"
    right = ADMINISTRATION
    renderer_classes = JSON_ONLY

    @takes(None, WhatIfSerializer, 409)
    def post(self, request: Request, number: int) -> Response:
        """Cancel a what-if that is not finished. Its worker stops within seconds."""
        run = WhatIfRun.objects.filter(pk=number).first()
        if run is None:
            raise Http404
        return answered_once(request, lambda: _canceled(request, run))


def _requested(request: Request, values: Mapping[str, Any]) -> Response:
    try:
        run = request_what_if(values, actor=_person(request), now=timezone.now())
    except DocumentError as error:
        found = [fault.message for fault in error.faults]
        raise exceptions.ValidationError(found) from error
    return _answer(run.pk, status.HTTP_201_CREATED)


def _canceled(request: Request, run: WhatIfRun) -> Response:
    if not cancel_what_if(run, actor=_person(request)):
        raise ConflictError("This what-if is finished: nothing was changed.")
    return _answer(run.pk, status.HTTP_200_OK)


def _answer(number: int, code: int) -> Response:
    row = what_if_row(number)
    if row is None:
        raise Http404
    return Response(WhatIfSerializer.one(row), status=code)


def _person(request: Request) -> Any:
    return request.user
