"""Conversion rates over REST: what is special; the rest is in `test_contract.py`."""

from typing import Any

import pytest

from accounting.prices.models.conversion import ConversionRate
from tests.integration.api.conftest import Ask, problem

BODY: dict[str, Any] = {
    "from_currency": "USD",
    "to_currency": "EUR",
    "on": "2026-10-01",
    "rate": "0.9215",
    "reason": "Rates of the central bank.",
}


def post(ask: Ask, name: str = "fin", **more: Any) -> Any:
    return ask(name).post(
        "/api/v1/conversion-rates", BODY | more, content_type="application/json"
    )


def test_finance_adds_a_rate_and_corrects_it(ask: Ask) -> None:
    made = post(ask)
    assert made.status_code == 201
    assert made.json() == {
        "id": made.json()["id"],
        "from_currency": "USD",
        "to_currency": "EUR",
        "on": "2026-10-01",
        "rate": "0.9215",
    }
    again = post(ask, rate="0.9300000001")
    assert again.status_code == 200
    assert again.json() == made.json() | {"rate": "0.9300000001"}
    assert ask("mia").get("/api/v1/conversion-rates").json()["rows"] == [again.json()]


def test_rates_are_by_currencies_and_day(ask: Ask) -> None:
    for more in ({"on": "2026-10-03"}, {"on": "2026-10-01"}, {"from_currency": "GBP"}):
        post(ask, **more)
    rows = ask("mia").get("/api/v1/conversion-rates").json()["rows"]
    assert [(row["from_currency"], row["on"]) for row in rows] == [
        ("GBP", "2026-10-01"),
        ("USD", "2026-10-01"),
        ("USD", "2026-10-03"),
    ]


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"rate": "0"}, "#/rate"),
        ({"rate": "1.00000000001"}, "#/rate"),
        ({"rate": "Infinity"}, "#/rate"),
        ({"to_currency": "USD"}, "#/to_currency"),
        ({"from_currency": "EURO"}, "#/from_currency"),
        ({"from_currency": "=1+"}, "#/from_currency"),
        ({"on": "2026-02-30"}, "#/on"),
    ],
)
def test_what_is_not_a_rate(ask: Ask, more: dict[str, Any], pointer: str) -> None:
    answer = post(ask, **more)
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["pointer"] == pointer
    assert not ConversionRate.objects.exists()
