"""Checks that no view has to do: NUL, size, charset. Rejected before anything else is done.

PostgreSQL cannot store NUL, and Python has charsets that are not for text: both would end
in a 500. Values of JSON bodies are checked by `accounting.kit.parsers`.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponseBase, QueryDict, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

from accounting.kit.problems import Fault
from portal.http.long_requests import waits_for_body
from portal.http.refusals import API, refusal

NUL = "\0"
CHARSETS = frozenset({"utf-8", "utf8", "us-ascii"})  # JSON and forms alike
FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
STRANGER = "Sign in first. Others may send at most 64 KB, and no Expect header."


class InputError(Exception):
    """A rejected request: status, sentence, and the parameter that is not valid."""

    def __init__(self, status: int, detail: str, *faults: Fault) -> None:
        super().__init__(detail)
        self.status, self.detail, self.faults = status, detail, faults


class InputCheckMiddleware:
    """Responds with 400, 413 or 415 to requests that no view can handle.

    Forms that the server has not received yet are read later than others, when it is known who
    sends them: a stranger who sends slowly would hold a thread.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            _check_headers(request)
            _check_address(request)
            if not waits_for_body(request):
                _check_form(request)
        except InputError as error:
            return _refused(request, error)
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, *_view: Any
    ) -> HttpResponseBase | None:
        """Large forms of people who are signed in; REST checks tokens before it reads a body."""
        if not waits_for_body(request) or request.path.startswith(API):
            return None
        if not request.user.is_authenticated:
            return refusal(request, 413, STRANGER)
        try:
            _check_form(request)
        except InputError as error:
            return _refused(request, error)
        return None


def _refused(request: HttpRequest, error: InputError) -> HttpResponseBase:
    return refusal(request, error.status, error.detail, faults=error.faults)


def _check_headers(request: HttpRequest) -> None:
    for name, value in request.META.items():
        if name.startswith("HTTP_") and NUL in str(value):
            header = name.removeprefix("HTTP_").replace("_", "-").title()
            raise InputError(400, f"The header {header} contains a NUL character.")
    for name in [name for name, value in request.COOKIES.items() if NUL in value]:
        del request.COOKIES[
            name
        ]  # quoted as \000; without the cookie the person signs in again
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        raise InputError(400, "The header Content-Length is not a number.")
    usual = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    limit = settings.BODY_LIMITS.get(request.path, usual)
    if len(length) > 15 or int(length) > limit:
        raise _too_large(limit)
    charset = (request.content_params or {}).get("charset", "utf-8").strip("\"' ")
    if charset.lower() not in CHARSETS:
        raise InputError(
            415, f"The charset {charset[:40]!r} is not accepted; send UTF-8."
        )


def _too_large(limit: int) -> InputError:
    megabytes = limit / 2**20
    return InputError(
        413, f"The body is larger than {megabytes:.3g} MB. Send smaller requests."
    )


def _check_address(request: HttpRequest) -> None:
    if NUL in request.path:
        raise InputError(400, "The address contains a NUL character (%00).")
    try:
        query = request.GET
    except SuspiciousOperation as error:  # more parameters than Django reads
        raise InputError(400, "The address has too many parameters.") from error
    _check_values(query, "parameter")


def _check_form(request: HttpRequest) -> None:
    """The fields of a form; the API accepts none."""
    if request.content_type not in FORMS or request.path.startswith(API):
        return
    try:
        fields = request.POST
    except RequestDataTooBig as error:
        raise _too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE) from error
    except SuspiciousOperation as error:
        raise InputError(400, "The form has too many fields.") from error
    except (MultiPartParserError, UnreadablePostError) as error:
        raise InputError(400, "The form is incomplete.") from error
    _check_values(fields, "field")


def _check_values(values: QueryDict, kind: str) -> None:
    for name, texts in values.lists():
        if NUL in name or any(NUL in text for text in texts):
            shown = name.replace(NUL, "\N{REPLACEMENT CHARACTER}")
            detail = f"The {kind} {shown!r} contains a NUL character (%00)."
            raise InputError(400, detail, {"parameter": shown, "detail": detail})
