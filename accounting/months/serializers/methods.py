"""Methods, and what each team would pay by each of them (money.md M22 to M24)."""

from typing import Any

from rest_framework import serializers

from accounting.kit.serializers.row import MoneyField


class MethodTotalSerializer(serializers.Serializer[Any]):
    """A team's total by one method, with six places."""

    method = serializers.CharField()
    total = MoneyField()
    difference = MoneyField(help_text="to the total by the method in effect")


class MethodTeamSerializer(serializers.Serializer[Any]):
    """What a team would pay by each method."""

    team = serializers.CharField(help_text="slug, unmapped or platform")
    in_effect = MoneyField(help_text="the total by the method in effect")
    totals = MethodTotalSerializer(many=True)


class MethodComparisonSerializer(serializers.Serializer[Any]):
    """Methods side by side over the days of a month that are over. Nothing is stored."""

    period = serializers.CharField()
    since = serializers.DateField(
        allow_null=True, help_text="first day; null if no day of the month is over"
    )
    until = serializers.DateField(
        allow_null=True, help_text="the day after the last one"
    )
    method = serializers.CharField(help_text="in effect")
    currency = serializers.CharField()
    teams = MethodTeamSerializer(many=True)
