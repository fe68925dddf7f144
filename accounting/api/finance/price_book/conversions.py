"""Conversion rates: read by everybody who reads prices, set by finance."""

from functools import partial

from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.actions.finance.conversions import set_conversion_rate
from accounting.api.once import answered_once
from accounting.api.rows import RowsView
from accounting.api.schema import lists, takes
from accounting.api.writes import checked
from accounting.queries.finance.conversions import (
    conversion_key,
    conversion_row,
    conversion_rows,
)
from accounting.rights import SET_CONVERSIONS
from accounting.serializers.finance.conversions import (
    ConversionRateBodySerializer,
    ConversionRateSerializer,
)


class ConversionRatesView(RowsView):
    """Conversion rates between currencies."""

    subject = "conversion-rates"

    @lists(ConversionRateSerializer)
    def get(self, request: Request) -> Response:
        """Every rate, by its currencies and day."""
        read = partial(conversion_rows, scope_of(request.user))
        return self.keyset_page(request, read, conversion_key, ConversionRateSerializer)

    @takes(ConversionRateBodySerializer, ConversionRateSerializer)
    def post(self, request: Request) -> Response:
        """Add the rate of a day (201), or correct it (200)."""
        actor = request.user
        if not SET_CONVERSIONS.allows(scope_of(actor)):
            raise exceptions.PermissionDenied(
                f"Only {SET_CONVERSIONS.who} can change this."
            )
        values = checked(ConversionRateBodySerializer, request)

        def make() -> Response:
            row, is_new = set_conversion_rate(**values, actor=actor)  # type: ignore[arg-type]
            shown = ConversionRateSerializer.one(conversion_row(row))
            return Response(
                shown, status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
            )

        return answered_once(request, make)
