"""The page of methods side by side (money.md M24).

Not covered: the totals (tests/integration/months/test_method_comparison.py).
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine

from accounting.core.billing_calendar import DayRange
from accounting.kit.tags import units
from accounting.months.models.period import PeriodRevision
from accounting.months.rules.methods import METHODS
from accounting.months.tasks.method_comparison import compare
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

ADDRESS = "/months/2026-11/methods"


@pytest.fixture(autouse=True)
def right_after_the_story(story: Story, db: None) -> Iterator[None]:
    """The process clock does not move; the story's newest window has just ended."""
    del story, db
    with time_machine.travel(NOW, tick=False):
        yield


def test_methods_are_compared_when_it_is_asked_for(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    before = html_of(fin.get(ADDRESS))
    assert f'href="{ADDRESS}?compare=yes"' in before
    assert "150,000 rows" in before
    for method in METHODS:
        assert method.id in before
    shown = fin.get(f"{ADDRESS}?compare=yes")
    page = html_of(shown)
    first = NOW.date().replace(day=1)
    for row in compare(DayRange(first, NOW.date())):
        assert units.money(row.totals["busy-v1+even"], "EUR") in page
    assert len({str(total) for total, _ in shown.context["sums"]}) == 1
    assert not PeriodRevision.objects.exists()


def test_on_the_first_day_of_a_month_there_is_nothing_to_compare(
    sign_in: SignIn,
) -> None:
    with time_machine.travel(datetime(2026, 12, 1, 9, tzinfo=UTC), tick=False):
        page = html_of(sign_in("fin").get("/months/2026-12/methods?compare=yes"))
    assert "No day of this month is over" in page


def test_methods_of_a_month_are_for_finance(sign_in: SignIn) -> None:
    assert sign_in("luis").get(ADDRESS).status_code == 403
    assert sign_in("fin").get("/months/2019-01/methods").status_code == 404
