"""The bodies that set and end a budget."""

from typing import Any

from rest_framework import serializers

from accounting.models import BudgetMeasure, BudgetUnit, Team


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
