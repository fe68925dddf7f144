"""Price lists: read by everybody who reads prices, created and renamed by administrators."""

from functools import partial
from typing import Any

from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.actions.finance.price_lists import (
    PriceListError,
    PriceListTakenError,
    change_price_list,
    create_price_list,
)
from accounting.api.once import answered_once
from accounting.api.rows import ConflictError, RowsView, admin_of
from accounting.api.schema import lists, takes
from accounting.api.writes import checked
from accounting.models import PriceList
from accounting.queries.finance.price_lists import (
    PriceListRow,
    price_list_key,
    price_list_row,
    price_list_rows,
)
from accounting.serializers.declared import serializer_of
from accounting.serializers.finance.price_lists import (
    PriceListBodySerializer,
    PriceListChangeSerializer,
)


class PriceListsView(RowsView):
    """Price lists."""

    subject = "price-lists"

    @lists(serializer_of(PriceListRow))
    def get(self, request: Request) -> Response:
        """Every list, by its kind and name."""
        read = partial(price_list_rows, scope_of(request.user))
        return self.keyset_page(
            request, read, price_list_key, serializer_of(PriceListRow)
        )

    @takes(PriceListBodySerializer, serializer_of(PriceListRow), 409)
    def post(self, request: Request) -> Response:
        """Create a list without prices."""
        actor = admin_of(request)
        values = checked(PriceListBodySerializer, request)

        def make() -> Response:
            try:
                made = create_price_list(**values, actor=actor)
            except PriceListError as error:
                raise _refusal(error) from error
            return _answer(actor, made.pk, status.HTTP_201_CREATED)

        return answered_once(request, make)


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
            try:
                change_price_list(
                    known,
                    name=values.get("name", known.name),
                    source=values.get("source", known.source),
                    actor=actor,
                    reason=values["reason"],
                )
            except PriceListError as error:
                raise _refusal(error) from error
            return _answer(actor, number, status.HTTP_200_OK)

        return answered_once(request, make)


def _answer(actor: Any, number: int, code: int) -> Response:
    row = price_list_row(scope_of(actor), number)
    return Response(serializer_of(PriceListRow).one(row), status=code)


def _refusal(error: PriceListError) -> exceptions.APIException:
    if isinstance(error, PriceListTakenError):
        return ConflictError(str(error))
    return exceptions.ValidationError({error.field: str(error)})
