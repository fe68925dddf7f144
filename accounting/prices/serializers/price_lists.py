"""The body that changes a price list."""

from typing import Any

from rest_framework import serializers


class PriceListChangeSerializer(serializers.Serializer[Any]):
    """A new name or source of a list; what is missing does not change."""

    name = serializers.CharField(max_length=100, required=False)
    source = serializers.CharField(  # type: ignore[assignment]  # also a field's own name
        max_length=500, required=False, allow_blank=True
    )
    reason = serializers.CharField(min_length=10, max_length=200)
