"""OpenAPI of booked money: ETags of closed months, versions and keys of writes (money.md M47)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.serializers import Serializer

from accounting.exports.tasks.request import CONTENT_TYPES
from accounting.kit.api.schema import (
    KEY,
    READ_REFUSALS,
    RETRY_AFTER,
    WRITE_REFUSALS,
    lists,
    parameter_of,
    problems,
)

_KNOWN = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="an ETag of an earlier answer; 304 without content if it is still this one",
)
_CLOSED = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200, 304],
    description="of a closed revision: its hash; the answer never changes",
)
_VERSION = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="the ETag of the month that was read",
)
_SAME: dict[Any, Any] = {
    304: OpenApiResponse(description="The program has this version. No content.")
}


def versioned_list(
    row: type[Serializer[Any]],
    parameters: Sequence[str | OpenApiParameter] = (),
    operation_id: str | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Any], Any]:
    """Documents a list whose answer of a closed month has an ETag."""
    return lists(
        row,
        parameters,
        headers=(_KNOWN, _CLOSED),
        answers=_SAME,
        operation_id=operation_id,
        values=values,
    )


def reads_one(
    row: type[Serializer[Any]],
    operation_id: str,
    parameters: tuple[str, ...] = (),
    *,
    also: tuple[int, ...] = (),
) -> Callable[[Any], Any]:
    """Documents one object; of a closed month it has an ETag. `also` are further refusals."""
    return extend_schema(
        operation_id=operation_id,
        parameters=[
            *(parameter_of(one) for one in parameters),
            _KNOWN,
            _CLOSED,
            RETRY_AFTER,
        ],
        responses={
            (200, "application/json"): row,
            **_SAME,
            **problems(*READ_REFUSALS, *also),
        },
    )


def acts(
    body: type[Serializer[Any]] | None,
    row: type[Serializer[Any]],
    operation_id: str,
    *,
    code: int = 200,
) -> Callable[[Any], Any]:
    """Documents a write that is done once for each key."""
    return _acts(body, row, operation_id, (code,), (KEY,), ())


def acts_on_version(
    body: type[Serializer[Any]] | None,
    row: type[Serializer[Any]],
    operation_id: str,
    *,
    code: int = 200,
    also: tuple[int, ...] = (),
) -> Callable[[Any], Any]:
    """Documents a write that is done once for each key, for the version that was read.

    `also` are other codes of success with the same body.
    """
    codes = (code, *also)
    return _acts(body, row, operation_id, codes, (KEY, _VERSION), (412, 428))


def _acts(
    body: type[Serializer[Any]] | None,
    row: type[Serializer[Any]],
    operation_id: str,
    successes: tuple[int, ...],
    headers: tuple[OpenApiParameter, ...],
    codes: tuple[int, ...],
) -> Callable[[Any], Any]:
    done: dict[Any, Any] = dict.fromkeys(successes, row)
    return extend_schema(
        operation_id=operation_id,
        request=body,
        parameters=[*headers, RETRY_AFTER],
        responses=done | problems(*WRITE_REFUSALS, 409, 422, *codes),
    )


_RANGE = OpenApiParameter(
    "Range", str, OpenApiParameter.HEADER, description="such as bytes=1000-"
)
_CHECKSUM = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200, 206, 304],
    description="SHA-256 of the file",
)
downloads = extend_schema(
    operation_id="export_download",
    parameters=[_RANGE, _KNOWN, _CHECKSUM, RETRY_AFTER],
    responses={
        **{
            (code, kind.partition(";")[0]): OpenApiTypes.BINARY
            for code in (200, 206)
            for kind in CONTENT_TYPES.values()
        },
        **_SAME,
        **problems(*READ_REFUSALS, 409, 410, 416),
    },
)
