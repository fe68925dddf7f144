"""Charged time is the time of the facts, or the month does not close (invariants.md I5).

Not here: time that differs from the presence of GPUs (`test_checks.py`).
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from accounting.core.interval import Interval
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks.facts.commit import mark_hours
from accounting.metering.tasks.facts.reasons import FACTS
from accounting.months.actions import periods
from accounting.months.actions.periods import CloseRefused
from accounting.months.reads.invariants.verify import verdicts
from accounting.months.tasks.checks.of_close import run_checks
from tests.integration.months.people import person
from tests.integration.prices.books import TEN, WINDOW, WINDOW_MS, Books

SET_UP = """
billing: {currency: EUR, timezone: America/Havana}
teams: [{slug: vision, name: Vision}]
bindings: [{namespace: vision, team: vision}]
prices: [{model: NVIDIA-L40S, rate_per_gpu_hour: "12"}]
"""
LATER = datetime(2026, 11, 5, tzinfo=UTC)
DOUBLED = "UPDATE usage_day SET busy_ms = 2 * busy_ms"
LACKING = "DELETE FROM usage_day"


@pytest.fixture
def books(db: None, tmp_path: Path) -> Books:
    """An hour of October whose facts are kept, and no record of its windows."""
    del db
    found = Books(tmp_path)
    found.configure(SET_UP)
    starts = [TEN + number * WINDOW for number in range(12)]
    found.write_all(found.gpu(), starts, found.pod(), busy=WINDOW_MS)
    found.settle()
    return found


def unlike() -> list[tuple[str, str, str]]:
    """What `verify` finds of days and their facts."""
    found = verdicts(Interval(0, 4_000_000_000_000))
    [days] = [one for one in found if one.check.name == "days match their facts (I5)"]
    return list(days.violations)


def spoil(query: str) -> None:
    """Change stored rows behind the product's back."""
    with connection.cursor() as cursor:
        cursor.execute(query)


@pytest.mark.usefixtures("books")
def test_a_right_month_closes() -> None:
    assert unlike() == []
    assert periods.close("2026-10", person("anna"), now=LATER).is_closed


@pytest.mark.usefixtures("books")
@pytest.mark.parametrize(("fault", "charged"), [(DOUBLED, "7200000"), (LACKING, "0")])
def test_days_unlike_their_facts_are_found(fault: str, charged: str) -> None:
    spoil(fault)
    assert unlike() == [("north 2026-10-06", charged, "3600000")]
    with pytest.raises(CloseRefused, match=r"north 2026-10-06 \(facts\)"):
        periods.close("2026-10", person("anna"), now=LATER)
    assert [
        one.code
        for one in run_checks("2026-10", LATER, lines=None)
        if one.code == "conservation" and one.is_blocking
    ] == []  # pages do not read the facts


def test_a_day_is_not_compared_before_it_is_rolled_up(books: Books) -> None:
    spoil(DOUBLED)
    mark_hours(books.gpu("GPU-2").cluster_id, [TEN], FACTS)
    assert unlike() == []


def test_a_day_of_which_facts_have_expired_is_not_compared(books: Books) -> None:
    cluster = books.gpu("GPU-2").cluster_id
    spoil(DOUBLED)
    IngestWindow.objects.create(
        cluster_id=cluster, window_start=TEN - timedelta(hours=3), state="done", rows=1
    )
    assert unlike() == []
