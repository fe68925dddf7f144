"""The evidence of one number."""

from typing import Any

from rest_framework import serializers

from accounting.explain.reads.booked_amount import BookedAmount
from accounting.explain.reads.explain import FIGURES, Explanation, StateUsed
from accounting.explain.reads.prices import AmountRow, PriceUsed, amounts_of
from accounting.explain.reads.rules import RULES
from accounting.kit.serializers.declared import serializer_of
from accounting.kit.serializers.row import Members, RowSerializer, TextOrNullField


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
    amounts = serializer_of(AmountRow)(
        many=True, help_text="of a number of money: its sum, by currency"
    )
    inputs = InputSerializer(many=True)
    prices = serializer_of(PriceUsed)(
        many=True, help_text="largest first; they sum to the amounts"
    )
    states = serializer_of(StateUsed)(many=True, help_text="of the ledger")
    booked = serializer_of(BookedAmount)(
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
        "amounts": list(serializer_of(AmountRow).each(amounts_of(found.prices))),
        "inputs": [{"name": name, "value": value} for name, value in found.inputs],
        "prices": list(serializer_of(PriceUsed).each(found.prices)),
        "states": list(serializer_of(StateUsed).each(found.states)),
        "booked": None if booked is None else serializer_of(BookedAmount).one(booked),
        "samples_note": found.samples_note or None,
        "metrics": [
            {"metric": metric, "lines": count} for metric, count in found.metrics
        ],
        "promql": list(found.promql),
        "rules": [{"rule": name, "text": RULES[name]} for name in found.rules],
    }
