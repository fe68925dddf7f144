"""Pages of budgets and unusual days: numbers, states, forms, and who sees them."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

import pytest
import time_machine
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.budgets.actions.budgets import SetBudget, create_budget
from accounting.budgets.models import Budget, ForecastRecord
from accounting.budgets.reads.budgets import BudgetRow, budget_rows
from accounting.budgets.reads.history import ledger_time
from accounting.kit.audit import SYSTEM, Actor
from accounting.kit.tags import units
from accounting.metering.models.cluster import Source
from tests.integration.budgets.test_past_forecasts import closed
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

REASON = "Agreed in the round of November."
OCTOBER = date(2026, 10, 1)


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def text_of(client: Client, path: str) -> str:
    """A page without tags, with single spaces."""
    html = html_of(client.get(path))
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def budget(amount: int = 20_000, actor: Actor = SYSTEM, **more: object) -> Budget:
    """A monthly budget of vision in money."""
    wanted: dict[str, object] = {
        "team": None if "department" in more else Team.objects.get(slug="vision"),
        "unit": "month",
        "measure": "money",
        "amount": Decimal(amount),
        "reason": REASON,
    }
    made = create_budget(SetBudget(**wanted | more), actor)  # type: ignore[arg-type]
    return Budget.objects.get(pk=made.number)


def row() -> BudgetRow:
    (found,) = budget_rows(EVERYTHING, ledger_time(NOW))
    return found


def test_the_list_shows_amounts_and_states(story: Story, sign_in: SignIn) -> None:
    del story
    budget(30_000)
    found = row()
    assert found.outlook
    assert found.outlook.forecast
    page = text_of(sign_in("fin"), "/budgets")
    assert units.quantity(found.outlook.actual, "EUR") in page
    assert units.quantity(found.outlook.forecast.amount, "EUR") in page
    assert units.quantity(found.outlook.forecast.high, "EUR") in page
    assert "€30,000" in page
    assert "Within budget" in page
    assert "Without a budget of their own: Fraud , Language" in page


@pytest.mark.parametrize(
    ("amount", "state"),
    [(1_000, "Over by €"), (20_000, "Expected over by €"), (900_000, "Within budget")],
)
def test_states(sign_in: SignIn, amount: int, state: str) -> None:
    one = budget(amount)
    assert state in text_of(sign_in("fin"), "/budgets")
    assert state in text_of(sign_in("fin"), f"/budgets/{one.pk}")


def test_a_department_stands_above_its_teams(sign_in: SignIn) -> None:
    budget()
    budget(department="Research")
    budget(1_000, measure="gpu-hours", team=Team.objects.get(slug="search"))
    page = text_of(sign_in("fin"), "/budgets")
    assert page.index("Product No budget of the department") < page.index("Search")
    assert page.index("Research") < page.index("Vision")
    assert "GPU-h" in page
    own = text_of(sign_in("luis"), "/budgets")
    assert "Research" in own  # the department of the team
    assert "of the department" not in own  # whether it has a budget is hidden
    assert own.count("€20,000") == 1


def test_who_sees_which_budget(sign_in: SignIn) -> None:
    own = budget()
    other = budget(team=Team.objects.get(slug="search"))
    page = text_of(sign_in("luis"), "/budgets")
    html = html_of(sign_in("luis").get("/budgets"))
    assert f"/budgets/{own.pk}" in html
    assert f"/budgets/{other.pk}" not in html
    assert sign_in("luis").get(f"/budgets/{own.pk}").status_code == 200
    assert sign_in("luis").get(f"/budgets/{other.pk}").status_code == 404
    for name in ("mia", "omar"):
        assert sign_in(name).get(f"/budgets/{own.pk}").status_code == 403
    assert "Set a budget" not in page


def test_one_budget_with_its_days_thresholds_and_amounts(sign_in: SignIn) -> None:
    one = budget(12_000, from_on=OCTOBER)
    answer = sign_in("fin").get(f"/budgets/{one.pk}")
    page = " ".join(re.sub(r"<[^>]+>", " ", html_of(answer)).split())
    found = row()
    assert found.outlook
    assert found.outlook.forecast
    assert units.percent(float(found.outlook.forecast.past_error or 0)) in page
    assert "50% of the budget is spent" in page
    assert "The forecast is at least the budget 20 Nov 2026" in page
    [half, *_] = found.alerts
    spent = [float(str(day.actual)) for day in answer.context["detail"].days[:20]]
    passed = next(n for n, amount in enumerate(spent, 1) if amount >= 6_000)
    assert half.reached_on == date(2026, 11, passed)
    assert f"50% of the budget is spent {passed} Nov 2026" in page
    assert "1 Oct 2026 €12,000 system" in page
    chart = answer.context["chart"]
    assert len(chart.rows) == 30
    left = units.quantity(found.left, "EUR")
    assert chart.rows[19][1] == left  # the 20th is today
    assert chart.rows[-1][1] == "No data"
    expected = found.amount - found.outlook.forecast.amount
    assert chart.rows[-1][3] == units.quantity(expected, "EUR")


def test_periods_of_a_budget_are_linked(sign_in: SignIn) -> None:
    one = budget(from_on=OCTOBER)
    html = html_of(sign_in("fin").get(f"/budgets/{one.pk}"))
    assert "?on=2026-10-01" in html
    assert "Next period" not in html
    before = text_of(sign_in("fin"), f"/budgets/{one.pk}?on=2026-10-01")
    assert "Left of the monthly budget, Oct 2026" in before
    assert "Next period" in before
    assert "Period before" not in before
    assert sign_in("fin").get(f"/budgets/{one.pk}?on=soon").status_code == 400
    assert sign_in("fin").get(f"/budgets/{one.pk}?on=9999-12-31").status_code == 400


def test_earlier_forecasts_are_on_the_page_of_a_monthly_budget(
    sign_in: SignIn,
) -> None:
    one = budget(from_on=OCTOBER)
    assert "Earlier forecasts" not in text_of(sign_in("fin"), f"/budgets/{one.pk}")
    closed("2026-10", "20000")
    ForecastRecord.objects.create(
        team=Team.objects.get(slug="vision"),
        period_on=OCTOBER,
        day=10,
        currency="EUR",
        amount=Decimal(21_000),
        low=Decimal(20_000),
        high=Decimal(22_000),
    )
    page = text_of(sign_in("fin"), f"/budgets/{one.pk}")
    assert "Oct 2026 €20,000.00 €21,000.00 5.0% Not recorded" in page


def test_time_without_a_price_makes_a_lower_bound(sign_in: SignIn) -> None:
    one = budget(team=Team.objects.get(slug="fraud"))  # it holds A10, without a price
    assert "At least" in text_of(sign_in("fin"), "/budgets")
    page = text_of(sign_in("fin"), f"/budgets/{one.pk}")
    assert "have no price. What is spent, and the forecast, are lower bounds" in page


def test_without_history_it_says_so(sign_in: SignIn) -> None:
    one = budget()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounting_ingestwindow SET state = 'pending'")
    for path in ("/budgets", f"/budgets/{one.pk}", "/teams/vision"):
        assert "Not enough history" in text_of(sign_in("fin"), path), path
    assert "0 of 14 complete days" in text_of(sign_in("fin"), f"/budgets/{one.pk}")
    assert "Not enough history" in text_of(sign_in("fin"), "/anomalies")


def test_another_currency_is_not_compared(sign_in: SignIn) -> None:
    one = budget()
    Budget.objects.update(currency="USD")
    assert "Other currency" in text_of(sign_in("fin"), "/budgets")
    page = text_of(sign_in("fin"), f"/budgets/{one.pk}")
    assert "bills are now in another currency" in page


def test_pages_without_budgets_say_what_to_do(sign_in: SignIn) -> None:
    assert "Set the first budget" in text_of(sign_in("fin"), "/budgets")
    page = text_of(sign_in("luis"), "/budgets")
    assert "No budget for your teams" in page


# --- forms --------------------------------------------------------------------------------

FORM = {
    "of": "team:vision",
    "unit": "month",
    "measure": "money",
    "amount": "25000",
    "reason": REASON,
}


def test_finance_sets_changes_and_ends_a_budget(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    made = fin.post("/budgets/new", FORM)
    one = Budget.objects.get()
    assert made.headers["Location"] == f"/budgets/{one.pk}"
    changed = fin.post(
        f"/budgets/{one.pk}/change", {"amount": "26000", "reason": REASON}
    )
    assert changed.headers["Location"] == f"/budgets/{one.pk}"
    assert row().amount == 26_000
    page = text_of(fin, f"/budgets/{one.pk}")
    assert "€26,000 fin" in page
    ended = fin.post(f"/budgets/{one.pk}/end", {"reason": REASON})
    assert ended.headers["Location"] == "/budgets"
    assert "The budget of Vision has ended." in text_of(fin, "/budgets")
    assert "Ended on 20 Nov 2026" in text_of(fin, f"/budgets/{one.pk}")
    again = fin.post(f"/budgets/{one.pk}/end", {"reason": REASON})
    assert again.status_code == 422
    assert "This budget ended on 2026-11-20." in html_of(again)


def test_a_department_is_chosen_in_the_same_field(sign_in: SignIn) -> None:
    sign_in("fin").post("/budgets/new", FORM | {"of": "department:Research"})
    assert Budget.objects.get().department == "Research"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"amount": "0"}, "must be above 0"),
        ({"amount": "-1"}, "greater than or equal to 0"),
        ({"amount": "NaN"}, "Enter a number"),
        ({"of": "team:nobody"}, "Select a valid choice"),
        ({"of": ""}, "This field is required"),
        ({"unit": "week"}, "Select a valid choice"),
        ({"reason": "short"}, "at least 10 characters"),
        ({"from_on": "9999-01-01"}, "between the years 1970 and 9998"),
    ],
)
def test_a_wrong_form_says_what_is_wrong(
    sign_in: SignIn, more: dict[str, str], message: str
) -> None:
    answer = sign_in("fin").post("/budgets/new", FORM | more)
    assert answer.status_code == 422
    assert message in html_of(answer)
    assert not Budget.objects.exists()


def test_the_same_budget_twice_is_refused(sign_in: SignIn) -> None:
    budget()
    answer = sign_in("fin").post("/budgets/new", FORM)
    assert answer.status_code == 422
    assert "Vision already has a budget by month in money" in html_of(answer)


# --- the team's page and unusual days -----------------------------------------------------


def test_the_team_page_has_the_month(sign_in: SignIn) -> None:
    budget(20_000)
    found = row()
    assert found.outlook
    page = text_of(sign_in("luis"), "/teams/vision?range=last-7-days")
    assert "Spend this month" in page
    assert units.money_round(found.outlook.actual, "EUR") in page
    assert (
        "The forecast of Nov 2026 reached the budget of €20,000 on 20 Nov 2026" in page
    )
    assert "Expected over by" in page.split("The forecast of Nov 2026")[0]
    viewer = text_of(sign_in("mia"), "/teams/vision?range=last-7-days")
    assert units.money_round(found.outlook.actual, "EUR") in viewer
    assert "€20,000" not in viewer


def test_a_forecast_says_that_the_last_week_was_another_one(sign_in: SignIn) -> None:
    budget(30_000)
    said = (
        "less than the forecast expects for a week. "
        "It follows a lasting change within three weeks."
    )
    addresses = (f"/budgets/{Budget.objects.get().pk}", "/teams/vision")
    for address in addresses:
        assert said not in text_of(sign_in("fin"), address)
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE usage_day SET busy_ms = busy_ms / 4, idle_ms = idle_ms / 4,
                                    unknown_ms = unknown_ms / 4
               WHERE billing_on >= %s
                 AND team_id = (SELECT id FROM accounting_team WHERE slug = 'vision')""",
            [NOW.date() - timedelta(days=8)],
        )
    for address in addresses:
        assert said in text_of(sign_in("fin"), address)


def test_half_of_a_budget_within_its_pace_is_no_warning(sign_in: SignIn) -> None:
    budget(26_000)
    found = row()
    assert found.reached == ["50"]
    page = text_of(sign_in("luis"), "/teams/vision?range=last-7-days")
    assert "Within budget" in page
    assert "of the budget of €26,000" not in page
    assert "50% of the budget is spent" in text_of(
        sign_in("fin"), f"/budgets/{found.id}"
    )


def test_unusual_days_link_to_the_usage_of_that_day(sign_in: SignIn) -> None:
    assert "No unusual day" in text_of(sign_in("fin"), "/anomalies")
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE usage_day SET idle_ms = idle_ms + 3 * busy_ms
               WHERE billing_on = '2026-11-18' AND team_id IN (
                   SELECT id FROM accounting_team WHERE slug IN ('vision', 'search'))"""
        )
    html = html_of(sign_in("fin").get("/anomalies"))
    assert "/teams/search?from=2026-11-18&amp;to=2026-11-19" in html
    assert "/teams/vision/workloads?from=2026-11-18" in html
    assert "2 unusual days in 1–20 Nov 2026:" in text_of(sign_in("fin"), "/anomalies")
    one = html_of(sign_in("fin").get("/anomalies?team=search"))
    assert 'id="compared-title">By day, Search<' in one
    assert "/teams/vision?from=2026-11-18" not in one
    own = html_of(sign_in("luis").get("/anomalies"))
    assert "/teams/vision?from=2026-11-18" in own
    assert "/teams/search" not in own
    assert 'id="compared-title">By day, Vision<' in own
    foreign = html_of(sign_in("luis").get("/anomalies?team=search"))
    assert "not one of your teams" in foreign
    assert 'id="compared-title">By day, Vision<' in foreign
    earlier = text_of(sign_in("fin"), "/anomalies?from=2026-11-01&to=2026-11-10")
    assert "No unusual day" in earlier


def test_files_are_the_days_that_began(sign_in: SignIn) -> None:
    """Without a live source, today is the last day with data."""
    Source.objects.update(kind="openmetrics")
    budget()
    with time_machine.travel(NOW.replace(year=2027), tick=False):
        assert "As of 20 Nov 2026" in text_of(sign_in("fin"), "/budgets")


def test_the_list_needs_few_queries(
    sign_in: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for slug in ("vision", "search", "fraud", "language"):
        budget(team=Team.objects.get(slug=slug))
    client = sign_in("fin")
    with django_assert_max_num_queries(25):
        client.get("/budgets")
