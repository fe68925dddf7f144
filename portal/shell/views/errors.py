"""Pages of denied requests and of internal errors."""

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from portal.http.refusals import API, failure


def failed(request: HttpRequest) -> HttpResponse:
    """500: a page that does not use the database, or a problem document for programs."""
    if request.path.startswith(API):
        return failure(request)
    context = {
        "request_id": structlog.contextvars.get_contextvars().get("request_id", ""),
        "address": request.get_full_path(),
        "can_repeat": request.method in {"GET", "HEAD"},
    }
    return HttpResponse(render_to_string("500.html", context), status=500)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: names the roles that may open the page, and whom to ask."""
    who = str(exception) or "administrators"
    return render(request, "403.html", {"who": who}, status=403)
