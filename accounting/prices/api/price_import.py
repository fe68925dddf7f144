"""The import of a price list over REST: a dry run, then all or nothing (money.md M19)."""

import hashlib
import io
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import PREPARE_PRICES
from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked_values
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import ApiView, admin_of
from accounting.kit.api.schema import KEY, RETRY_AFTER, WRITE_REFUSALS, problems
from accounting.kit.reads.selection import SelectionError
from accounting.prices.actions.price_import import check_price_file, import_price_file
from accounting.prices.rules.price_import import WORDS
from accounting.prices.rules.price_offers import PriceFileError
from accounting.prices.serializers.price_import import (
    OfferSerializer,
    PriceImportBodySerializer,
    PriceImportSerializer,
    import_options,
    text_of,
)

FILE = "file"
REPEATABLE = ("map", "set", "where", "alias")


class CsvParser(BaseParser):
    """`text/csv`: the bytes of the file."""

    media_type = "text/csv"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The body as the file of a form."""
        del media_type, parser_context
        return {FILE: stream.read()}


class PriceImportView(ApiView):
    """Imports a price list."""

    subject = "prices"
    parser_classes = (MultiPartParser, CsvParser)

    @extend_schema(
        request={
            "multipart/form-data": PriceImportBodySerializer,
            "text/csv": OpenApiTypes.STR,
        },
        parameters=[
            *(
                OpenApiParameter(name, str, many=name in REPEATABLE)
                for name in PriceImportBodySerializer.OPTIONS
            ),
            KEY,
            RETRY_AFTER,
        ],
        responses={200: PriceImportSerializer, **problems(*WRITE_REFUSALS, 422)},
    )
    def post(self, request: Request) -> Response:
        """Check a CSV file, and with `dry_run=false` save the prices that are taken: all, or
        none. Finance may check; administrators save. The options are fields of the form, or
        parameters of the address where the body is the file. Saving the same file again changes
        nothing. Larger files: `manage.py prices import`."""
        if not PREPARE_PRICES.allows(scope_of(request.user)):
            raise exceptions.PermissionDenied(
                f"Only {PREPARE_PRICES.who} can check price lists."
            )
        data, given = _file_and_options(request)
        values = checked_values(PriceImportBodySerializer, given)
        actor = request.user if values["dry_run"] else admin_of(request)
        body = {"file": hashlib.sha256(data).hexdigest(), "options": given}
        return answered_once(request, lambda: self._import(actor, data, values), body)

    def _import(self, actor: Any, data: bytes, values: dict[str, Any]) -> Response:
        is_saved = not values["dry_run"]
        try:
            lines = io.StringIO(text_of(data), newline="")
            options = import_options(values)
            if is_saved:
                reason = values["reason"]
                found = import_price_file(lines, options, actor=actor, reason=reason)
            else:
                found = check_price_file(lines, options)
        except PriceFileError as error:
            raise exceptions.ValidationError({FILE: str(error)}) from error
        counts = Counter(offer.word for offer in found)
        return Response(
            {
                "is_saved": is_saved,
                "counts": {word: counts[word] for word in WORDS if counts[word]},
                "rows": list(OfferSerializer.each(found)),
            }
        )


def _file_and_options(request: Request) -> tuple[bytes, dict[str, Any]]:
    """The bytes of the file, and the options beside it."""
    body, query = request.data.get(FILE), request.query_params
    if isinstance(body, bytes):
        return body, _options(query)
    if query:
        raise SelectionError("options are fields of the form", parameter=min(query))
    if body is None or not hasattr(body, "read"):
        raise exceptions.ValidationError(
            {FILE: "Send a CSV file as the body, or in this field of a form."}
        )
    return body.read(), _options(request.POST)


def _options(given: QueryDict) -> dict[str, Any]:
    """The options by name; a list for those that may repeat."""
    allowed = PriceImportBodySerializer.OPTIONS
    for name, values in given.lists():
        if name not in allowed:
            raise SelectionError(
                f"unknown option {name!r}; use {', '.join(allowed)}", parameter=name
            )
        if len(values) > 1 and name not in REPEATABLE:
            raise SelectionError(f"{name} is used more than once", parameter=name)
    return {
        name: values if name in REPEATABLE else values[0]
        for name, values in given.lists()
    }
