"""Bodies of requests, checked by their serializer."""

from typing import Any

from rest_framework.request import Request


def checked(body: type[Any], request: Request) -> dict[str, Any]:
    """The validated body of a request."""
    return checked_values(body, request.data)


def checked_values(body: type[Any], data: Any) -> dict[str, Any]:
    """The validated fields of a form or an address."""
    found = body(data=data)
    found.is_valid(raise_exception=True)
    values: dict[str, Any] = found.validated_data
    return values
