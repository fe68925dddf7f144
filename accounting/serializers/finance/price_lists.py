"""Price lists: rows, and the bodies that create and change one."""

from typing import Any

from rest_framework import serializers


class PriceListBodySerializer(serializers.Serializer[Any]):
    """A list to create."""

    kind = serializers.CharField(max_length=4, help_text="`rate` or `cost`")
    name = serializers.CharField(max_length=100)
    currency = serializers.CharField(max_length=3)
    source = serializers.CharField(  # type: ignore[assignment]  # also a field's own name
        max_length=500, required=False, allow_blank=True
    )
    reason = serializers.CharField(min_length=10, max_length=200)


class PriceListChangeSerializer(serializers.Serializer[Any]):
    """A new name or source of a list; what is missing does not change."""

    name = serializers.CharField(max_length=100, required=False)
    source = serializers.CharField(  # type: ignore[assignment]  # also a field's own name
        max_length=500, required=False, allow_blank=True
    )
    reason = serializers.CharField(min_length=10, max_length=200)
