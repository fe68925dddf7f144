"""Prices: rows, and the body that sets one."""

from typing import Any

from babel.numbers import list_currencies
from rest_framework import serializers

from accounting.access.reads.billing_settings import billing_at
from accounting.kit.reads.dimensions import LIFECYCLES
from accounting.kit.serializers.declared import serializer_of
from accounting.kit.serializers.row import RowSerializer
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.units.mig_profiles import fault_of, normal
from accounting.metering.sources.catalogue import normal_model
from accounting.organization.serializers.directory import InstantField
from accounting.prices.actions.prices import PriceError, check_price, check_price_list
from accounting.prices.models.price import PriceKind, PriceList
from accounting.prices.reads.price_book import PriceRow

SET_LIFECYCLES = tuple(name for name in LIFECYCLES if name != "unknown")  # N26


class PriceWarningSerializer(RowSerializer):
    """A price that is probably a mistake; it is not refused."""

    kind = serializers.CharField(help_text="`rate` or `cost`")
    code = serializers.CharField(
        help_text="`zero`, `over_ten_times` or `under_a_tenth` of the price before it"
    )
    detail = serializers.CharField()


class PriceSavedSerializer(serializer_of(PriceRow)):  # type: ignore[misc]  # made at run time
    """A price that was added."""

    warnings = PriceWarningSerializer(many=True)


class PriceBodySerializer(serializers.Serializer[Any]):
    """A rate, a cost or both from a time on; the previous prices end there."""

    model = serializers.CharField(max_length=200)
    profile = serializers.CharField(max_length=64, required=False, allow_blank=True)
    lifecycle = serializers.ChoiceField(
        choices=SET_LIFECYCLES, required=False, allow_blank=True
    )
    cluster = serializers.SlugRelatedField(
        "name", queryset=Cluster.objects.all(), required=False, allow_null=True
    )
    tier = serializers.CharField(max_length=253, required=False, allow_blank=True)
    currency = serializers.CharField(
        max_length=3, required=False, help_text="default: the billing currency"
    )
    rate_per_gpu_hour = serializers.DecimalField(
        12, 6, min_value=0, required=False, allow_null=True
    )
    cost_per_gpu_hour = serializers.DecimalField(
        12, 6, min_value=0, required=False, allow_null=True
    )
    valid_from = InstantField()
    valid_to = InstantField(
        required=False, allow_null=True, help_text="default: until another price begins"
    )
    source_note = serializers.CharField(
        max_length=500, required=False, allow_blank=True
    )
    price_list = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text="id of a list of the only price that is given; default: `Rates in EUR` or "
        "`Costs in EUR`",
    )
    reason = serializers.CharField(max_length=200)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Spelled as in the ledger. The model must have the profile; the rest as `check_price`
        says.
        """
        attrs["model"] = normal_model(attrs["model"])
        profile = attrs["profile"] = normal(attrs.get("profile", ""))
        if profile and (fault := fault_of(profile, attrs["model"])):
            raise serializers.ValidationError({"profile": fault})
        self._find_list(attrs)
        currency = attrs.setdefault(
            "currency", billing_at(attrs["valid_from"]).currency
        )
        if currency not in list_currencies():
            raise serializers.ValidationError(
                {"currency": f"{currency!r} is not an ISO 4217 currency, like EUR."}
            )
        self._check_kinds(attrs)
        return attrs

    def _find_list(self, attrs: dict[str, Any]) -> None:
        """The list by its id; prices have its currency."""
        number = attrs.get("price_list")
        if number is None:
            return
        found = PriceList.objects.filter(pk=number).first()
        if found is None:
            raise serializers.ValidationError(
                {"price_list": f"There is no price list {number}."}
            )
        attrs["price_list"] = found
        attrs.setdefault("currency", found.currency)

    def _check_kinds(self, attrs: dict[str, Any]) -> None:
        terms = {name: attrs.get(name, "") for name in ("profile", "tier")}
        kinds = [
            kind
            for kind in PriceKind.values
            if attrs.get(f"{kind}_per_gpu_hour") is not None
        ]
        if not kinds:
            raise serializers.ValidationError(
                {"rate_per_gpu_hour": "Give a rate, a cost or both."}
            )
        times = attrs["valid_from"], attrs.get("valid_to")
        for kind in kinds:
            try:
                if attrs.get("price_list"):
                    check_price_list(attrs["price_list"], kinds, attrs["currency"])
                check_price(kind, terms, attrs["currency"], *times)
            except PriceError as error:
                raise serializers.ValidationError({error.field: str(error)}) from error


class PricePreviewBodySerializer(PriceBodySerializer):
    """A price to preview: the body that would add it."""

    reason = serializers.CharField(max_length=200, required=False)
