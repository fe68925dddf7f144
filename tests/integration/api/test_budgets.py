"""Budgets and anomalies over REST: what is special; the rest is in resources/test_contract.py."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.db import connection

from accounting.budgets.models import Budget
from tests.integration.api.conftest import Ask, problem
from tests.integration.conftest import NOW

BODY: dict[str, Any] = {
    "team": "vision",
    "amount": "20000.50",
    "reason": "Agreed in the round of November.",
}


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def post(ask: Ask, name: str = "fin", address: str = "budgets", **more: Any) -> Any:
    body = {key: value for key, value in (BODY | more).items() if value is not None}
    return ask(name).post(f"/api/v1/{address}", body, content_type="application/json")


def rows(ask: Ask, name: str, address: str = "budgets") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(name).get(f"/api/v1/{address}").json()["rows"]
    return found


def test_finance_creates_a_budget_and_changes_its_amount(ask: Ask) -> None:
    made = post(ask)
    assert made.status_code == 201
    row = made.json()
    assert (row["team"], row["department"]) == ("vision", "Research")
    assert (row["period_from"], row["period_to"]) == ("2026-11-01", "2026-12-01")
    assert (row["amount"], row["currency"], row["version"]) == (
        "20000.500000",
        "EUR",
        1,
    )
    assert Decimal(row["forecast_low"]) < Decimal(row["forecast"])
    assert Decimal(row["actual"]) < Decimal(row["forecast_low"])
    assert row["history_days"] == 27  # one of 28 days has no data
    changed = post(ask, amount="21000")
    assert changed.status_code == 200
    assert (changed.json()["id"], changed.json()["version"]) == (row["id"], 2)
    assert [one["amount"] for one in rows(ask, "fin")] == ["21000.000000"]


def test_a_department_and_gpu_hours(ask: Ask) -> None:
    made = post(
        ask, team=None, department="Research", measure="gpu-hours", unit="quarter"
    )
    assert made.status_code == 201
    row = made.json()
    assert (row["team"], row["department"], row["currency"]) == (None, "Research", None)
    assert row["period_from"] == "2026-10-01"
    assert rows(ask, "luis") == []


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"amount": "0"}, "#/amount"),
        ({"amount": "-5"}, "#/amount"),
        ({"amount": "1.0000001"}, "#/amount"),
        ({"amount": "NaN"}, "#/amount"),
        ({"department": "Research"}, "#/team"),
        ({"team": None}, "#/team"),
        ({"team": "nobody"}, "#/team"),
        ({"unit": "week"}, "#/unit"),
        ({"measure": "watts"}, "#/measure"),
        ({"from_on": "soon"}, "#/from_on"),
        ({"reason": "short"}, "#/reason"),
    ],
)
def test_what_is_not_a_budget(ask: Ask, more: dict[str, Any], pointer: str) -> None:
    answer = post(ask, **more)
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["pointer"] == pointer
    assert not Budget.objects.exists()


def test_an_ended_budget_says_when(ask: Ask) -> None:
    end = f"budgets/{post(ask).json()['id']}/end"
    reason = {"team": None, "amount": None}
    assert post(ask, "fin", end, **reason).status_code == 200
    assert rows(ask, "fin") == []
    again = post(ask, "fin", end, **reason)
    assert "ended on 2026-11-20" in problem(again)["detail"]


def test_a_department_without_a_team_is_named(ask: Ask) -> None:
    answer = problem(post(ask, team=None, department="Nowhere"))
    assert answer["errors"] == [
        {
            "pointer": "#/department",
            "detail": "no team belongs to the department 'Nowhere'",
        }
    ]


def test_anomalies(ask: Ask) -> None:
    query = "anomalies?from=2026-11-01&to=2026-11-21&minimum=0"
    with connection.cursor() as cursor:  # an odd day of two teams
        cursor.execute(
            """UPDATE usage_day SET idle_ms = idle_ms + 3 * busy_ms
               WHERE billing_on = '2026-11-18' AND team_id IN (
                   SELECT id FROM accounting_team WHERE slug IN ('vision', 'search'))"""
        )
    every = rows(ask, "fin", query)
    assert {row["team"] for row in every} == {"vision", "search"}
    for row in every:
        apart = Decimal(row["actual"]) - Decimal(row["expected"])
        assert Decimal(row["difference"]) == apart
        assert row["workload"]
    own = [row for row in every if row["team"] == "vision"]
    assert rows(ask, "luis", query) == own
    assert rows(ask, "fin", f"{query}&team=vision") == own
    high = rows(ask, "fin", query.replace("minimum=0", "minimum=999999"))
    assert high == []
    assert ask("mia").get(f"/api/v1/{query}").status_code == 404


@pytest.mark.parametrize(
    "query", ["minimum=-1", "minimum=NaN", "minimum=x", "from=2026-11-01T10:00:00Z"]
)
def test_wrong_questions_about_anomalies(ask: Ask, query: str) -> None:
    answer = ask("fin").get(f"/api/v1/anomalies?{query}")
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["parameter"] == query.partition("=")[0]
