"""The bodies that contest a statement and answer a contest (money.md M34)."""

from typing import Any

from rest_framework import serializers

from accounting.models import (
    AnswerKind,
    Binding,
)


class ReasonSerializer(serializers.Serializer[Any]):
    """Why."""

    reason = serializers.CharField(min_length=10, max_length=200)


class ContestBodySerializer(ReasonSerializer):
    """What is contested: a statement, or one of its rows or lines."""

    revision = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=10_000,
        help_text="default: the latest",
    )
    row = serializers.ListField(
        child=serializers.CharField(allow_blank=True, max_length=500),
        required=False,
        min_length=1,
        max_length=5,
        help_text="of a row: its part (usage, platform, spread, differences, entries, "
        "corrections) and its labels in order, such as model and tier",
    )
    line = serializers.CharField(
        required=False, max_length=32, help_text="of a line: its id"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """At most one of row and line."""
        if "row" in attrs and "line" in attrs:
            raise serializers.ValidationError({"row": "Give a row or a line."})
        return attrs


class ContestAnswerSerializer(ReasonSerializer):
    """What finance answers."""

    answer = serializers.ChoiceField(choices=AnswerKind.choices)
    amount = serializers.DecimalField(
        20,
        4,
        required=False,
        help_text="of an entry: a credit is below 0, other amounts are adjustments",
    )
    day = serializers.DateField(
        required=False, help_text="of an entry: a day of a month that is not closed"
    )
    rule = serializers.PrimaryKeyRelatedField(
        queryset=Binding.objects.all(),
        required=False,
        help_text="of a mapping: the rule that was changed",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Each kind of answer has its members."""
        needed = {"entry": ("amount", "day"), "mapping": ("rule",)}
        for name in needed.get(attrs["answer"], ()):
            if name not in attrs:
                raise serializers.ValidationError({name: "This answer needs it."})
        return attrs
