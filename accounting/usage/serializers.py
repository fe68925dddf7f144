"""Rows of `usage`, `ledger` and `holds`."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rest_framework import serializers

from accounting.kit.reads.dimensions import (
    LEDGER_DIMENSIONS,
    USAGE_DIMENSIONS,
    DimensionKey,
    KeyType,
    keys_of,
)
from accounting.kit.serializers.row import (
    GpuHoursField,
    Members,
    MillisecondsField,
    MoneyField,
    NumberField,
    RowSerializer,
    TextOrNullField,
)

_MONEY = (
    "charge of the time with a price; null if no time has a price, or if it is in several "
    "currencies: ask by day, cluster or model, or for fewer days"
)
_UNPRICED = "time without a price, not included in any amount of the row"


class _GroupedSerializer(RowSerializer):
    """A row of a report by dimensions: the requested keys, then its measures."""

    dimensions: ClassVar[Sequence[str]] = ()

    def get_fields(self) -> dict[str, Any]:
        """Its measures after the keys of dimensions; keys that were not requested are left out."""
        keys = {key.name: _key_field(key) for key in keys_of(self.dimensions)}
        return {**keys, **super().get_fields()}

    def measures(self) -> dict[str, Any]:
        """Its fields without the keys."""
        keys = {key.name for key in keys_of(self.dimensions)}
        return {n: field for n, field in self.fields.items() if n not in keys}

    def to_representation(self, instance: Any) -> Members:
        """The requested keys in their order, and the measures."""
        return {**instance.key, **super().to_representation(instance)}


def _key_field(key: DimensionKey) -> serializers.Field[Any, Any, Any, Any]:
    if key.type is KeyType.DATE:
        return serializers.DateField(required=False)
    if key.type is KeyType.INSTANT:
        return serializers.DateTimeField(required=False)
    return serializers.CharField(required=False, allow_blank=key.can_be_empty)


class UsageRowSerializer(_GroupedSerializer):
    """One row of `usage`; the requested dimensions come first, by name."""

    dimensions = USAGE_DIMENSIONS

    allocated_ms = serializers.IntegerField()
    busy_ms = serializers.IntegerField()
    idle_ms = serializers.IntegerField()
    unknown_ms = serializers.IntegerField()
    allocated_gpu_hours = GpuHoursField(source="allocated_ms")
    busy_gpu_hours = GpuHoursField(source="busy_ms")
    idle_gpu_hours = GpuHoursField(source="idle_ms")
    unknown_gpu_hours = GpuHoursField(source="unknown_ms")
    efficiency = NumberField(allow_null=True)
    coverage = NumberField(allow_null=True)
    charge = MoneyField(allow_null=True, help_text=_MONEY)
    idle_charge = MoneyField(allow_null=True, help_text=_MONEY)
    currency = TextOrNullField()
    unpriced_gpu_hours = GpuHoursField(source="unpriced_ms", help_text=_UNPRICED)
    estimated = serializers.BooleanField()
    energy_joules = NumberField(source="hard.energy_joules", allow_null=True)
    peak_memory_bytes = serializers.IntegerField(
        source="hard.peak_memory_bytes", allow_null=True
    )
    sm_active = NumberField(source="hard.sm_active", allow_null=True)
    tensor_active = NumberField(source="hard.tensor_active", allow_null=True)
    dram_active = NumberField(source="hard.dram_active", allow_null=True)


USAGE_MEASURES: tuple[str, ...] = tuple(UsageRowSerializer().measures())


class LedgerRowSerializer(_GroupedSerializer):
    """One row of `ledger`; the requested dimensions come first, by name."""

    dimensions = LEDGER_DIMENSIONS

    busy_ms = serializers.IntegerField(source="milliseconds.busy")
    idle_ms = serializers.IntegerField(source="milliseconds.idle")
    unknown_ms = serializers.IntegerField(source="milliseconds.unknown")
    free_ms = serializers.IntegerField(source="milliseconds.free")
    stranded_ms = serializers.IntegerField(source="milliseconds.stranded")
    stray_ms = serializers.IntegerField(source="milliseconds.stray")
    dark_ms = serializers.IntegerField(source="milliseconds.dark")
    wall_ms = serializers.IntegerField()
    busy_charge = MoneyField(source="charges.busy", allow_null=True)
    idle_charge = MoneyField(source="charges.idle", allow_null=True)
    unknown_charge = MoneyField(source="charges.unknown", allow_null=True)
    free_charge = MoneyField(source="charges.free", allow_null=True)
    stranded_charge = MoneyField(source="charges.stranded", allow_null=True)
    stray_charge = MoneyField(source="charges.stray", allow_null=True)
    dark_charge = MoneyField(source="charges.dark", allow_null=True)
    wall_charge = MoneyField(allow_null=True, help_text=_MONEY)
    currency = TextOrNullField()
    unpriced_gpu_hours = GpuHoursField(source="unpriced_ms", help_text=_UNPRICED)


class HoldRowSerializer(RowSerializer):
    """One row of `holds`."""

    cluster = serializers.CharField()
    namespace = serializers.CharField()
    pod = serializers.CharField()
    uid = serializers.CharField()
    node = serializers.CharField()
    resource = serializers.CharField()
    units = serializers.IntegerField()
    share = serializers.CharField()
    created = MillisecondsField(source="created_ms", allow_null=True)
    bound = MillisecondsField(source="bound_ms")
    ended = MillisecondsField(source="ended_ms", allow_null=True)
    ended_by = TextOrNullField()
    wait_ms = serializers.IntegerField(allow_null=True)
    admission_wait_ms = serializers.IntegerField(allow_null=True)
