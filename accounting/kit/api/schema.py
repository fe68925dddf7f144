"""OpenAPI of lists: parameters, envelope, CSV and problem documents."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers as rest
from rest_framework.serializers import Serializer

from accounting.kit.api.tokens import BearerAuthentication
from accounting.kit.once import LONGEST_KEY
from accounting.kit.problems import MEDIA_TYPE
from accounting.kit.reads.dimensions import BY_NAME, FILTERS
from accounting.kit.reads.paging import LARGEST, LIMIT
from accounting.kit.reads.selection import EXCLUDES, Amounts
from accounting.kit.serializers.problem import ProblemSerializer


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library has no types
    """Authentication of programs in the schema."""

    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token of the account page."""
        return {"type": "http", "scheme": "bearer"}


PERIOD = ("from", "to")
REPORT = (*PERIOD, *FILTERS)
MANY = frozenset({*FILTERS, *EXCLUDES, "department", "close"})  # can be repeated
_TEXTS = {
    "from": "start of the period: an ISO 8601 time with an offset that aligns to a five-minute "
    "boundary, or a billing day",
    "to": "end of the period (exclusive), in the same format as `from`",
    "by": "dimensions, separated by commas",
    "columns": "columns of a CSV file after its dimensions, separated by commas; default: all",
    "only": "`pointless`: only rows that were busy without tensor or memory activity",
    "minimum": "smallest difference of an anomaly, in the billing currency",
    "state": "only rows in this state",
    "close": "a close of a month, like 2026-10-r1: the time and the money that it booked, whatever "
    "became of them since; can be repeated, and has to cover every day of the range",
    "period": "a month, like 2026-10; default: the latest that was booked, or all bills",
    "revision": "a revision of the month; default: the one that was not reopened",
    "department": "only teams of this department today; can be repeated",
    "step": "length of a row; default: one hour",
    "limit": f"rows per page: 1 to {LARGEST}, default {LIMIT}; CSV files contain all rows",
    "cursor": "`next` of the previous response; 410 if the rows have changed since",
    "format": "response format, overrides the Accept header",
}
_AMOUNTS = {
    Amounts.BOOKED: "money of closed days. Default: as booked.",
    Amounts.CORRECTED: "`corrected`: with the corrections and entries of these days, whichever "
    "month has booked them.",
    Amounts.MEASURED: "`measured`: time x price, current data.",
}
_TEXTS |= {
    name: f"no rows with this {of}; can be repeated" for name, of in EXCLUDES.items()
}
_ENUMS = {
    **{name: BY_NAME[of].values for name, of in EXCLUDES.items() if BY_NAME[of].values},
    **{name: one.values for name, one in BY_NAME.items() if one.values},
    "format": ("json", "csv"),
    "as": tuple(Amounts),
}
REFUSALS = {
    400: "Bad request. `errors` lists each parameter or member and its valid values.",
    401: "Authentication is missing or not valid.",
    403: "This person's role or this token's scopes do not allow the request.",
    404: "The object does not exist, or this person cannot see it.",
    406: "The requested format is not available. Nothing was written.",
    409: "The object's state or another person's change does not allow the request. `detail` "
    "describes what to do.",
    410: "The rows have changed since the cursor was issued.",
    412: "The version does not match If-Match. Read the object again.",
    413: "The body is larger than 2.5 MB; the file of a bill: than 64 MB.",
    415: "The body is not JSON in UTF-8, or not one of the formats of a file.",
    416: "The range is outside of the file.",
    422: "The idempotency key was used for a different request.",
    428: "If-Match is missing.",
    429: "Too many requests.",
    503: "The database is not available at this time. Send the request again.",
}
READ_REFUSALS = (400, 401, 403, 404, 406, 429, 503)
WRITE_REFUSALS = (*READ_REFUSALS, 409, 413, 415)
RETRY_AFTER = OpenApiParameter(
    "Retry-After",
    int,
    OpenApiParameter.HEADER,
    response=[409, 429, 503],
    description="seconds until the next request is allowed",
)
KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "maxLength": LONGEST_KEY},
    OpenApiParameter.HEADER,
    description="a unique text of your choice: a repeated request gets the same answer for a day",
)
_TIME = {  # of `from` and `to` (N30)
    "oneOf": [
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "date"},
    ]
}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": LARGEST, "default": LIMIT}
_TYPES: dict[str, Any] = {"from": _TIME, "to": _TIME, "limit": _LIMIT}


def parameter_of(
    name: str, values: Sequence[str] = (), more: str = ""
) -> OpenApiParameter:
    """A parameter of the query, with its type and its possible values (`values`, if some).

    `more` is what its description says in addition.
    """
    allowed = values or _ENUMS.get(name)
    text = _TEXTS.get(name, f"only rows with this {name}; can be repeated")
    if name == "as":
        text = " ".join(one for how, one in _AMOUNTS.items() if how in (allowed or ()))
    return OpenApiParameter(
        name,
        _TYPES.get(name, str),
        many=name in MANY,
        enum=allowed,
        description=f"{text}. {more}" if more else text,
    )


def problems(*codes: int) -> dict[Any, Any]:
    """The errors of an address, each a problem document."""
    return {
        (code, MEDIA_TYPE): OpenApiResponse(
            ProblemSerializer, description=REFUSALS[code]
        )
        for code in codes
    }


@cache  # a list with two addresses is one component
def _envelope(row: type[Serializer[Any]]) -> type[Serializer[Any]]:
    name = row.__name__.removesuffix("Serializer")
    return type(  # a class for each row: the fields of a schema are fixed when it is generated
        inline_serializer(
            f"{name}List",
            {
                "rows": row(many=True),
                "next": rest.CharField(
                    allow_null=True,
                    help_text="cursor of the next page; null on the last page",
                ),
            },
        )
    )


def lists(
    row: type[Serializer[Any]],
    parameters: Sequence[str | OpenApiParameter] = (),
    *,
    headers: Sequence[OpenApiParameter] = (),
    answers: Mapping[Any, Any] | None = None,
    operation_id: str | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Any], Any]:
    """Documents a list of rows.

    Args:
        row: the serializer of a row.
        parameters: of the query, besides those of paging: names, or what `parameter_of` makes.
        headers: of the request or the answer.
        answers: besides the rows and the refusals of every list.
        operation_id: where the list has two addresses.
        values: of parameters whose values are the list's own, or fewer than elsewhere.
    """
    own = values or {}
    return extend_schema(
        operation_id=operation_id,
        parameters=[
            *(
                one
                if isinstance(one, OpenApiParameter)
                else parameter_of(one, own.get(one, ()))
                for one in (*parameters, "limit", "cursor", "format")
            ),
            *headers,
            RETRY_AFTER,
        ],
        responses={
            (200, "application/json"): _envelope(row),
            (200, "text/csv"): OpenApiTypes.STR,
            **(answers or {}),
            **problems(*READ_REFUSALS, 410),
        },
    )


def reads(
    row: type[Serializer[Any]],
    operation_id: str,
    parameters: Sequence[OpenApiParameter] = (),
) -> Callable[[Any], Any]:
    """Documents one object."""
    return extend_schema(
        operation_id=operation_id,
        parameters=[*parameters, RETRY_AFTER],
        responses={(200, "application/json"): row, **problems(*READ_REFUSALS)},
    )


def takes(
    body: type[Serializer[Any]] | Mapping[str, Any] | None,
    row: type[Serializer[Any]],
    *codes: int,
) -> Callable[[Any], Any]:
    """Documents a write: its body, and the row that it created (201) or changed (200).

    It is done once for each key: see `answered_once`. `codes` are refusals in addition to those
    of every write. A mapping is the JSON Schema of a body by its media type.
    """
    made: dict[Any, Any] = {201: row, 200: row}
    return extend_schema(
        request=body,
        parameters=[KEY, RETRY_AFTER],
        responses=made | problems(*WRITE_REFUSALS, 422, *codes),
    )


def answers(
    body: type[Serializer[Any]], row: type[Serializer[Any]], *codes: int
) -> Callable[[Any], Any]:
    """Documents a POST that stores nothing: its body, and the answer (200)."""
    return extend_schema(
        request=body,
        parameters=[RETRY_AFTER],
        responses={200: row} | problems(*WRITE_REFUSALS, *codes),
    )
