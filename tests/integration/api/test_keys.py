"""Writes with an `Idempotency-Key`: done once, whatever they change (money.md M47).

Of each kind of write: repeated, with another body, by another person. Not here: steps of contests
(test_contests.py), of a close (test_closing.py), entries and exports (test_money_writes.py).
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine

from accounting.access.models.teams import Binding, Team
from accounting.bills.models import Bill
from accounting.budgets.models import Budget
from accounting.kit.models.idempotency import IdempotencyKey
from accounting.prices.models.conversion import ConversionRate
from accounting.prices.models.price import PriceList, UnitPrice
from tests.integration.api.conftest import Ask, problem
from tests.integration.bills.billed import charge, focus
from tests.integration.conftest import NOW

WHY = {"reason": "Agreed in the monthly review."}
PRICE = {
    "model": "NVIDIA-B200",
    "currency": "EUR",
    "rate_per_gpu_hour": "5.00",
    "valid_from": "2026-12-01",
    **WHY,
}
USD = {"from_currency": "USD", "to_currency": "EUR", "rate": "0.92", **WHY}
CSV = "model,per_gpu_hour,valid_from\nB200,{},2026-12-01\n"
SAVED_BILL = "bills?dry_run=false"
QUERY = "?dry_run=false&keep_unknown=true&reason=The+list+of+December"
Body = bytes | dict[str, Any]


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def send(
    ask: Ask,
    name: str,
    address: str,
    body: Body,
    key: str,
    verb: str = "post",
) -> Any:
    content, kind = (
        (body, "text/csv")
        if isinstance(body, bytes)
        else (json.dumps(body), "application/json")
    )
    return ask(name).generic(
        verb.upper(),
        f"/api/v1/{address}",
        content,
        content_type=kind,
        headers={"Idempotency-Key": key},
    )


@pytest.mark.parametrize(
    ("address", "body", "other", "rows"),
    [
        ("prices", PRICE, PRICE | {"rate_per_gpu_hour": "6.00"}, UnitPrice),
        (
            f"prices/import{QUERY}",
            CSV.format("5.00").encode(),
            CSV.format("6.00").encode(),
            UnitPrice,
        ),
        (
            "price-lists",
            {"kind": "rate", "name": "2027", "currency": "USD", **WHY},
            {"kind": "rate", "name": "2028", "currency": "USD", **WHY},
            PriceList,
        ),
        (
            "conversion-rates",
            USD | {"on": "2026-11-01"},
            USD | {"on": "2026-11-02"},
            ConversionRate,
        ),
        (
            "budgets",
            {"team": "vision", "unit": "month", "measure": "money", "amount": "900.00"}
            | WHY,
            {"team": "vision", "unit": "year", "measure": "money", "amount": "900.00"}
            | WHY,
            Budget,
        ),
        (
            SAVED_BILL,
            focus(charge("1.00", "a")),
            focus(charge("2.00", "a")),
            Bill,
        ),
        (
            "teams",
            {"slug": "robots", "name": "Robots"},
            {"slug": "robot", "name": "Robot"},
            Team,
        ),
        (
            "bindings",
            {"kind": "namespace", "glob": "a-*", "team": "vision", **WHY}
            | {"valid_from": "2026-12-01"},
            {"kind": "namespace", "glob": "b-*", "team": "vision", **WHY}
            | {"valid_from": "2026-12-01"},
            Binding,
        ),
    ],
    ids=lambda value: value.split("?")[0] if isinstance(value, str) else "",
)
def test_a_write_is_done_once_for_its_key(
    ask: Ask, address: str, body: Body, other: Body, rows: Any
) -> None:
    before = rows.objects.count()
    first = send(ask, "ana", address, body, "k-1")
    assert first.status_code in (200, 201), first.content
    again = send(ask, "ana", address, body, "k-1")
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert rows.objects.count() == before + 1
    reused = send(ask, "ana", address, other, "k-1")
    assert problem(reused)["status"] == 422
    assert "different request" in problem(reused)["detail"]
    assert rows.objects.count() == before + 1


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("prices", PRICE | {"rate_per_gpu_hour": "-1"}),
        ("prices/import", b"model\n"),
        ("bills", b"a,b\n1,2\n"),
        ("price-lists", {"kind": "fee", "name": "2027", "currency": "USD", **WHY}),
    ],
)
def test_a_refused_write_stores_no_key(ask: Ask, address: str, body: Body) -> None:
    assert send(ask, "ana", address, body, "k-1").status_code == 400
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize(
    ("address", "query", "other"),
    [
        ("bills", "", "?final=true"),
        ("prices/import", "?keep_unknown=true", "?keep_unknown=false"),
    ],
)
def test_options_of_a_file_are_part_of_the_request(
    ask: Ask, address: str, query: str, other: str
) -> None:
    body = {
        "bills": focus(charge("1.00", "a")),
        "prices/import": CSV.format("5.00").encode(),
    }[address]
    assert send(ask, "ana", address + query, body, "k-1").status_code == 200
    assert send(ask, "ana", address + other, body, "k-1").status_code == 422


def test_a_key_of_another_person_is_another_key(ask: Ask) -> None:
    body = focus(charge("1.00", "a"))
    first = send(ask, "ana", SAVED_BILL, body, "k-1")
    theirs = send(ask, "fin", SAVED_BILL, body, "k-1")
    assert (first.status_code, theirs.status_code) == (201, 200)  # known by now
    assert send(ask, "fin", "bills", body, "k-1").status_code == 422


def test_a_change_of_a_list_and_a_final_bill_are_done_once(ask: Ask) -> None:
    made = send(ask, "ana", SAVED_BILL, focus(charge("1.00", "a")), "k-1").json()
    at = f"bills/{made['bills'][0]['id']}/final"
    first = send(ask, "ana", at, WHY, "k-2")
    assert first.json()["state"] == "final"
    assert send(ask, "ana", at, WHY, "k-2").json() == first.json()
    new = {"kind": "rate", "name": "2027", "currency": "USD", **WHY}
    number = send(ask, "ana", "price-lists", new, "k-3").json()["id"]
    body = {"name": "Vendor", **WHY}
    for _ in range(2):
        renamed = send(ask, "ana", f"price-lists/{number}", body, "k-4", "patch")
        assert renamed.json()["name"] == "Vendor"
    body["name"] = "Other"
    refused = send(ask, "ana", f"price-lists/{number}", body, "k-4", "patch")
    assert refused.status_code == 422
