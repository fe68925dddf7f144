"""Errors of the API as problem documents (RFC 9457)."""

from typing import Any

from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from accounting.queries.ledger import HiddenError
from accounting.queries.selection import SelectionError

MEDIA_TYPE = "application/problem+json"


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn an exception of a view into a problem document.

    What the asker may not see is "not found": a 403 would say that it exists.
    """
    if isinstance(error, SelectionError):
        error = exceptions.ParseError(str(error))
    elif isinstance(error, HiddenError):
        error = Http404()
    response = exception_handler(error, context)
    if response is None:
        return None
    detail = response.data
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": _title(response.status_code),
        "status": response.status_code,
        "instance": context["request"].get_full_path(),
    }
    if isinstance(detail, dict) and "detail" in detail:
        document["detail"] = str(detail["detail"])
    else:
        document["errors"] = detail
    response.data = document
    response.content_type = MEDIA_TYPE
    return response


def _title(status: int) -> str:
    return {
        400: "Wrong use",
        401: "Not signed in",
        403: "Not allowed",
        404: "Not found",
        405: "Method not allowed",
        406: "Format not offered",
        415: "Format not understood",
        429: "Too many requests",
    }.get(status, "Error")
