"""Rows of `gpus`, `gpu-holders` and `gpu-steps`."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from accounting.fleet.reads.holders import GpuHolder
from accounting.kit.serializers.row import (
    GpuHoursField,
    MillisecondsField,
    MomentField,
    MoneyField,
    NumberField,
    RowSerializer,
    TextOrNullField,
)


class _HolderField(serializers.CharField):
    """The holder of a GPU: `namespace/pod`."""

    def to_representation(self, value: Any) -> str:
        """Its namespace and its pod."""
        return f"{value.namespace}/{value.pod}"


class _TeamsField(serializers.ListField):
    """The teams of a GPU's holders."""

    def to_representation(self, data: Iterable[GpuHolder]) -> list[Any]:
        """Distinct, sorted."""
        return sorted({one.team for one in data})


class GpuRowSerializer(RowSerializer):
    """One row of `gpus`: its current location and holder, and its use and charges in the period."""

    cluster = serializers.CharField(source="row.cluster")
    node = serializers.CharField(source="row.node")
    gpu = serializers.CharField(source="row.uuid")
    model = serializers.CharField(source="row.model", allow_blank=True)
    driver = TextOrNullField(source="row.driver")
    is_present = serializers.BooleanField(source="row.is_present")
    first_seen = MillisecondsField(source="row.first_seen_ms")
    holders = serializers.ListField(
        source="row.holders",
        child=_HolderField(),
        help_text="current holders: `namespace/pod`",
    )
    teams = _TeamsField(
        source="row.holders",
        child=serializers.CharField(),
        help_text="teams of these holders",
    )
    errors = serializers.ListField(  # type: ignore[assignment]  # also a serializer's own name
        source="row.errors",
        child=serializers.CharField(),
        help_text="errors reported in the period: `XID 79`, `ECC`",
    )
    wall_ms = serializers.IntegerField(source="row.ledger.wall_ms", allow_null=True)
    allocated_ms = serializers.IntegerField(
        source="row.ledger.held.allocated_ms", allow_null=True
    )
    busy_ms = serializers.IntegerField(
        source="row.ledger.milliseconds.busy", allow_null=True
    )
    idle_ms = serializers.IntegerField(
        source="row.ledger.milliseconds.idle", allow_null=True
    )
    unknown_ms = serializers.IntegerField(
        source="row.ledger.milliseconds.unknown", allow_null=True
    )
    allocated_share = NumberField(source="row.allocated_share", allow_null=True)
    efficiency = NumberField(source="row.busy_share", allow_null=True)
    charge = MoneyField(
        source="money.earned",
        allow_null=True,
        help_text="charged to its holders",
    )
    capacity_cost = MoneyField(
        source="money.capacity",
        allow_null=True,
        help_text="full price of the GPU's time",
    )
    currency = TextOrNullField(source="money.currency")
    unpriced_gpu_hours = GpuHoursField(
        source="money.unpriced_ms",
        allow_null=True,
        help_text="time without a price, not included in any amount",
    )


class _InstanceField(serializers.IntegerField):
    """The number of a MIG instance."""

    def to_representation(self, value: int) -> Any:
        """None for the whole GPU."""
        return None if value < 0 else value


class GpuHolderSerializer(RowSerializer):
    """One row of `gpu-holders`: a pod held a GPU without a gap, to five minutes."""

    cluster = serializers.CharField()
    node = serializers.CharField()
    gpu = serializers.CharField()
    instance = _InstanceField(
        allow_null=True, help_text="MIG instance; null for the full GPU"
    )
    team = serializers.CharField()
    namespace = serializers.CharField()
    pod = serializers.CharField()
    uid = serializers.CharField()
    start = MomentField()
    end = MomentField()
    allocated_ms = serializers.IntegerField()
    busy_ms = serializers.IntegerField()
    idle_ms = serializers.IntegerField()
    unknown_ms = serializers.IntegerField()
    efficiency = NumberField(allow_null=True)
    is_inferred = serializers.BooleanField()
