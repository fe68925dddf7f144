"""Bills of providers: rows of lists, and what an import found."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from rest_framework import serializers

from accounting.bills.actions.import_bill import ReadBill
from accounting.kit.rows import TextOrNull, column, derived, listed
from accounting.kit.serializers.row import (
    GpuHoursField,
    MoneyField,
    RowSerializer,
    TextOrNullField,
)

_CONVERTED = "in the billing currency; null without a conversion"


@listed("BillWord")
class BillWord:
    """Rows of a bill with one word: what they are of, or why they are of nothing."""

    month = derived(str, "bill.month")
    provider = derived(TextOrNull, "bill.provider")
    account = derived(str, "bill.account")
    revision = derived(int, "bill.revision")
    word: str = column()
    rows: int = column()
    cost: Decimal | None = column("null for rows that are left out")
    currency = derived(str, "bill.currency")
    bill: ReadBill


def word_rows(bills: Iterable[ReadBill]) -> Iterator[BillWord]:
    """The rows of each bill by word, in the order of their number."""
    for bill in bills:
        for word, rows in bill.rows.most_common():
            yield BillWord(bill=bill, word=word, rows=rows, cost=bill.cost.get(word))


class BillFinalSerializer(serializers.Serializer[Any]):
    """Why a bill is final."""

    reason = serializers.CharField(min_length=10, max_length=200)


class BillVarianceSerializer(RowSerializer):
    """Billed against our cost, for a cluster and billing day; in the billing currency."""

    day = serializers.DateField(source="billing_on")
    cluster = serializers.CharField()
    state = serializers.CharField(help_text="`reconciled` or `final`")
    billed = MoneyField(allow_null=True, help_text=_CONVERTED)
    estimated = MoneyField(
        allow_null=True,
        help_text="our cost of the billed nodes, or of the cluster where its account is billed; "
        "null without a cost price",
    )
    variance = MoneyField(allow_null=True, help_text="billed - estimated")
    variance_percent = serializers.CharField(
        source="percent",
        allow_null=True,
        help_text="of our cost, two places; null where that is 0",
    )
    nodes_billed = serializers.IntegerField(help_text="0 where an account is billed")
    nodes = serializers.IntegerField(
        help_text="with GPU time of the same models and lifecycles"
    )
    without_cost_gpu_hours = GpuHoursField(source="without_cost_ms")


class RowFaultSerializer(RowSerializer):
    """A row of a file that cannot be used."""

    line = serializers.IntegerField()
    word = serializers.CharField()
    message = serializers.CharField()


class ImportedBillSerializer(RowSerializer):
    """One bill of a file; `id` is null in a dry run."""

    id = serializers.IntegerField(source="number", allow_null=True)
    month = serializers.CharField()
    provider = TextOrNullField()
    account = serializers.CharField()
    revision = serializers.IntegerField()
    is_known = serializers.BooleanField(
        help_text="this file is already in effect: nothing was imported"
    )
    bill_currency = serializers.CharField(source="currency")
    cost = MoneyField(source="total", help_text="in `bill_currency`")
    matched = MoneyField(help_text="of the cost: what is of nodes and clusters")
    billed = MoneyField(allow_null=True, help_text=_CONVERTED)
    unconverted_rows = serializers.IntegerField(
        help_text="without a conversion into the billing currency: no amount in it is known "
        "until there is one"
    )
    rows = serializers.DictField(
        child=serializers.IntegerField(), help_text="rows by word"
    )
    rows_of_other_periods = serializers.IntegerField(source="elsewhere")


class BillImportSerializer(serializers.Serializer[Any]):
    """What an import found; with rows that cannot be used, nothing is imported."""

    is_saved = serializers.BooleanField()
    rows = serializers.IntegerField()
    bills = ImportedBillSerializer(many=True)
    unusable_rows = serializers.DictField(
        child=serializers.IntegerField(), source="fault_words", help_text="by word"
    )
    faults = RowFaultSerializer(many=True, help_text="the first ones")
