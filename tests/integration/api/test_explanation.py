"""Explanations over REST have the evidence of the panel, and sum to the number of the list.

Not here: what is in an explanation (`tests/integration/accounting/rating/test_explained*.py`).
"""

from decimal import Decimal
from typing import Any

import pytest

from accounting.months.tasks.close import close_period
from tests.integration.api.conftest import Ask, problem

PERIOD = "from=2026-10-01&to=2026-11-01"
ADDRESS = "/api/v1/explanation"


def explained(ask: Ask, query: str, name: str = "fin") -> dict[str, Any]:
    answer = ask(name).get(f"{ADDRESS}?{query}")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def usage(ask: Ask, query: str) -> dict[str, Any]:
    [row] = ask("fin").get(f"/api/v1/usage?by=&{query}").json()["rows"]
    found: dict[str, Any] = row
    return found


def total(amounts: list[Any]) -> Decimal:
    return sum((Decimal(one["amount"]) for one in amounts if one), Decimal(0))


@pytest.mark.parametrize("what", ["charge", "idle_charge"])
@pytest.mark.parametrize("is_closed", [False, True])
def test_prices_and_bookings_sum_to_the_number(
    ask: Ask, what: str, is_closed: bool
) -> None:
    if is_closed:
        close_period("2026-10")
    found = explained(ask, f"what={what}&{PERIOD}")
    number = Decimal(usage(ask, PERIOD)[what])
    assert total([one["amount"] for one in found["prices"]]) == number
    assert total(found["amounts"]) == number
    assert (found["booked"] is not None) == is_closed
    if is_closed:
        parts = [one["amount"] for one in found["booked"]["months"]]
        assert total([*parts, *found["booked"]["not_booked"]]) == number
    assert found["rules"]
    assert found["promql"]


@pytest.mark.parametrize("name", ["omar", "mia", "luis"])
def test_a_number_is_that_of_the_own_teams(ask: Ask, name: str) -> None:
    rows = ask(name).get(f"/api/v1/usage?by=team&{PERIOD}").json()["rows"]
    own = sum((Decimal(row["charge"]) for row in rows), Decimal(0))
    assert total(explained(ask, f"what=charge&{PERIOD}", name)["amounts"]) == own
    assert own < Decimal(usage(ask, PERIOD)["charge"])


def test_a_number_without_money_has_its_formula(ask: Ask) -> None:
    found = explained(ask, f"what=coverage&{PERIOD}&team=vision", "luis")
    assert found["formula"][0] == "(busy + idle) / (busy + idle + unknown)"
    assert (found["prices"], found["amounts"], found["booked"]) == ([], [], None)
    assert {"name": "Shared by rule", "value": "no"} in found["inputs"]


def test_the_ledger_has_its_states(ask: Ask) -> None:
    found = explained(ask, f"what=ledger&{PERIOD}")
    [row] = ask("fin").get(f"/api/v1/ledger?by=&{PERIOD}").json()["rows"]
    times = {one["state"].lower(): one["milliseconds"] for one in found["states"]}
    assert times == {state: row[f"{state}_ms"] for state in times}
    assert len(times) == 7


def test_a_scope_is_that_of_the_list_with_the_number(ask: Ask) -> None:
    reader = ask("fin", scopes=("read:usage",))
    assert reader.get(f"{ADDRESS}?what=charge").status_code == 200
    assert problem(reader.get(f"{ADDRESS}?what=ledger"))["status"] == 403
    other = ask("fin", scopes=("read:ledger",))
    assert problem(other.get(f"{ADDRESS}?what=charge"))["status"] == 403
    assert other.get(f"{ADDRESS}?what=ledger").status_code == 200


def test_wrong_use(ask: Ask) -> None:
    unknown = problem(ask("fin").get(f"{ADDRESS}?what=profit"))
    assert unknown["status"] == 400
    assert "charge" in unknown["detail"]
    assert problem(ask("fin").get(f"{ADDRESS}?by=team"))["status"] == 400
