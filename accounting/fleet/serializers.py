"""Rows of `gpu-holders`."""

from typing import Any

from rest_framework import serializers

from accounting.kit.serializers.row import MomentField, NumberField, RowSerializer


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
