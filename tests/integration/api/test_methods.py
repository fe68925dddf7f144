"""Methods over REST, and what each team would pay by each of them (money.md M22 to M24).

Not covered: the totals (tests/integration/months/test_method_comparison.py), the page
(tests/integration/months/test_method_pages.py).
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine

from accounting.core.billing_calendar import DayRange
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.method_text import method_sentences
from accounting.months.rules.methods import METHODS
from accounting.months.tasks.method_comparison import compare
from tests.integration.api.conftest import Ask, problem
from tests.integration.conftest import NOW


@pytest.fixture(autouse=True)
def right_after_the_story(ask: Ask) -> Iterator[None]:
    """The process clock does not move; the story's newest window has just ended."""
    del ask
    with time_machine.travel(NOW, tick=False):
        yield


SIDES = "/api/v1/periods/2026-11/methods"


def test_methods_are_listed_with_what_they_do(ask: Ask) -> None:
    rows = ask("fin").get("/api/v1/methods").json()["rows"]
    assert [row["method"] for row in rows] == [one.id for one in METHODS]
    [even] = [row for row in rows if row["method"] == "busy-v1+even"]
    assert (even["base"], even["version"], even["overhead"]) == ("busy-v1", 1, "even")
    assert len(even["sentences"]) == 5
    assert even["sentences"] == list(method_sentences("busy-v1+even"))


def test_methods_are_compared_as_on_the_page(ask: Ask) -> None:
    first = NOW.date().replace(day=1)
    expected = compare(DayRange(first, NOW.date()))
    found = ask("fin").get(SIDES).json()
    assert (found["since"], found["until"]) == ("2026-11-01", NOW.date().isoformat())
    assert (found["method"], found["currency"]) == ("alloc-v1", "EUR")
    assert [one["team"] for one in found["teams"]] == [one.team for one in expected]
    for shown, row in zip(found["teams"], expected, strict=True):
        assert Decimal(shown["in_effect"]) == row.in_effect
        assert {one["method"]: Decimal(one["total"]) for one in shown["totals"]} == (
            row.totals
        )
        for one in shown["totals"]:
            assert Decimal(one["difference"]) == row.difference(one["method"])
    sums = [  # of statements that are rounded to six places each
        sum(Decimal(team["totals"][n]["total"]) for team in found["teams"])
        for n in range(len(METHODS))
    ]
    assert len({round(one, 2) for one in sums}) == 1
    assert not PeriodRevision.objects.exists()


def test_on_the_first_day_nothing_is_compared(ask: Ask) -> None:
    with time_machine.travel(datetime(2026, 12, 1, 9, tzinfo=UTC), tick=False):
        found = ask("fin").get("/api/v1/periods/2026-12/methods").json()
    assert (found["since"], found["until"], found["teams"]) == (None, None, [])


def test_methods_are_for_finance(ask: Ask) -> None:
    assert problem(ask("luis").get(SIDES))["status"] == 404
    assert ask("ana").get(SIDES).status_code == 200
    for month, code in (("2019-01", 404), ("2026-13", 400)):
        answer = ask("fin").get(f"/api/v1/periods/{month}/methods")
        assert problem(answer)["status"] == code
