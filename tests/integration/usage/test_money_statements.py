"""Statements of reports with money stay short where ranges cut days, and by hour (decision 42).

Not here: the statements of pages (`access/test_statements.py`).
"""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.scope import Scope
from accounting.core.interval import Interval
from accounting.kit.reads.selection import Amounts, Selection
from accounting.months.tasks.close import close_period
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.ranking import largest, moved_most
from accounting.usage.reads.usage import usage_rows
from tests.integration.prices.books import Books
from tests.integration.usage.test_booked_days import OCTOBER, use

LINES = 80
EVERY = Scope(team_ids=None)
CUT = Interval.of(
    datetime(2026, 10, 5, 9, tzinfo=UTC), datetime(2026, 10, 7, 15, tzinfo=UTC)
)
BEFORE = Interval.of(
    datetime(2026, 10, 3, 3, tzinfo=UTC), datetime(2026, 10, 5, 9, tzinfo=UTC)
)
EMPTY = Interval.of(
    datetime(2026, 10, 20, 9, tzinfo=UTC), datetime(2026, 10, 22, 15, tzinfo=UTC)
)
ASKED: dict[str, Callable[[Amounts], object]] = {
    "usage": lambda amounts: usage_rows(chosen(amounts), ("team",)),
    "family": lambda amounts: usage_rows(chosen(amounts), ("family",)),
    "by hour": lambda amounts: usage_rows(chosen(amounts), ("workload", "hour")),
    "ledger": lambda amounts: ledger_rows(chosen(amounts), ("day",)),
    "largest": lambda amounts: largest(chosen(amounts), ("workload",), "charge", 10, 2),
    "changes": lambda amounts: moved_most(chosen(amounts), BEFORE, 10, 2),
}


def chosen(amounts: Amounts) -> Selection:
    return Selection(EVERY, CUT, amounts=amounts)


@pytest.mark.parametrize(
    ("name", "amounts"),
    [
        (name, amounts)
        for name in ASKED
        for amounts in (Amounts.BOOKED, Amounts.CORRECTED)
        if (name, amounts) != ("changes", Amounts.CORRECTED)  # nobody asks
    ],
)
def test_statements_of_cut_days_are_short(
    books: Books, name: str, amounts: Amounts
) -> None:
    use(books)
    close_period(OCTOBER)
    with CaptureQueriesContext(connection) as asked:
        ASKED[name](amounts)
    lines = [len(query["sql"].strip().splitlines()) for query in asked]
    assert 10 < max(lines) <= LINES


def test_changes_of_closed_days_read_lines_only(books: Books) -> None:
    """Their money is booked: days and hours of usage have nothing to add, and are not read."""
    use(books)
    close_period(OCTOBER)
    with CaptureQueriesContext(connection) as asked:
        assert moved_most(chosen(Amounts.BOOKED), BEFORE, 10, 2)
    [sums] = [query["sql"] for query in asked if "charge_family_day" in query["sql"]]
    assert "charge_family_hours" in sums
    assert "line_hours" not in sums
    assert "usage_" not in sums


@pytest.mark.parametrize("by", [(), ("team",), ("family",), ("workload",)])
def test_days_of_a_range_that_is_closed_are_not_looked_for(
    books: Books, by: tuple[str, ...]
) -> None:
    """No row is compared with the days of closed months where all are closed."""
    use(books)
    close_period(OCTOBER)
    with CaptureQueriesContext(connection) as asked:
        assert usage_rows(chosen(Amounts.BOOKED), by)
    [sums] = [query["sql"] for query in asked if "usage_hour" in query["sql"]]
    assert "datemultirange" not in sums
    assert usage_rows(Selection(EVERY, EMPTY), by) == []
