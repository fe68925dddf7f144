"""The demo's bill of its closed month, through the import (money.md M41-M43)."""

from datetime import date
from decimal import Decimal

from django.utils import timezone

from accounting.access.scope import EVERYTHING
from accounting.bills.reads.bill_variance import variance_rows
from accounting.bills.reads.bills import bill_rows
from accounting.kit.audit import SYSTEM
from accounting.months.tasks.periods import PeriodTerms
from portal.demo.bootstrap import bill
from tests.integration.bills.billed import Fleet
from tests.integration.budgets.days import DayLedger


def test_one_node_is_dearer_one_lacks_a_day_and_two_rows_are_of_none(
    ledger: DayLedger,
) -> None:
    terms, now = PeriodTerms.of("2026-10"), timezone.now()
    assert not bill.import_month(terms, SYSTEM, now)
    fleet = Fleet(ledger)
    for number in (1, 2):
        fleet.node(number)
        for day in (1, 2):
            fleet.used(number, date(2026, 10, day))
    assert bill.import_month(terms, SYSTEM, now)
    (row,) = bill_rows(EVERYTHING, "EUR")
    assert (row.state, row.month, row.unmatched_rows) == ("final", "2026-10", 2)
    first, second = variance_rows([row.id], "EUR")
    assert first.billed == Decimal("451.20") * (bill.DEARER + bill.USUAL)
    assert (second.nodes_billed, second.nodes) == (1, 2)
