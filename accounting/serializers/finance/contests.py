"""Contests of statements: rows, and the bodies that contest and answer (money.md M34)."""

from typing import Any

from rest_framework import serializers

from accounting.models import (
    AnswerKind,
    Binding,
    ContestAct,
    Contested,
    ContestState,
)
from accounting.serializers.row import (
    MoneyField,
    RowSerializer,
    SecondsField,
    TextOrNullField,
)

_ANSWERED = "of the latest answer; null without one"


class ContestSerializer(RowSerializer):
    """A contest with its latest answer."""

    id = serializers.IntegerField()
    team = serializers.CharField()
    period = serializers.CharField(help_text="YYYY-MM")
    revision = serializers.IntegerField()
    of = serializers.ChoiceField(choices=Contested.choices)
    subject = TextOrNullField(
        source="key",
        help_text="JSON of a row's part and labels, or the id of a line; null of a whole statement",
    )
    title = serializers.CharField(help_text="what was contested, in words")
    amount = MoneyField(allow_null=True, help_text="when it was contested")
    currency = serializers.CharField()
    state = serializers.ChoiceField(choices=ContestState.choices)
    reason = serializers.CharField(source="opened.text")
    contested_by = serializers.CharField(source="opened.by")
    contested_at = SecondsField(source="opened.at")
    answer = serializers.ChoiceField(
        source="answer.answer",
        choices=AnswerKind.choices,
        allow_null=True,
        help_text=_ANSWERED,
    )
    answer_reason = serializers.CharField(
        source="answer.text", allow_null=True, help_text=_ANSWERED
    )
    answered_by = serializers.CharField(
        source="answer.by", allow_null=True, help_text=_ANSWERED
    )
    answered_at = SecondsField(source="answer.at", allow_null=True, help_text=_ANSWERED)
    entry = serializers.CharField(
        source="answer.entry.number",
        allow_null=True,
        help_text="number of the credit or adjustment",
    )
    rule = serializers.IntegerField(
        source="answer.rule", allow_null=True, help_text="id of the changed rule"
    )


class ContestStepSerializer(RowSerializer):
    """What one person did about a contest."""

    act = serializers.ChoiceField(choices=ContestAct.choices)
    reason = TextOrNullField(source="text")
    by = serializers.CharField()
    at = SecondsField()
    answer = TextOrNullField(help_text="entry, mapping or reason")
    entry = serializers.CharField(source="entry.number", allow_null=True)
    rule = serializers.IntegerField(allow_null=True)


class ContestDetailSerializer(ContestSerializer):
    """A contest with all its steps, the oldest first."""

    steps = ContestStepSerializer(many=True)


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
