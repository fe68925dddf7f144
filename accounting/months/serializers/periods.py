"""Months: rows of a list, the document of one, and its checks (money.md M26-M30)."""

from typing import Any

from rest_framework import serializers

from accounting.kit.serializers.declared import serializer_of
from accounting.kit.serializers.row import (
    PayableField,
    RowSerializer,
    SecondsField,
    TextOrNullField,
)
from accounting.months.reads.periods import PeriodRow
from accounting.months.rules.close_checks import RULES


class CauseSerializer(serializers.Serializer[Any]):
    """One thing that a check found."""

    subject = serializers.CharField()
    value = serializers.CharField()


class CheckOverrideSerializer(serializers.Serializer[Any]):
    """The override that holds, or that waits for a second person."""

    id = serializers.IntegerField()
    reason = serializers.CharField()
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    confirmed_by = serializers.CharField(allow_blank=True)
    confirmed_at = serializers.DateTimeField(allow_null=True)


class CheckSerializer(serializers.Serializer[Any]):
    """A check of a close: `CloseCheck.fields`."""

    code = serializers.CharField()
    level = serializers.CharField(help_text="block, warning or passed")
    is_overridable = serializers.BooleanField()
    value = serializers.CharField()
    threshold = serializers.CharField()
    unit = serializers.CharField(help_text="hours, count, ms or share")
    message = serializers.CharField()
    link = serializers.CharField(
        help_text="the page that corrects it; empty if only time does"
    )
    causes = CauseSerializer(many=True)
    override = CheckOverrideSerializer(allow_null=True)


class EarlierRevisionSerializer(RowSerializer):
    """A close that was opened again; its lines stay readable."""

    revision = serializers.IntegerField()
    payable = PayableField(source="amount")
    hash = serializers.CharField()
    closed_at = SecondsField()
    reopened_at = SecondsField()
    reopened_by = serializers.CharField(source="reopened_by.username")
    reason = serializers.CharField(source="reopen_reason")


class PeriodChecksSerializer(serializers.Serializer[Any]):
    """All checks of a month; of a closed one as they were at the close."""

    period = serializers.CharField()
    blocks = serializers.BooleanField(help_text="whether one of them stops the close")
    checks = CheckSerializer(many=True)


class PeriodDocumentSerializer(serializer_of(PeriodRow)):  # type: ignore[misc]  # made at run time
    """A month with its earlier revisions and its checks."""

    timezone = serializers.CharField(allow_null=True)
    previous_hash = TextOrNullField(help_text="of the close of the month before")
    revisions = EarlierRevisionSerializer(many=True)
    blocks = serializers.BooleanField(help_text="whether a check stops the close")
    checks = CheckSerializer(many=True)


class CloseFaultSerializer(serializers.Serializer[Any]):
    """A check that blocks a close, as an error names it."""

    code = serializers.CharField()
    detail = serializers.CharField(source="message")
    value = serializers.CharField()
    threshold = serializers.CharField()
    unit = serializers.CharField(help_text="hours, count, ms or share")
    link = serializers.CharField(
        help_text="the page that corrects it; empty if only time does"
    )


class CloseProgressSerializer(RowSerializer):
    """How far the close of a month is: the latest request of its revision, and the close."""

    period = serializers.CharField()
    revision = serializers.IntegerField(help_text="of the close")
    state = serializers.CharField(
        help_text="none, queued, running, closed, refused, failed or expired"
    )
    requested_by = TextOrNullField(
        help_text="null if nobody requested it, or a command closed the month"
    )
    requested_at = SecondsField(allow_null=True)
    started_at = SecondsField(allow_null=True)
    finished_at = SecondsField(allow_null=True)
    attempt = serializers.IntegerField(help_text="how often a worker has started")
    error = TextOrNullField(help_text="why it is not closed")
    blocking = CloseFaultSerializer(
        many=True, help_text="checks that blocked a refused close"
    )
    hash = TextOrNullField(help_text="of the close")
    closed_at = SecondsField(allow_null=True)
    closed_by = TextOrNullField()


class TwoPeopleSerializer(RowSerializer):
    """A request that another person confirms within 24 hours."""

    id = serializers.IntegerField()
    period = serializers.CharField()
    revision = serializers.IntegerField()
    reason = serializers.CharField()
    requested_by = serializers.CharField(source="requested_by.username")
    requested_at = SecondsField()
    confirmed_by = TextOrNullField(source="confirmed_by.username")
    confirmed_at = SecondsField(allow_null=True)


class ReopenRequestSerializer(TwoPeopleSerializer):
    """A request to open a closed month again."""


class OverrideSerializer(TwoPeopleSerializer):
    """A request to close a month although a check blocks it."""

    check = serializers.CharField(source="code")
    seen = serializers.DictField(
        child=serializers.CharField(),
        help_text="the value of each cause, for which it holds",
    )


class ReopenBodySerializer(serializers.Serializer[Any]):
    """Why, in 10 to 200 characters."""

    reason = serializers.CharField(min_length=10, max_length=200)


class OverrideBodySerializer(ReopenBodySerializer):
    """A check to override."""

    check = serializers.ChoiceField(choices=[(code, code) for code in RULES])
