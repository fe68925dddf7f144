"""The sentence of Overview and of a team has the figures of the same page, to the last digit."""

import html
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user_model

from accounting.budgets.actions.budgets import SetBudget, create_budget
from accounting.kit.tags import units
from scheduler_view.idle.tasks import find_idle
from tests.browser.waits.stored_waits import store_waits
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import TEAMS, Story

pytestmark = pytest.mark.django_db
WEEK = "from=2026-11-05&to=2026-11-12"  # it and the one before are complete
LEDE = re.compile(r'<p class="lede">(.*?)</p>', re.DOTALL)


@pytest.fixture(autouse=True)
def at_the_end(story: Story) -> Iterator[None]:
    del story
    with time_machine.travel(NOW, tick=False):
        yield


def words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


WORKDAYS = "from=2026-11-17&to=2026-11-20"  # after a weekend


def told(answer: Any) -> str:
    [found] = LEDE.findall(answer.content.decode())
    return words(found)


def card(page: str, name: str) -> str:
    """The words of a KPI card."""
    [found] = re.findall(rf'aria-labelledby="kpi-{name}">(.*?)</section>', page)
    return words(found)


def test_overview_begins_with_its_own_figures(story: Story, sign_in: SignIn) -> None:
    """It has time without a price, so that its amount is a lower bound that is not compared."""
    find_idle(story.cluster)
    answer = sign_in("ana").get("/")
    page, text = html_of(answer), told(answer)
    assert "without a price" in card(page, "charge")
    amount = re.search(r"€[\d,]+\d", card(page, "charge"))
    share = re.search(r"([\d.]+)% of spend", card(page, "idle"))
    idle = re.search(r"(\d+ GPUs?) held for 30 minutes", words(page))
    cost = re.search(r"work, at (€[\d.,]+) an hour", words(page))
    assert amount
    assert share
    assert idle
    assert cost
    assert text == (
        f"Teams spent at least {amount[0]} in November so far."
        f" {float(share[1]):.0f}% of it was idle."
        f" {idle[1]} are held and idle now, at {cost[1]} an hour."
    )


def test_the_page_of_a_team_begins_with_its_own_figures(
    story: Story, sign_in: SignIn
) -> None:
    store_waits(story)
    fin = get_user_model().objects.get(username="fin")
    budget = SetBudget(
        team=story.teams["vision"], amount=Decimal(100), reason="Agreed."
    )
    create_budget(budget, fin)
    luis = sign_in("luis")
    answer = luis.get(f"/teams/vision?{WEEK}")
    page, text = html_of(answer), told(answer)
    found = re.search(r"(€[\d,]+\d).*?([\d.]+%) on (.+?) \(", card(page, "charge"))
    assert found
    amount, moved, before = found.groups()
    opening = f"Vision spent {amount} on 5\N{EN DASH}11 Nov 2026, {moved} "
    assert text.startswith(opening)
    assert text.removeprefix(opening).startswith(
        (f"more than on {before}", f"less than on {before}")
    )
    over = re.search(r"Over by (€[\d,]+\d)", words(page))
    assert over
    assert f"The budget of November is exceeded by {over[1]}." in text
    earlier = told(luis.get("/teams/vision?from=2026-10-05&to=2026-10-12"))
    assert "November" not in earlier
    waiting = luis.get("/api/v1/queued-units?team=vision").json()["rows"]
    assert len(waiting) > 1
    assert f"{len(waiting)} pieces of work wait, the oldest since " in text
    assert len(re.findall(r"[.] |[.]$", text)) == 4
    assert page.index("lede") < page.index("kpi-charge")


def test_what_it_is_mostly_for_is_the_biggest_change(sign_in: SignIn) -> None:
    ana, told_of = sign_in("ana"), []
    for team, *_ in TEAMS:
        text = told(ana.get(f"/teams/{team}?{WORKDAYS}"))
        cause = re.search(r"mostly for (\S+) \((.)(€[\d,.]+)\)", text)
        if cause is None:
            continue
        csv = ana.get(
            f"/overview/changes?{WORKDAYS}&team={team}&csv=1"
        ).content.decode()
        rows = [line.split(",") for line in csv.splitlines()[1:]]
        [row] = [row for row in rows if row[2] == cause[1]]
        sign = "-" if cause[2] == "\N{MINUS SIGN}" else ""
        assert row[5].startswith(sign)
        assert units.money_round(abs(Decimal(row[5])), "EUR") == cause[3]
        told_of.append(team)
    assert told_of


def test_nothing_is_compared_where_the_page_does_not(
    story: Story, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    for path in ("/?cmp=off", "/teams/vision?cmp=off"):
        assert " than " not in told(ana.get(path))
    part = told(ana.get("/?team=vision"))
    assert part.startswith("This selection ")
    assert LEDE.findall(html_of(ana.get("/?from=2020-01-01&to=2020-02-01"))) == []
