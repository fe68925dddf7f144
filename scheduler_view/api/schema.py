"""What the schema says of change sets: bodies, ETags, keys and refusals."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.serializers import Serializer

from accounting.problems import MEDIA_TYPE
from accounting.serializers import ProblemSerializer
from scheduler_view.serializers import ChangeSerializer

_REFUSALS = {
    400: "Wrong use: `errors` names each member, and what it may be.",
    401: "Not signed in.",
    403: "Not allowed for this person, or not by this token's scopes.",
    404: "Not there, or not theirs.",
    406: "A form that is not offered.",
    409: "Its state, or somebody else's change, does not allow it; says what to do.",
    412: "Another version is there than If-Match names: read it again.",
    415: "A body that is not JSON.",
    422: "An idempotency key that came with another request.",
    428: "If-Match is missing.",
    429: "Too many requests.",
}
_HEADERS = [
    OpenApiParameter(
        "If-Match",
        location=OpenApiParameter.HEADER,
        description="the ETag of the change set that was read; not for new ones",
    ),
    OpenApiParameter(
        "Idempotency-Key",
        location=OpenApiParameter.HEADER,
        description="a text of yours: the same request with it is done once",
    ),
]


def _problems(*codes: int) -> dict[Any, Any]:
    return {
        (code, MEDIA_TYPE): OpenApiResponse(
            ProblemSerializer, description=_REFUSALS[code]
        )
        for code in codes
    }


def acts(body: type[Serializer[Any]], code: int) -> Callable[[Any], Any]:
    """Documents a step of a change set."""
    done: dict[Any, Any] = {code: ChangeSerializer}
    return extend_schema(
        request=body,
        parameters=_HEADERS,
        responses=done | _problems(400, 401, 403, 404, 409, 412, 415, 422, 428, 429),
    )


reads_one = extend_schema(
    operation_id="change_set_retrieve",
    responses={(200, "application/json"): ChangeSerializer}
    | _problems(400, 401, 403, 404, 406, 429),
)
