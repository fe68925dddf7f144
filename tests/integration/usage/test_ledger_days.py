"""The ledger by day and its total are read together, and are those of the two reports.

Not here: the pages that show them (`test_numbers.py`), and two currencies on pages
(`prices/test_two_currencies.py`).
"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import EVERYTHING, Scope
from accounting.core.interval import Interval
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.selection import Amounts, Selection
from accounting.months.tasks.close import close_period
from accounting.usage.reads.ledger import ledger_days, ledger_rows, ledger_total
from tests.integration.prices.books import Books
from tests.integration.prices.test_two_currencies import client as both  # noqa: F401
from tests.integration.usage.test_booked_days import OCTOBER, use

AUTUMN = Selection(
    EVERYTHING,
    Interval.of(
        datetime(2026, 9, 30, 22, tzinfo=UTC), datetime(2026, 11, 30, 23, tzinfo=UTC)
    ),
)


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("amounts", list(Amounts))
def test_days_and_their_total_are_those_of_two_reports(
    books: Books, amounts: Amounts, is_closed: bool
) -> None:
    use(books)
    if is_closed:
        close_period(OCTOBER)
    chosen = replace(AUTUMN, amounts=amounts)
    with CaptureQueriesContext(connection) as asked:
        found = ledger_days(chosen)
    assert len([q for q in asked if "usage_family_day" in q["sql"]]) == 1
    assert found == (ledger_rows(chosen, ("day",)), ledger_total(chosen))
    assert len(found[0]) > 1
    assert found[1].wall_charge is not None


@pytest.mark.usefixtures("both")
def test_days_in_two_currencies_have_no_total() -> None:
    rows, total = ledger_days(AUTUMN)
    assert total == ledger_total(AUTUMN)
    assert total.currencies == ("EUR", "USD")
    assert not any(row.currencies for row in rows)


def test_nothing_comes_to_nothing(books: Books) -> None:
    rows, total = ledger_days(AUTUMN)
    assert rows == []
    assert total == ledger_total(AUTUMN)
    with pytest.raises(HiddenError):
        ledger_days(Selection(Scope(frozenset({1})), AUTUMN.period))
