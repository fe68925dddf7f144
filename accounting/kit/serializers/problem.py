"""Problem documents (RFC 9457), as the schema describes them; `problems` writes them."""

from typing import Any

from rest_framework import serializers


class FaultSerializer(serializers.Serializer[Any]):
    """One fault: a query parameter or a member of the body that is not valid, or a check."""

    parameter = serializers.CharField(required=False)
    pointer = serializers.CharField(
        required=False, help_text="JSON pointer into the body, as `#/valid_from`"
    )
    detail = serializers.CharField()
    allowed = serializers.ListField(child=serializers.CharField(), required=False)
    code = serializers.CharField(
        required=False, help_text="of a check that blocks the close of a month"
    )
    value = serializers.CharField(required=False, help_text="of the check")
    threshold = serializers.CharField(required=False, help_text="of the check")
    unit = serializers.CharField(required=False, help_text="of the check")
    link = serializers.CharField(
        required=False, help_text="the page that corrects it; empty if only time does"
    )


class ProblemSerializer(serializers.Serializer[Any]):
    """A problem document (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    instance = serializers.CharField()
    errors = FaultSerializer(  # type: ignore[assignment]  # also a serializer's own name
        many=True, required=False
    )
