"""Conversion rates: rows, and the body that sets one."""

from typing import Any

from rest_framework import serializers

from accounting.actions.finance.conversions import ConversionError, check_conversion
from accounting.serializers.row import RowSerializer


class FactorField(serializers.CharField):
    """A conversion, without trailing zeros and without an exponent."""

    def to_representation(self, value: Any) -> str:
        """`1.0842`."""
        return f"{value.normalize():f}"


class ConversionRateSerializer(RowSerializer):
    """A unit of a currency in another one, from a day on."""

    id = serializers.IntegerField()
    from_currency = serializers.CharField()
    to_currency = serializers.CharField()
    on = serializers.DateField(
        help_text="first billing day; applies for at most 31 days after it"
    )
    rate = FactorField(help_text="units of `to_currency` for one of `from_currency`")


class ConversionRateBodySerializer(serializers.Serializer[Any]):
    """A rate to add; the rate of a known day is corrected."""

    from_currency = serializers.CharField(max_length=3)
    to_currency = serializers.CharField(max_length=3)
    on = serializers.DateField()
    rate = serializers.DecimalField(20, 10)
    reason = serializers.CharField(min_length=10, max_length=200)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Two currencies of ISO 4217, and a rate above 0."""
        try:
            check_conversion(
                attrs["from_currency"], attrs["to_currency"], attrs["rate"]
            )
        except ConversionError as error:
            raise serializers.ValidationError({error.field: str(error)}) from error
        return attrs
