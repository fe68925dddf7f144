"""Rows of `audit`."""

from datetime import datetime

from rest_framework import serializers

from accounting.kit.serializers.row import RowSerializer


class _AtField(serializers.DateTimeField):
    """An instant as ISO 8601, UTC, to the millisecond."""

    def to_representation(self, value: datetime) -> str:
        """`2026-10-01T10:00:00.000Z`."""
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AuditSerializer(RowSerializer):
    """One change of one row by a person."""

    id = serializers.IntegerField(help_text="position in the audit chain")
    at = _AtField()
    actor = serializers.CharField(
        allow_blank=True, help_text="who decided it; `system` without a person"
    )
    action = serializers.CharField(help_text="insert, update or delete")
    what = serializers.CharField()
    object = serializers.IntegerField(source="object_id", allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    request_id = serializers.CharField(allow_blank=True)
    address = serializers.CharField(allow_blank=True)
    before = serializers.DictField(child=serializers.JSONField(allow_null=True))
    after = serializers.DictField(child=serializers.JSONField(allow_null=True))
    by_worker = serializers.BooleanField(
        help_text="a worker carried it out for the actor"
    )
    requested_by = serializers.CharField(
        allow_blank=True, help_text="who requested it, if not the actor"
    )


AUDIT_COLUMNS: tuple[str, ...] = tuple(AuditSerializer().measures())  # of a CSV file
