"""Prices by GPU model, and what a new one would change (money.md M13, M15, M21)."""

from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.reads.billing_settings import billing_at
from accounting.access.scope import scope_of
from accounting.core.money import minor_places
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import ConflictError, RowsView, admin_of
from accounting.kit.api.schema import answers, lists, takes
from accounting.kit.serializers.declared import serializer_of
from accounting.months.tasks.price_effect import NewRate, PriceEffect, price_effect
from accounting.prices.actions.prices import PriceOverlapError, set_unit_price
from accounting.prices.models.price import PriceKind
from accounting.prices.reads.price_book import PriceRow, price_key, price_rows
from accounting.prices.reads.price_doubts import booked_prices, price_doubts
from accounting.prices.rules.price_doubts import DatedPrice
from accounting.prices.rules.price_placing import PriceMeetsError
from accounting.prices.serializers.prices import (
    PriceBodySerializer,
    PricePreviewBodySerializer,
    PriceSavedSerializer,
    PriceWarningSerializer,
)

AMOUNTS = ("rate_per_gpu_hour", "cost_per_gpu_hour")


class PricePreviewSerializer(serializer_of(PriceEffect)):  # type: ignore[misc]  # made at run time
    """The answer of a preview."""

    currency = serializers.CharField()
    warnings = PriceWarningSerializer(many=True)


class PricesView(RowsView):
    """Prices by GPU model."""

    subject = "prices"

    @lists(serializer_of(PriceRow))
    def get(self, request: Request) -> Response:
        """Every price."""
        read = partial(price_rows, scope_of(request.user))
        return self.keyset_page(request, read, price_key, serializer_of(PriceRow))

    @takes(PriceBodySerializer, PriceSavedSerializer, 409)
    def post(self, request: Request) -> Response:
        """Add a rate, a cost or both, valid from a time on; the previous prices end at that
        time. The response is the rate, or the cost without a rate. A price of 0, or far from the
        one before it, is saved with a warning."""
        actor = admin_of(request)
        values = checked(PriceBodySerializer, request)
        return answered_once(request, lambda: self._add(actor, values))

    def _add(self, actor: Any, values: dict[str, Any]) -> Response:
        warnings = _warnings(values)
        amounts = {name: values.pop(name, None) for name in AMOUNTS}
        given = {name: value for name, value in values.items() if value is not None}
        try:
            price = set_unit_price(**amounts, **given, actor=actor)
        except PriceOverlapError as error:
            raise ConflictError(str(error)) from error
        row = next(r for r in price_rows(scope_of(actor)) if r.id == price.pk)
        saved = serializer_of(PriceRow).one(row) | {"warnings": warnings}
        return Response(saved, status=status.HTTP_201_CREATED)


class PricePreviewView(RowsView):
    """What a new price would change; nothing is saved."""

    subject = "prices"

    @answers(PricePreviewBodySerializer, PricePreviewSerializer, 409)
    def post(self, request: Request) -> Response:
        """Preview the body of a new price: the difference of each team and month in the billing
        currency. Closed months do not change; their difference becomes corrections."""
        admin_of(request)
        values = checked(PricePreviewBodySerializer, request)
        currency = billing_at(timezone.now()).currency
        try:
            effect = _effect(values, minor_places(currency))
        except PriceMeetsError as error:
            raise ConflictError(str(error)) from error
        more = {"currency": currency, "warnings": _warnings(values)}
        return Response(serializer_of(PriceEffect).one(effect) | more)


def _terms(values: dict[str, Any]) -> dict[str, Any]:
    """What a price of a body sets, and its time."""
    cluster = values.get("cluster")
    return {
        "model": values["model"],
        "profile": values.get("profile", ""),
        "cluster_id": cluster.pk if cluster else None,
        "lifecycle": values.get("lifecycle", ""),
        "tier": values.get("tier", ""),
        "currency": values["currency"],
        "valid_from": values["valid_from"],
        "valid_to": values.get("valid_to"),
    }


def _effect(values: dict[str, Any], places: int) -> PriceEffect:
    """The effect of a rate; a cost changes no charge."""
    rate = values.get("rate_per_gpu_hour")
    if rate is None:
        return PriceEffect()
    return price_effect(NewRate(rate=rate, **_terms(values)), places)


def _warnings(values: dict[str, Any]) -> list[dict[str, str]]:
    """Each kind of price that is probably a mistake."""
    found = []
    for kind in PriceKind.values:
        price = values.get(f"{kind}_per_gpu_hour")
        if price is not None:
            new = DatedPrice(kind=kind, rate_per_gpu_hour=price, **_terms(values))
            [doubt] = price_doubts([new], booked_prices(kind, new.model))
            if doubt:
                found.append(
                    {"kind": kind, "code": doubt.doubt.value, "detail": doubt.text}
                )
    return found
