"""Credits and adjustments: rows, and the body that adds one (money.md M25)."""

from datetime import date
from typing import Any

from rest_framework import serializers

from accounting.access.models.teams import Team
from accounting.core.charge_lines import PLATFORM
from accounting.kit import texts
from accounting.kit.serializers.row import MoneyField, RowSerializer, SecondsField

FIRST_YEAR, LAST_YEAR = 1970, 8999


class TwinField(serializers.CharField):
    """The opposite amount, on the platform's statement."""

    def to_representation(self, value: Any) -> str:
        """Six places."""
        return texts.amount(-value)


class PlatformField(serializers.CharField):
    """The team of the twin: always the platform."""

    def to_representation(self, value: Any) -> str:
        """`platform`."""
        del value
        return PLATFORM


class EntrySerializer(RowSerializer):
    """A credit or adjustment, and its twin on the platform's statement."""

    number = serializers.CharField(help_text="`reference` of its lines")
    kind = serializers.CharField(help_text="credit or adjustment")
    team = serializers.CharField(source="team.slug")
    day = serializers.DateField(source="billing_on")
    amount = MoneyField()
    currency = serializers.CharField()
    twin_team = PlatformField(source="number")
    twin_amount = TwinField(source="amount")
    reason = serializers.CharField()
    author = serializers.CharField(source="author.username")
    created_at = SecondsField()
    booked = serializers.BooleanField(
        source="is_booked",
        help_text="false until its statement has it: within ten minutes, or when its month "
        "has begun",
    )


class EntryBodySerializer(serializers.Serializer[Any]):
    """An amount to add to a team's statement."""

    kind = serializers.RegexField("^(credit|adjustment)$")
    team = serializers.SlugRelatedField("slug", queryset=Team.objects.all())
    day = serializers.DateField(help_text="a billing day of a month that is not closed")
    amount = serializers.DecimalField(
        20, 4, help_text="below 0 for a credit; with the places of the currency"
    )
    reason = serializers.CharField(min_length=10, max_length=200)

    def validate_day(self, value: date) -> date:
        """A day of a billing month."""
        if not FIRST_YEAR <= value.year <= LAST_YEAR:
            raise serializers.ValidationError(
                f"The year is not from {FIRST_YEAR} to {LAST_YEAR}."
            )
        return value
