"""Findings of waste, and recommendations."""

from rest_framework import serializers

from accounting.serializers.row import (
    GpuHoursField,
    MomentField,
    MoneyField,
    RowSerializer,
    TextOrNullField,
)
from scheduler_view.domain.waste.finding import WasteRule
from scheduler_view.domain.waste.recommend import Confidence, Effort


class WasteRowSerializer(RowSerializer):
    """The findings of one rule about one work unit or node, on the chosen days."""

    rule = serializers.ChoiceField(choices=[rule.value for rule in WasteRule])
    number = serializers.CharField(help_text="of the rule in docs/scheduling.md")
    is_at_risk = serializers.BooleanField(help_text="no saving is claimed")
    is_in_totals = serializers.BooleanField(
        help_text="false if its time may be in other rows as well, or no saving is claimed"
    )
    cluster = serializers.CharField()
    team = TextOrNullField(help_text="null for free time of a node")
    namespace = TextOrNullField()
    workload_kind = TextOrNullField(source="kind")
    workload = TextOrNullField()
    node = TextOrNullField(help_text="null for held time and free time of a pool")
    pool = TextOrNullField(help_text="resource and model, for free time of a pool")
    works = serializers.IntegerField(
        help_text="work units of one family: `workload` is their name without generated suffixes"
    )
    findings = serializers.IntegerField()
    pods = serializers.IntegerField()
    first_from = MomentField(
        source="start",
        help_text="begin of the first finding, which may be before `from`",
    )
    last_to = MomentField(source="end", help_text="end of the last finding")
    gpu_ms = serializers.IntegerField(help_text="share-weighted milliseconds")
    gpu_hours = GpuHoursField(source="gpu_ms")
    amount = MoneyField(allow_null=True, help_text="null without a price")
    amount_low = MoneyField(
        allow_null=True,
        help_text="the least that it may come to; `amount` is the most",
    )
    amount_per_day = MoneyField(
        allow_null=True, help_text="the amount divided by `measured_days`"
    )
    currency = TextOrNullField()
    unpriced_gpu_hours = GpuHoursField(source="unpriced_ms")
    measured_days = serializers.IntegerField(
        source="days", help_text="days of the range whose findings are computed"
    )


class BridgeRowSerializer(RowSerializer):
    """A part of the idle or the unallocated cost of the chosen days; the last one is their sum."""

    cost = serializers.CharField(help_text="idle or unallocated")
    part = serializers.CharField(
        help_text="a rule, a state, `rest`, `not_measured`, or `total`, the sum of the others"
    )
    title = serializers.CharField()
    gpu_ms = serializers.IntegerField(help_text="share-weighted milliseconds")
    gpu_hours = GpuHoursField(source="gpu_ms")
    amount = MoneyField(
        allow_null=True, help_text="null without a price, or in several currencies"
    )
    currency = TextOrNullField()


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
