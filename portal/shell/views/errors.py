"""Pages of denied requests, of internal errors, and of passing errors."""

import sys

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from portal.http.refusals import API, failure, problem
from portal.http.unavailable import passing


def failed(request: HttpRequest) -> HttpResponse:
    """A page that does not use the database, or a problem document for programs.

    500 for an error of ours; 503 while PostgreSQL is away, and 409 if another change holds a lock
    (`portal.http.unavailable`), both with `Retry-After`.
    """
    found = passing(sys.exc_info()[1])  # Django calls this while it handles the error
    status = found.status if found else 500
    if request.path.startswith(API):
        answer = problem(request, status, found.text) if found else failure(request)
    else:
        context = {
            "request_id": structlog.contextvars.get_contextvars().get("request_id", ""),
            "address": request.get_full_path(),
            "can_repeat": request.method in {"GET", "HEAD"},
            "passing": found,
        }
        page = render_to_string("500.html", context)
        answer = HttpResponse(page, status=status)
    if found:
        answer["Retry-After"] = str(found.retry_s)
    return answer


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: names the roles that may open the page, and whom to ask."""
    who = str(exception) or "administrators"
    return render(request, "403.html", {"who": who}, status=403)
