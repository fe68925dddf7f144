"""Budgets and anomalies: rows, and the bodies that set and end a budget."""

from typing import Any

from rest_framework import serializers

from accounting.models import BudgetMeasure, BudgetUnit, Team
from accounting.serializers.row import (
    GpuHoursField,
    MoneyField,
    RowSerializer,
    TextOrNullField,
)

_FORECAST = "null without 14 complete days of history"


class BudgetSerializer(RowSerializer):
    """A budget in its current period; amounts are in `currency`, or in GPU-hours without one."""

    id = serializers.IntegerField()
    team = TextOrNullField(help_text="null for a budget of a department")
    department = TextOrNullField()
    unit = serializers.ChoiceField(choices=BudgetUnit.choices)
    measure = serializers.ChoiceField(choices=BudgetMeasure.choices)
    currency = TextOrNullField(help_text="null for GPU-hours")
    amount = MoneyField()
    version = serializers.IntegerField(help_text="1 for the first amount")
    period_from = serializers.DateField(source="period.first")
    period_to = serializers.DateField(
        source="period.after", help_text="the first day after the period"
    )
    actual = MoneyField(
        source="outlook.actual",
        allow_null=True,
        help_text="so far; null if bills are in another currency by now",
    )
    pace = MoneyField(help_text="what an even use of the budget had come to by now")
    forecast = MoneyField(
        source="outlook.forecast.amount", allow_null=True, help_text=_FORECAST
    )
    forecast_low = MoneyField(
        source="outlook.forecast.low",
        allow_null=True,
        help_text="lower end of the range in which four of five periods end",
    )
    forecast_high = MoneyField(
        source="outlook.forecast.high", allow_null=True, help_text="upper end of it"
    )
    past_error = serializers.CharField(
        source="outlook.forecast.past_error",
        allow_null=True,
        help_text="mean error of the forecast over its history, as a share of the amounts",
    )
    history_days = serializers.IntegerField(
        source="outlook.history_days",
        allow_null=True,
        help_text="complete days that the forecast is made from",
    )
    without_money_gpu_hours = GpuHoursField(
        source="outlook.without_money_ms",
        allow_null=True,
        help_text="held time without a price: the actual is a lower bound",
    )
    reached = serializers.ListField(
        child=serializers.CharField(),
        help_text="thresholds of the period: 50, 80, 100, forecast",
    )


class BudgetBodySerializer(serializers.Serializer[Any]):
    """A budget to create; the amount of an existing one is changed."""

    team = serializers.SlugRelatedField(
        "slug", queryset=Team.objects.all(), required=False
    )
    department = serializers.CharField(max_length=200, required=False)
    unit = serializers.ChoiceField(choices=BudgetUnit.choices, default=BudgetUnit.MONTH)
    measure = serializers.ChoiceField(
        choices=BudgetMeasure.choices, default=BudgetMeasure.MONEY
    )
    amount = serializers.DecimalField(18, 6)
    from_on = serializers.DateField(
        required=False, help_text="a day of the first period; default: the current one"
    )
    reason = serializers.CharField(min_length=10, max_length=200)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one of team and department."""
        if ("team" in attrs) == ("department" in attrs):
            raise serializers.ValidationError(
                {"team": "Give a team or a department, and not both."}
            )
        return attrs


class BudgetEndSerializer(serializers.Serializer[Any]):
    """Why a budget ends."""

    reason = serializers.CharField(min_length=10, max_length=200)


class AnomalySerializer(RowSerializer):
    """An unusual day of a team, and the part of it that moved most."""

    team = serializers.CharField()
    day = serializers.DateField()
    currency = serializers.CharField()
    expected = MoneyField()
    actual = MoneyField()
    difference = MoneyField()
    model = TextOrNullField()
    namespace = TextOrNullField()
    workload = TextOrNullField()
