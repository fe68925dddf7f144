"""Files that workers write: rows, and the body that requests one (money.md M46)."""

from typing import Any

from rest_framework import serializers

from accounting.exports.rules.focus.columns import PROFILES

WHAT = ("focus", "charges", "statements", "journal")
FORMATS = ("csv", "parquet", "xlsx")


class ExportBodySerializer(serializers.Serializer[Any]):
    """A file to write."""

    what = serializers.ChoiceField(choices=[(one, one) for one in WHAT])
    period = serializers.RegexField(r"^(19[7-9]\d|[2-8]\d{3})-(0[1-9]|1[0-2])$")
    revision = serializers.IntegerField(required=False, min_value=1, max_value=10**9)
    profile = serializers.ChoiceField(
        choices=[(one, one) for one in PROFILES], default="focus-1.4"
    )
    team = serializers.CharField(required=False, max_length=63)
    format = serializers.ChoiceField(
        choices=[(one, one) for one in FORMATS], default="csv"
    )
