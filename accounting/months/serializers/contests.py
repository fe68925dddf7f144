"""The body that contests a statement (money.md M34)."""

from typing import Any

from rest_framework import serializers


class ContestBodySerializer(serializers.Serializer[Any]):
    """What is contested: a statement, or one of its rows or lines."""

    reason = serializers.CharField(min_length=10, max_length=200)
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
