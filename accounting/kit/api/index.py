"""`/api/v1/`: every address of the API, and where they are documented."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.kit.api.rows import LimitedView
from accounting.kit.api.schema import reads

PARAMETER = re.compile(r"<[a-z]+:([a-z_]+)>")  # of a route


def name_of(address: str) -> str:
    """`api-usage`, `api-budgets/number/end`: Django warns of a colon in a name."""
    return "api-" + PARAMETER.sub(r"\1", address or "index")


class IndexSerializer(serializers.Serializer[Any]):
    """Where the API is described, and its addresses."""

    openapi = serializers.CharField(help_text="address of the OpenAPI document")
    docs = serializers.CharField(help_text="address of the page to read and try it")
    routes = serializers.ListField(
        child=serializers.CharField(),
        help_text="every address, with parameters in braces, as in the OpenAPI document",
    )


class IndexView(LimitedView):
    """Every address of the API."""

    permission_classes = (IsAuthenticated,)

    @reads(IndexSerializer, "index")
    def get(self, request: Request) -> Response:
        """List every address. For everybody who is signed in, and for every token."""
        del request
        return Response(
            {
                "openapi": reverse("api-schema"),
                "docs": reverse("api-docs"),
                "routes": sorted(_addresses(reverse("api-index"))),
            }
        )


def _addresses(root: str) -> Iterator[str]:
    """The addresses below one, such as `/api/v1/budgets/{number}/end`."""
    for one in get_resolver().url_patterns:
        if isinstance(one, URLResolver) and f"/{one.pattern}" == root:
            for route in one.url_patterns:
                address = root + PARAMETER.sub(r"{\1}", str(route.pattern))
                is_named = isinstance(route, URLPattern) and route.name is not None
                if is_named and address != root:
                    yield address
