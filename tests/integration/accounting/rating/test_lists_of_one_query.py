"""Several lists of one report: the same rows as of each list alone, closed days among them.

Here: usage and the ledger. What a report has is in `test_booked_days.py`.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access import EVERYTHING
from accounting.booking.close import close_period
from accounting.domain.core.interval import Interval
from accounting.queries.selection import Selection
from accounting.queries.usage.ledger import (
    ledger_rows,
    ledger_total,
    ledger_with_total,
)
from accounting.queries.usage.usage import usage_lists, usage_rows
from tests.integration.accounting.rating.books import Books
from tests.integration.accounting.rating.test_booked_days import (
    NIGHT,
    OCTOBER,
    late_fact,
    use,
)

pytestmark = pytest.mark.django_db
PERIODS = {
    "all stored time": None,
    "within a closed day": Interval.of(
        NIGHT - timedelta(hours=1), NIGHT + timedelta(hours=2)
    ),
    "closed and open days": Interval.of(NIGHT, datetime(2026, 11, 5, tzinfo=UTC)),
}
LISTS = [("team",), ("team", "day")], [(), ("day",), ("day", "workload", "model")]


@pytest.fixture
def closed(books: Books) -> None:
    """October is closed; a fact and a price came later."""
    use(books)
    close_period(OCTOBER)
    late_fact(books)


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("name", PERIODS)
def test_several_lists_are_those_of_each_alone(name: str) -> None:
    chosen = Selection(EVERYTHING, PERIODS[name])
    for lists in LISTS:
        alone = [usage_rows(chosen, by) for by in lists]
        assert all(alone)
        with CaptureQueriesContext(connection) as asked:
            assert list(usage_lists(chosen, *lists)) == alone
        assert sum("GROUPING SETS" in query["sql"] for query in asked) == 1
    total, days = ledger_with_total(chosen, ("day",))
    assert total == ledger_total(chosen)
    assert days == ledger_rows(chosen, ("day",))


@pytest.mark.usefixtures("closed")
def test_lists_by_hour_have_the_money_of_hours() -> None:
    chosen = Selection(EVERYTHING)
    by = [("team",), ("team", "hour")]
    assert list(usage_lists(chosen, *by)) == [usage_rows(chosen, one) for one in by]
    found = ledger_with_total(chosen, ("hour",))
    assert found == (ledger_total(chosen), ledger_rows(chosen, ("hour",)))
