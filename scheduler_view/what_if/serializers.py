"""What-ifs: runs in a list, and one run with its request and its answer."""

from typing import Any

from rest_framework import serializers

from accounting.kit.serializers.row import NumberField, RowSerializer, SecondsField
from scheduler_view.what_if.rules.calibration import Trust


class _GivenRequest(serializers.JSONField):
    """A mapping whose members are those of the request."""


class WhatIfRowSerializer(RowSerializer):
    """One what-if in a list."""

    id = serializers.IntegerField()
    cluster = serializers.CharField()
    weeks = serializers.IntegerField(help_text="recorded weeks that are replayed")
    scenarios = serializers.CharField(
        source="name", help_text="names of its scenarios, separated by commas"
    )
    state = serializers.CharField(help_text="queued, running, done, failed or canceled")
    requested_by = serializers.CharField(
        allow_blank=True, help_text="empty for a command"
    )
    requested_at = SecondsField()
    step = serializers.CharField(allow_blank=True, help_text="what is replayed now")
    progress = NumberField(
        source="share",
        allow_null=True,
        help_text="0 to 1, of the events of this step that are known so far; null if it does "
        "not run",
    )
    trust = serializers.ChoiceField(
        choices=[one.value for one in Trust],
        allow_blank=True,
        help_text="what the replay of what happened allows; empty before it is done",
    )
    verdict = serializers.CharField(allow_blank=True, help_text="the same, as text")
    error = serializers.CharField(
        allow_blank=True, help_text="why it failed, or who canceled it"
    )


class _AnswerSerializer(serializers.Serializer[Any]):
    """One measure of a week in one scenario; a range from the lowest to the highest week."""

    scenario = serializers.CharField()
    measure = serializers.CharField()
    low = serializers.CharField(
        allow_blank=True, help_text="empty for a measure that has only a change"
    )
    high = serializers.CharField(allow_blank=True)
    change_low = serializers.CharField(
        help_text="less what happened, with a sign, including the error of the replay"
    )
    change_high = serializers.CharField()
    clear = serializers.ChoiceField(
        choices=("yes", "no", "cannot be computed"),
        help_text="`no`: the range of the change has both signs",
    )


class WhatIfSerializer(WhatIfRowSerializer):
    """One what-if with its request and its answer."""

    request = _GivenRequest(help_text="as it was given")
    calibrations = serializers.ListField(
        child=serializers.CharField(),
        help_text="how far the replay of what happened was off, by policy",
    )
    holds_left_out = serializers.IntegerField(
        source="left_out", help_text="holds that cannot be replayed"
    )
    rows = _AnswerSerializer(many=True, help_text="the answer; empty without one")
