"""Rows of `queues`."""

from typing import Any

from rest_framework import serializers

from accounting.kit import texts
from accounting.kit.serializers.row import NumberField, RowSerializer


class _SampledField(serializers.DateTimeField):
    """Milliseconds since 1970 as ISO 8601, UTC."""

    def to_representation(self, value: Any) -> str:
        """`2026-10-01T10:00:00Z`."""
        return texts.instant(value)


class QueueRowSerializer(RowSerializer):
    """One queue of a scheduler and one resource, in units; KAI counts fractions of GPUs."""

    cluster = serializers.CharField()
    scheduler = serializers.CharField(source="facts.scheduler")
    queue = serializers.CharField(source="facts.queue")
    resource = serializers.CharField(
        source="facts.resource", allow_blank=True, help_text="empty for all resources"
    )
    quota = serializers.JSONField(
        source="facts.quota",
        allow_null=True,
        help_text="units, `unlimited`, or null if not reported",
    )
    borrowing_limit = serializers.JSONField(
        source="facts.borrowing_limit",
        allow_null=True,
        help_text="units, `unlimited`, or null if not reported",
    )
    used = NumberField(source="facts.used", allow_null=True)
    borrowed = NumberField(source="facts.borrowed", allow_null=True)
    pending = NumberField(source="facts.pending", allow_null=True)
    waiting_workloads = serializers.IntegerField(
        source="facts.waiting", allow_null=True
    )
    preempted_workloads = serializers.IntegerField(
        source="facts.preempted", allow_null=True
    )
    preempting_workloads = serializers.IntegerField(
        source="facts.preempting", allow_null=True
    )
    sampled = _SampledField(source="facts.at_ms", allow_null=True)
