"""Statements: rows of a list, and the document of one team (money.md M33)."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from accounting.kit import texts
from accounting.kit.serializers.declared import serializer_of
from accounting.kit.serializers.row import Members, TextOrNullField
from accounting.months.reads.statement_document import CAUSES, Item, StatementDocument
from accounting.months.reads.statement_list import ListedStatement

LABELS = {
    "usage": ("model", "tier"),
    "platform": ("model", "state"),
    "spread": ("state",),
    "differences": ("model", "tier"),
    "entries": ("day", "number", "kind"),
    "corrections": ("corrects", "cause"),
    "rounding": (),
}
"""What the labels of an item are, by the part of the statement."""
_NAMES = ("model", "tier", "state", "day", "number", "kind", "corrects", "cause")
_CAUSE = {words: cause for cause, words in CAUSES.items()}


class StatementItemSerializer(serializers.Serializer[Any]):
    """One row of a statement; members that its part does not have are null."""

    part = serializers.ChoiceField(choices=list(LABELS))
    model = serializers.CharField(allow_null=True)
    tier = serializers.CharField(allow_null=True)
    state = serializers.CharField(allow_null=True)
    day = serializers.DateField(allow_null=True)
    number = serializers.CharField(allow_null=True, help_text="of an entry")
    kind = serializers.CharField(allow_null=True, help_text="of an entry")
    corrects = serializers.CharField(allow_null=True, help_text="such as 2026-10-r1")
    cause = serializers.CharField(
        allow_null=True, help_text="facts, mapping, price or derived"
    )
    reason = serializers.CharField(allow_null=True, help_text="of an entry")
    other_team = serializers.CharField(
        allow_null=True, help_text="whose statement has the opposite of an entry"
    )
    gpu_hours = serializers.CharField()
    charge = serializers.CharField(help_text="six places")
    amount = serializers.CharField(
        help_text="in the places of the currency; all of them sum to the payable"
    )


class StatementPartSerializer(serializers.Serializer[Any]):
    """A workload or a day outside of the sum."""

    day = serializers.DateField(required=False)
    namespace = serializers.CharField(required=False)
    workload_kind = serializers.CharField(required=False)
    workload = serializers.CharField(required=False)
    gpu_hours = serializers.CharField()
    charge = serializers.CharField()


class StatementRestSerializer(serializers.Serializer[Any]):
    """The workloads that are not listed."""

    workloads = serializers.IntegerField()
    gpu_hours = serializers.CharField()
    charge = serializers.CharField()


class StatementDocumentSerializer(serializer_of(ListedStatement)):  # type: ignore[misc]  # made at run time
    """A statement with its rows, its method and its corrections."""

    timezone = serializers.CharField(source="booking.timezone")
    hash = TextOrNullField(source="booking.hash", help_text="of the close")
    method_text = serializers.ListField(child=serializers.CharField())
    items = StatementItemSerializer(many=True)
    workloads = StatementPartSerializer(many=True)
    other_workloads = StatementRestSerializer(allow_null=True)
    days = StatementPartSerializer(many=True)
    paid_and_not_used = StatementPartSerializer()
    overrides = serializers.ListField(
        child=serializers.JSONField(), help_text="checks that two people overrode"
    )
    waiting_entries = serializers.ListField(
        child=serializers.CharField(),
        help_text="numbers of entries that are added and not in these amounts yet",
    )

    def measures(self) -> dict[str, Any]:
        """The members of a row of the list; `statement_document` adds the others."""
        others = {"method_text", "items", "workloads", "other_workloads", "days"}
        others |= {"paid_and_not_used", "overrides", "waiting_entries"}
        return {n: field for n, field in self.fields.items() if n not in others}


def statement_document(
    row: Any,
    document: StatementDocument,
    sentences: Iterable[str],
    overrides: list[dict[str, Any]],
    waiting: Iterable[str],
) -> Members:
    """The members of one statement."""
    return {
        **StatementDocumentSerializer.one(row),
        "method_text": list(sentences),
        "items": [
            _item(part, item) for part in LABELS for item in getattr(document, part)
        ],
        "workloads": [
            _named(item, ("namespace", "workload_kind", "workload"))
            for item in document.workloads
        ],
        "other_workloads": document.other_workloads
        and {
            "workloads": int(document.other_workloads.label[0]),
            **_amounts(document.other_workloads),
        },
        "days": [_named(item, ("day",)) for item in document.days],
        "paid_and_not_used": _amounts(document.idle),
        "overrides": overrides,
        "waiting_entries": list(waiting),
    }


def _item(part: str, item: Item) -> Members:
    labels = dict(zip(LABELS[part], item.label, strict=False))
    if "cause" in labels:
        labels["cause"] = _CAUSE[labels["cause"]]
    return {
        "part": part,
        **{name: labels.get(name) for name in _NAMES},
        "reason": item.entry.reason if item.entry else None,
        "other_team": item.entry.other if item.entry else None,
        "gpu_hours": texts.gpu_hours(item.ms),
        "charge": texts.amount(item.raw_amount),
        "amount": texts.amount(item.amount),
    }


def _named(item: Item, names: tuple[str, ...]) -> Members:
    return {**dict(zip(names, item.label, strict=True)), **_amounts(item)}


def _amounts(item: Item) -> Members:
    return {
        "gpu_hours": texts.gpu_hours(item.ms),
        "charge": texts.amount(item.amount),
    }
