"""Responses to requests that fail before, after or outside a view, in one format.

Programs (`/api/`) get a problem document, people a page.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views import defaults
from structlog.contextvars import get_contextvars

from accounting.kit import problems

API = "/api/"
_PAGES = {413: "413.html", 405: "405.html", 429: "429.html"}  # the others are 400.html


def refusal(
    request: HttpRequest,
    status: int,
    detail: str,
    *,
    faults: tuple[problems.Fault, ...] = (),
) -> HttpResponse:
    """A 4xx response that explains the error.

    Args:
        request: its address decides between document and page.
        status: 400, 405, 413, 415 or 429.
        detail: one sentence.
        faults: each parameter that is not valid, for the problem document.
    """
    if request.path.startswith(API):
        return problem(request, status, detail, faults)
    template = _PAGES.get(status, "400.html")
    return render(request, template, {"detail": detail}, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: rejected by Django itself, such as an unknown host name."""
    if request.path.startswith(API):
        return problem(request, 400, "The request is malformed.")
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: missing and hidden objects look the same."""
    if request.path.startswith(API):
        return problem(request, 404, "There is nothing at this address.")
    return defaults.page_not_found(request, exception)


def failure(request: HttpRequest) -> HttpResponse:
    """500 for programs: the request id finds the error in the logs."""
    number = get_contextvars().get("request_id", "")
    detail = "Internal server error. The log contains this error under the request ID."
    return problem(request, 500, detail, request_id=number)


def problem(
    request: HttpRequest,
    status: int,
    detail: str,
    faults: tuple[problems.Fault, ...] = (),
    **more: str,
) -> HttpResponse:
    """A problem document; `more` are further members."""
    instance = request.get_full_path()
    body: dict[str, Any] = problems.document(status, detail, instance, faults)
    return JsonResponse(body | more, status=status, content_type=problems.MEDIA_TYPE)
