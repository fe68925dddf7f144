"""Rows of `report charges`, of `charges` and of `corrections` over REST."""

from typing import Any

from rest_framework import serializers

from accounting.kit.serializers.row import (
    GpuHoursField,
    Members,
    MoneyField,
    RowSerializer,
)
from accounting.months.reads.charges import DIMENSIONS


class ChargeRowSerializer(RowSerializer):
    """Charges by fields of lines: the requested fields come first."""

    gpu_hours = GpuHoursField(source="ms")
    charge = MoneyField()
    without_money_gpu_hours = GpuHoursField(source="without_money_ms")

    def to_representation(self, instance: Any) -> Members:
        """The requested fields in their order, and the measures."""
        keys = {
            name: value.isoformat() if hasattr(value, "isoformat") else value
            for name, value in instance.fields.items()
        }
        return {**keys, **super().to_representation(instance)}


class ChargeSerializer(ChargeRowSerializer):
    """The same over REST, where the schema lists every field that can be requested."""

    currency = serializers.CharField()
    lines = serializers.IntegerField(source="line_count")

    def get_fields(self) -> dict[str, Any]:
        """Its measures after the fields of lines; those not requested are left out."""
        keys: dict[str, Any] = {
            name: serializers.CharField(required=False, allow_blank=True)
            for name in DIMENSIONS
            if name != "day"
        }
        day = serializers.DateField(required=False, allow_null=True)
        return {"day": day, **keys, **super().get_fields()}

    def measures(self) -> dict[str, Any]:
        """Its fields without those of lines."""
        return {n: one for n, one in self.fields.items() if n not in DIMENSIONS}
