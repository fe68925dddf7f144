"""Teams, the rules that assign usage to them, and clusters: rows and request bodies."""

from typing import Any

from rest_framework import serializers

from accounting.access.models.teams import BindingKind, Team
from accounting.access.reserved_names import (
    name_fault,
    other_name,
    other_slug,
    slug_fault,
)
from accounting.core.written_text import glob_fault
from accounting.kit.reads.selection import SelectionError, parse_instant


class TeamBodySerializer(serializers.Serializer[Any]):
    """A team to create or change; missing members do not change."""

    slug = serializers.SlugField(max_length=63)
    name = serializers.CharField(max_length=200)
    department = serializers.CharField(max_length=200, required=False, allow_blank=True)
    cost_centre = serializers.CharField(
        max_length=100, required=False, allow_blank=True
    )

    def validate_slug(self, slug: str) -> str:
        """No slug of another party of the ledger."""
        if found := slug_fault(slug):
            raise serializers.ValidationError(
                f"{slug!r} {found}; use another slug, like {other_slug(slug)}."
            )
        return slug

    def validate_name(self, name: str) -> str:
        """No name of another party of the ledger."""
        if found := name_fault(name):
            raise serializers.ValidationError(
                f"{name!r} {found}; use another name, like {other_name(name)}."
            )
        return name


class InstantField(serializers.CharField):
    """ISO 8601 time with offset, or a billing day: its midnight."""

    def to_internal_value(self, data: Any) -> Any:
        """An aware instant; a time zone is never guessed."""
        try:
            return parse_instant(super().to_internal_value(data))
        except SelectionError as error:
            raise serializers.ValidationError(str(error)) from error


class BindingBodySerializer(serializers.Serializer[Any]):
    """A rule to add."""

    position = serializers.IntegerField(
        required=False, min_value=0, max_value=2_000_000_000
    )
    kind = serializers.ChoiceField(choices=BindingKind.choices)
    label = serializers.CharField(  # type: ignore[assignment]  # also a field's own name
        max_length=317, required=False, allow_blank=True
    )
    glob = serializers.CharField(max_length=253)
    team = serializers.SlugRelatedField("slug", queryset=Team.objects.all())
    valid_from = InstantField()
    reason = serializers.CharField(max_length=200)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The label kinds need a label, a namespace rule has none; some name can match."""
        needs_label = attrs["kind"] != BindingKind.NAMESPACE
        if needs_label != bool(attrs.get("label")):
            raise serializers.ValidationError(
                {
                    "label": f"Kind {attrs['kind']} requires a label."
                    if needs_label
                    else "Kind namespace does not take a label."
                }
            )
        if fault := glob_fault(attrs["glob"], is_namespace=not needs_label):
            raise serializers.ValidationError({"glob": f"{attrs['glob']!r} {fault}."})
        return attrs
