"""Files that workers write: rows, and the body that requests one (money.md M46)."""

from typing import Any

from rest_framework import serializers

from accounting.exports.rules.focus.columns import PROFILES
from accounting.kit.serializers.row import (
    RowSerializer,
    SecondsField,
    TextOrNullField,
)

WHAT = ("focus", "charges", "statements")
FORMATS = ("csv", "parquet", "xlsx")


class ExportSerializer(RowSerializer):
    """A file and how far it is."""

    id = serializers.IntegerField()
    what = serializers.CharField()
    period = serializers.CharField()
    revision = serializers.IntegerField(
        allow_null=True, help_text="null: the one in effect when it is written"
    )
    profile = TextOrNullField(help_text="of FOCUS rows")
    team = TextOrNullField(help_text="null for all teams")
    format = serializers.CharField()
    state = serializers.CharField(help_text="queued, running, done, failed or expired")
    requested_by = TextOrNullField()
    requested_at = SecondsField()
    started_at = SecondsField(allow_null=True)
    finished_at = SecondsField(allow_null=True)
    expires_at = SecondsField(allow_null=True)
    row_count = serializers.IntegerField(help_text="so far")
    size = serializers.IntegerField(help_text="bytes so far")
    file_name = TextOrNullField()
    sha256 = TextOrNullField(help_text="of the complete file; also its ETag")
    error = TextOrNullField(help_text="why it failed")


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
