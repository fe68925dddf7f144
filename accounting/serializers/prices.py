"""Prices: rows, and the body that sets one."""

from typing import Any

from rest_framework import serializers

from accounting.domain.units.mig_profiles import fault_of
from accounting.models import Cluster
from accounting.queries.dimensions import LIFECYCLES
from accounting.rating.billing_settings import billing_at
from accounting.serializers.directory import InstantField
from accounting.serializers.row import IsoField, MoneyField, RowSerializer
from accounting.sources.catalogue import normal_model

SET_LIFECYCLES = tuple(name for name in LIFECYCLES if name != "unknown")  # N26


class PriceSerializer(RowSerializer):
    """A price; only finance and admins see what a GPU costs."""

    id = serializers.IntegerField()
    model = serializers.CharField()
    profile = serializers.CharField(allow_blank=True)
    lifecycle = serializers.CharField(allow_blank=True)
    cluster = serializers.CharField(allow_blank=True)
    tier = serializers.CharField(allow_blank=True)
    currency = serializers.CharField()
    rate_per_gpu_hour = MoneyField()
    cost_per_gpu_hour = MoneyField(allow_null=True)
    valid_from = IsoField()
    valid_to = IsoField(allow_null=True)


class PriceBodySerializer(serializers.Serializer[Any]):
    """A price from a time on; the previous price ends there."""

    model = serializers.CharField(max_length=200)
    profile = serializers.CharField(max_length=64, required=False, allow_blank=True)
    lifecycle = serializers.ChoiceField(
        choices=SET_LIFECYCLES, required=False, allow_blank=True
    )
    cluster = serializers.SlugRelatedField(
        "name", queryset=Cluster.objects.all(), required=False, allow_null=True
    )
    tier = serializers.CharField(max_length=253, required=False, allow_blank=True)
    currency = serializers.CharField(max_length=3, required=False)
    rate_per_gpu_hour = serializers.DecimalField(12, 6, min_value=0)
    cost_per_gpu_hour = serializers.DecimalField(
        12, 6, min_value=0, required=False, allow_null=True
    )
    valid_from = InstantField()
    source_note = serializers.CharField(
        max_length=500, required=False, allow_blank=True
    )
    reason = serializers.CharField(max_length=200)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The model must have the profile, and the currency must be that of bills."""
        profile = attrs.get("profile", "")
        if profile and (fault := fault_of(profile, normal_model(attrs["model"]))):
            raise serializers.ValidationError({"profile": fault})
        ours = billing_at(attrs["valid_from"]).currency
        if attrs.setdefault("currency", ours) != ours:
            raise serializers.ValidationError(
                {
                    "currency": f"The billing currency is {ours}. "
                    "Other currencies are not supported."
                }
            )
        return attrs
