"""Errors of the API as problem documents (RFC 9457).

`errors` lists each parameter, or member of the body, that is not valid and the allowed values.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.core.exceptions import ValidationError as ModelError
from django.db import IntegrityError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler

from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.parsers import BodyError
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.paging import StaleError
from accounting.kit.reads.selection import SelectionError

MEDIA_TYPE = "application/problem+json"

Fault = dict[str, Any]


class RequestRefused(exceptions.APIException):
    """A request that the state of an object, or a header, does not allow.

    Attributes:
        faults: each with `detail`, and for checks of a close with value, threshold and link.
    """

    def __init__(self, status: int, detail: str, faults: Sequence[Fault] = ()) -> None:
        super().__init__(detail)
        self.status_code = status
        self.faults = tuple(faults)


class CursorExpired(exceptions.APIException):
    """The list of a cursor no longer exists."""

    status_code = 410


def document(
    status: int, detail: str, instance: str, faults: Sequence[Fault] = ()
) -> Fault:
    """A problem document.

    Args:
        status: of HTTP.
        detail: one sentence for a person.
        instance: the requested address.
        faults: each parameter, or member of the body, that is not valid, with the allowed
            values.
    """
    return {
        "type": "about:blank",
        "title": _title(status),
        "status": status,
        "detail": detail,
        "instance": instance,
        **({"errors": list(faults)} if faults else {}),
    }


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn an exception of a view into a problem document.

    A resource that the person may not read is "not found": a 403 would reveal that it exists.
    """
    response = exception_handler(_known(error), context)
    if response is None:
        return None
    faults = list(_faults(error))
    request = context["request"]
    response.data = document(
        response.status_code,
        _detail(error, response.data, faults),
        request.get_full_path(),
        faults,
    )
    response.content_type = MEDIA_TYPE
    request.accepted_renderer = JSONRenderer()  # also if CSV was requested
    request.accepted_media_type = MEDIA_TYPE
    return response


def _known(error: Exception) -> Exception:
    if isinstance(error, StaleError):
        return CursorExpired(str(error))
    if isinstance(error, SelectionError):
        return exceptions.ParseError(str(error))
    if isinstance(error, HiddenError):
        return Http404()
    if isinstance(error, Refused):
        return _refusal(error)
    if isinstance(error, ModelError | IntegrityError):
        return exceptions.ValidationError()
    return error


def _refusal(error: Refused) -> Exception:
    """What the framework answers for a refusal of an action."""
    if error.code == RefusalCode.MISSING:
        return Http404()
    if error.code == RefusalCode.FORBIDDEN:
        return exceptions.PermissionDenied(str(error))
    if error.code == RefusalCode.CONFLICT:
        return RequestRefused(409, str(error))
    return exceptions.ValidationError({error.member: str(error)})


def _faults(error: Exception) -> Iterator[Fault]:
    if isinstance(error, SelectionError):
        fault: Fault = {"parameter": error.parameter, "detail": str(error)}
        if error.parameter:
            yield fault | ({"allowed": list(error.allowed)} if error.allowed else {})
    elif isinstance(error, exceptions.ValidationError):
        yield from _members("#", error.detail)
    elif isinstance(error, RequestRefused):
        yield from error.faults
    elif isinstance(error, Refused) and error.code == RefusalCode.INVALID:
        pointer = f"#/{error.member}" if error.member else "#"
        yield {"pointer": pointer, "detail": str(error)}
    elif isinstance(error, BodyError):
        yield {"pointer": error.pointer, "detail": str(error.detail)}
    elif isinstance(error, ModelError):
        for name, messages in _messages(error):
            pointer = "#" if name == NON_FIELD_ERRORS else f"#/{name}"
            yield from ({"pointer": pointer, "detail": text} for text in messages)


def _messages(error: ModelError) -> list[tuple[str, list[str]]]:
    if hasattr(error, "error_dict"):
        return list(error.message_dict.items())
    return [(NON_FIELD_ERRORS, error.messages)]


def _members(pointer: str, detail: Any) -> Iterator[Fault]:
    """Each message about a body that is not valid, with its location."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            is_whole = name == "non_field_errors"
            yield from _members(pointer if is_whole else f"{pointer}/{name}", inner)
    elif isinstance(detail, list):
        for inner in detail:
            yield from _members(pointer, inner)
    else:
        yield {"pointer": pointer, "detail": str(detail)}


def _detail(error: Exception, data: Any, faults: list[Fault]) -> str:
    if isinstance(error, IntegrityError):
        return "This conflicts with existing data."
    if faults and "pointer" in faults[0] and not isinstance(error, BodyError):
        return "; ".join(f"{fault['pointer']}: {fault['detail']}" for fault in faults)
    return str(data["detail"]) if isinstance(data, dict) else str(data)


def _title(status: int) -> str:
    return {
        400: "Bad Request",
        401: "Unauthorized",
        403: "Forbidden",
        404: "Not Found",
        405: "Method Not Allowed",
        406: "Not Acceptable",
        409: "Conflict",
        410: "Gone",
        412: "Precondition Failed",
        413: "Content Too Large",
        415: "Unsupported Media Type",
        416: "Range Not Satisfiable",
        422: "Idempotency key already used",
        428: "Precondition Required",
        429: "Too Many Requests",
        500: "Internal Server Error",
        503: "Service Unavailable",
    }.get(status, "Error")
