"""The evidence of one number."""

from typing import Any

from rest_framework import serializers

from accounting.explain.reads.closed_days import Reason
from accounting.explain.reads.explain import (
    FIGURES,
    Explanation,
)
from accounting.explain.reads.prices import amounts_of
from accounting.explain.reads.rules import RULES
from accounting.kit.serializers.row import (
    GpuHoursField,
    IsoField,
    Members,
    MoneyField,
    RowSerializer,
    TextOrNullField,
)


class AmountSerializer(RowSerializer):
    """An amount with its currency."""

    amount = MoneyField()
    currency = TextOrNullField()


class UsedPriceSerializer(RowSerializer):
    """A price that was used, and what it comes to."""

    model = serializers.CharField()
    profile = TextOrNullField()
    lifecycle = serializers.CharField()
    tier = TextOrNullField()
    rate = MoneyField(allow_null=True, help_text="null without a price")
    rate_currency = TextOrNullField(source="currency")
    valid_from = IsoField(allow_null=True)
    valid_to = IsoField(allow_null=True)
    gpu_hours = GpuHoursField(
        source="milliseconds",
        allow_null=True,
        help_text="null without time of its own, and for booked days that the time cuts",
    )
    amount = AmountSerializer(allow_null=True, help_text="null without a price")
    kind = TextOrNullField(help_text="of booked lines; null for time x price")


class UsedStateSerializer(RowSerializer):
    """One of the seven states."""

    state = serializers.CharField(source="name")
    milliseconds = serializers.IntegerField()
    amount = AmountSerializer(allow_null=True)


class BookedMonthSerializer(RowSerializer):
    """What a close has booked of the number."""

    period = serializers.CharField()
    revision = serializers.IntegerField()
    method = serializers.CharField()
    hash = serializers.CharField()
    closed_at = IsoField()
    amount = AmountSerializer(allow_null=True)


class GapSerializer(RowSerializer):
    """What is between booked + corrections and time x price."""

    amount = AmountSerializer()
    reason = serializers.ChoiceField(choices=[one.value for one in Reason])
    is_stale = serializers.BooleanField(
        help_text="something changed since corrections were computed"
    )
    corrected_at = IsoField(
        allow_null=True, help_text="null: not computed since the latest close"
    )


class ClosedDaysSerializer(RowSerializer):
    """The closed days as known now."""

    booked = AmountSerializer(allow_null=True)
    corrections = AmountSerializer()
    entries = AmountSerializer(help_text="credits and adjustments of these days")
    measured = AmountSerializer(
        allow_null=True, help_text="time x price as known now; null if unknown"
    )
    gap = GapSerializer(
        allow_null=True, help_text="null if booked + corrections = measured"
    )


class BookedSerializer(RowSerializer):
    """The parts of the number by close."""

    months = BookedMonthSerializer(many=True)
    not_booked = AmountSerializer(
        source="opened", many=True, help_text="time x price of other time, by currency"
    )
    closed_days = ClosedDaysSerializer(source="closed")


class InputSerializer(serializers.Serializer[Any]):
    """A value that the formula reads."""

    name = serializers.CharField()
    value = serializers.CharField()


class MetricSerializer(serializers.Serializer[Any]):
    """A metric of the newest hour."""

    metric = serializers.CharField()
    lines = serializers.IntegerField(help_text="lines of the ledger that it decided")


class RuleSerializer(serializers.Serializer[Any]):
    """A rule that defines the number."""

    rule = serializers.CharField()
    text = serializers.CharField()


class ExplanationSerializer(RowSerializer):
    """A number with its formula, samples, prices and bookings."""

    what = serializers.ChoiceField(choices=FIGURES)
    title = serializers.CharField()
    formula = serializers.ListField(
        child=serializers.CharField(), help_text="in words, then with values"
    )
    amounts = AmountSerializer(
        many=True, help_text="of a number of money: its sum, by currency"
    )
    inputs = InputSerializer(many=True)
    prices = UsedPriceSerializer(
        many=True, help_text="largest first; they sum to the amounts"
    )
    states = UsedStateSerializer(many=True, help_text="of the ledger")
    booked = BookedSerializer(
        allow_null=True, help_text="null if nothing of it is booked"
    )
    samples_note = TextOrNullField(
        help_text="why used and expected samples differ; null if they do not"
    )
    metrics = MetricSerializer(many=True)
    promql = serializers.ListField(
        child=serializers.CharField(), help_text="queries of its samples"
    )
    rules = RuleSerializer(many=True)


def explanation_members(what: str, found: Explanation) -> Members:
    """The members of an explanation.

    Args:
        what: the figure that was explained.
        found: its evidence.
    """
    booked = found.booked
    return {
        "what": what,
        "title": found.title,
        "formula": list(found.formula),
        "amounts": list(AmountSerializer.each(amounts_of(found.prices))),
        "inputs": [{"name": name, "value": value} for name, value in found.inputs],
        "prices": list(UsedPriceSerializer.each(found.prices)),
        "states": list(UsedStateSerializer.each(found.states)),
        "booked": None if booked is None else BookedSerializer.one(booked),
        "samples_note": found.samples_note or None,
        "metrics": [
            {"metric": metric, "lines": count} for metric, count in found.metrics
        ],
        "promql": list(found.promql),
        "rules": [{"rule": name, "text": RULES[name]} for name in found.rules],
    }
