"""Responses of an API server: JSON as values, and errors as typed errors."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from scheduler_view.clusters.client.errors import (
    ClusterError,
    FieldConflict,
    Forbidden,
    Invalid,
    InvalidServerResponse,
    NamespaceTerminating,
    NotFound,
    NotReady,
    ServerError,
    Stale,
    TooManyRequests,
    UidMismatch,
    Unauthorized,
    WatchExpired,
    WriteConflict,
)

LONGEST_WORDS = 1000  # shown characters of a response
_NOT_READY = "not yet ready to handle request"  # how all admission plugins say it
_OWNER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')
_UID = re.compile(r"\buid\b", re.IGNORECASE)

_PLAIN: Mapping[int, type[ClusterError]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.GONE: WatchExpired,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequests,
}

Status = Mapping[str, Any]
Answer = TypeVar("Answer")


def decode(body: bytes, as_type: type[Answer]) -> Answer:
    """A JSON response as a value of a type.

    Raises:
        InvalidServerResponse: it is not such a value.
    """
    try:
        return msgspec.json.decode(body, type=as_type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise wrong_answer(body) from None


def wrong_answer(body: bytes) -> InvalidServerResponse:
    """The error of a response that is not from an API server."""
    return InvalidServerResponse(
        f"not a response of a Kubernetes API server: {_text_of(body)!r}"
    )


def error_of(
    code: int, body: bytes, headers: Mapping[str, str] | None = None
) -> ClusterError:
    """The typed error of an unsuccessful response.

    Args:
        code: HTTP status, not 2xx.
        body: a `Status` object as JSON, or the output of a proxy.
        headers: for `Retry-After`.
    """
    status = _status(body)
    if status is None and not _is_plain(code):
        return InvalidServerResponse(
            f"{code}, not from a Kubernetes API server: {_text_of(body)!r}", code
        )
    retry_after_s = _retry_after_s(headers or {}, status or {})
    message = (status or {}).get("message") or _text_of(body) or _phrase(code)
    return _typed(code, message, status or {}, retry_after_s)


def status_error(status: Status) -> ClusterError:
    """The typed error of a `Status` in a watch; it has its own code."""
    code = int(status.get("code") or 500)
    message = status.get("message") or _phrase(code)
    return _typed(code, message, status, _retry_after_s({}, status))


def _typed(
    code: int, message: str, status: Status, retry_after_s: float | None
) -> ClusterError:
    if code == HTTPStatus.NOT_FOUND:
        details = status.get("details") or {}
        return NotFound(message, details.get("kind", ""), details.get("name", ""))
    if code == HTTPStatus.CONFLICT:
        return _conflict(message, status)
    if code in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
        return _invalid(code, message, status)
    if code == HTTPStatus.FORBIDDEN and _has_cause(status, "NamespaceTerminating"):
        return NamespaceTerminating(message, code)
    if code == HTTPStatus.FORBIDDEN and message.endswith(_NOT_READY):
        return NotReady(message, code)
    kind = _PLAIN.get(code, ServerError if code >= 500 else InvalidServerResponse)
    return kind(message, code, retry_after_s)


def _conflict(message: str, status: Status) -> ClusterError:
    owners: dict[str, tuple[str, ...]] = {}
    for cause in _causes(status):
        if cause.get("reason") == "FieldManagerConflict":
            found = _OWNER.search(cause.get("message", ""))
            name = found[1] if found else "another manager"
            owners[name] = (*owners.get(name, ()), cause.get("field", ""))
    if owners:
        return FieldConflict(message, owners)
    if _UID.search(message):
        return UidMismatch(message, HTTPStatus.CONFLICT)
    if "the object has been modified" in message:
        return Stale(message, HTTPStatus.CONFLICT)
    return WriteConflict(message, HTTPStatus.CONFLICT)


def _invalid(code: int, message: str, status: Status) -> ClusterError:
    fields = tuple(c["field"] for c in _causes(status) if c.get("field"))
    if "metadata.uid" in fields:
        return UidMismatch(message, code)
    return Invalid(message, code, fields)


def _causes(status: Status) -> list[Mapping[str, str]]:
    return (status.get("details") or {}).get("causes") or []


def _has_cause(status: Status, reason: str) -> bool:
    return any(cause.get("reason") == reason for cause in _causes(status))


def _status(body: bytes) -> Status | None:
    """The body, if it is a `Status` object."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_status = isinstance(found, dict) and found.get("kind") == "Status"
    return found if is_status else None


def _is_plain(code: int) -> bool:
    """True for responses that an API server also sends as plain text."""
    return code in (401, 403, 404, 429) or code >= 500


def _retry_after_s(headers: Mapping[str, str], status: Status) -> float | None:
    text = next((v for k, v in headers.items() if k.lower() == "retry-after"), "")
    if text.isdecimal():
        return float(text)
    seconds = (status.get("details") or {}).get("retryAfterSeconds")
    return float(seconds) if seconds else None


def _text_of(body: bytes) -> str:
    return body[:LONGEST_WORDS].decode(errors="replace").strip()


def _phrase(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)
