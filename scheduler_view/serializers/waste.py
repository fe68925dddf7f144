"""Findings of waste, and recommendations."""

from rest_framework import serializers

from accounting.serializers.row import (
    MomentField,
    MoneyField,
    RowSerializer,
    TextOrNullField,
)
from scheduler_view.domain.waste.recommend import Confidence, Effort


class RecommendationRowSerializer(RowSerializer):
    """What a month could save at one work unit or node, and what was decided about it."""

    rule = serializers.CharField(source="row.rule")
    cluster = serializers.CharField(source="row.cluster")
    team = TextOrNullField(source="row.team", help_text="null for free time of a node")
    namespace = TextOrNullField(source="row.namespace")
    workload_kind = TextOrNullField(source="row.kind")
    workload = TextOrNullField(source="row.workload")
    node = TextOrNullField(source="row.node")
    advice = serializers.CharField()
    saving_low = MoneyField(
        source="low",
        allow_null=True,
        help_text="of a month; null without a price",
    )
    saving_high = MoneyField(source="high", allow_null=True)
    currency = TextOrNullField(source="row.currency")
    confidence = serializers.ChoiceField(choices=[one.value for one in Confidence])
    effort = serializers.ChoiceField(choices=[one.value for one in Effort])
    state = serializers.CharField(help_text="open, accepted, dismissed or done")
    owner = TextOrNullField()
    reason = TextOrNullField()
    decided_at = MomentField(allow_null=True)
    saved = MoneyField(
        allow_null=True,
        help_text="of a month, measured since the decision; null in its first week",
    )
    quota = serializers.IntegerField(allow_null=True)
    smaller_quota = serializers.IntegerField(source="smaller", allow_null=True)
    is_steady = serializers.BooleanField(
        help_text="false if its weeks differ too much to claim a saving of a month"
    )
    measured_days = serializers.IntegerField(
        help_text="that the saving is scaled to a month of 30 days from"
    )
