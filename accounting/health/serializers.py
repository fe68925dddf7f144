"""Data issues: rows."""

from rest_framework import serializers

from accounting.kit.serializers.row import IsoTextField, MoneyField, RowSerializer


class IssueSerializer(RowSerializer):
    """A fault in the data, with the time at stake."""

    cluster = serializers.CharField()
    code = serializers.CharField()
    subject = serializers.CharField()
    severity = serializers.CharField()
    title = serializers.CharField()
    message = serializers.CharField()
    advice = serializers.CharField(allow_blank=True)
    first_seen = IsoTextField()
    last_seen = IsoTextField()
    at_stake_ms = serializers.IntegerField()
    at_stake_charge = MoneyField(allow_null=True)
    count = serializers.IntegerField()
    resolved_at = IsoTextField(allow_null=True)
