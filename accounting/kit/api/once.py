"""Writes that are done once for each `Idempotency-Key` (money.md M47)."""

from collections.abc import Callable
from typing import Any

from django.utils import timezone
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.kit.once import LONGEST_KEY, KeyReused, digest_of, once
from accounting.kit.problems import RequestRefused

_KEPT = ("ETag", "Location")  # headers of an answer that a repetition gets, too


def key_of(request: Request) -> str:
    """The `Idempotency-Key` of a request; "" without one."""
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise exceptions.ParseError(
            f"Idempotency-Key is at most {LONGEST_KEY} printable characters"
        )
    return key


def answered_once(
    request: Request, make: Callable[[], Response], body: Any = None
) -> Response:
    """The answer of a write; a request with the same key gets the stored one.

    Args:
        request: with the key, if any.
        make: does it. What it raises is answered, and stores no key.
        body: what distinguishes this request from others to the same address, such as the digest of
            a file and its options; None: the data of the request.

    Raises:
        RequestRefused: 422: the key was used with another address or body.
    """

    def stored() -> dict[str, Any]:
        answer = make()
        return {
            "status": answer.status_code,
            "body": answer.data,
            "headers": {n: answer.headers[n] for n in _KEPT if n in answer.headers},
        }

    user: Any = request.user
    try:
        found, _ = once(
            user_id=user.pk,
            key=key_of(request),
            digest=digest_of(request.path, request.data if body is None else body),
            at=timezone.now(),
            make=stored,
        )
    except KeyReused as error:
        raise RequestRefused(
            status.HTTP_422_UNPROCESSABLE_ENTITY, str(error)
        ) from error
    return Response(found["body"], status=found["status"], headers=found["headers"])
