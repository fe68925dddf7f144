"""One price list: renamed by administrators; the rest is declared."""

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import RowsView, admin_of
from accounting.kit.api.schema import takes
from accounting.kit.serializers.declared import serializer_of
from accounting.prices.actions.price_lists import change_price_list
from accounting.prices.models.price import PriceList
from accounting.prices.reads.price_lists import PriceListRow
from accounting.prices.resource import PRICE_LISTS
from accounting.prices.serializers.price_lists import PriceListChangeSerializer


class PriceListView(RowsView):
    """One price list."""

    subject = "price-lists"

    @takes(PriceListChangeSerializer, serializer_of(PriceListRow), 409)
    def patch(self, request: Request, number: int) -> Response:
        """Rename a list, or change its source. Its kind and currency do not change."""
        actor = admin_of(request)
        values = checked(PriceListChangeSerializer, request)
        known = PriceList.objects.filter(pk=number).first()
        if known is None:
            raise Http404

        def make() -> Response:
            change_price_list(
                known,
                name=values.get("name", known.name),
                source=values.get("source", known.source),
                actor=actor,
                reason=values["reason"],
            )
            row = PRICE_LISTS.found(scope_of(actor), number)
            return Response(serializer_of(PriceListRow).one(row))

        return answered_once(request, make)
