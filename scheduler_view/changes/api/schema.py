"""OpenAPI of change sets: bodies, ETags, idempotency keys and errors."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.serializers import Serializer

from accounting.kit.api.schema import (
    READ_REFUSALS,
    RETRY_AFTER,
    WRITE_REFUSALS,
    problems,
)
from accounting.kit.once import LONGEST_KEY
from scheduler_view.changes.serializers import ChangeSerializer

_IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": '^"?[0-9]{1,9}"?$'},
    OpenApiParameter.HEADER,
    required=True,
    description="the ETag of the change set",
)
_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "maxLength": LONGEST_KEY},
    OpenApiParameter.HEADER,
    description="a unique text of your choice: repeated requests with the same key run once",
)


def _etag(code: int) -> OpenApiParameter:
    return OpenApiParameter(
        "ETag",
        str,
        OpenApiParameter.HEADER,
        response=[code],
        description="version of the change set, for If-Match",
    )


def makes(body: type[Serializer[Any]]) -> Callable[[Any], Any]:
    """Documents an endpoint that creates a change set: once for each key."""
    return _acts(body, 201, _KEY, 422)


def acts(body: type[Serializer[Any]], code: int) -> Callable[[Any], Any]:
    """Documents a step of a change set, for the version that was read."""
    return _acts(body, code, _IF_MATCH, 412, 428)


def _acts(
    body: type[Serializer[Any]], code: int, header: OpenApiParameter, *more: int
) -> Callable[[Any], Any]:
    done: dict[Any, Any] = {code: ChangeSerializer}
    return extend_schema(
        request=body,
        parameters=[header, _etag(code), RETRY_AFTER],
        responses=done | problems(*WRITE_REFUSALS, 409, *more),
    )


reads_one = extend_schema(
    operation_id="change_set_retrieve",
    parameters=[_etag(200), RETRY_AFTER],
    responses={(200, "application/json"): ChangeSerializer} | problems(*READ_REFUSALS),
)
