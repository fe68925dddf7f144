"""Adjustments and exports over REST (money.md M25, M46, M47).

Covers: an entry with its twin on both statements, refusals, keys that are used twice; who requests
and sees which files. Not here: files from the request to the bytes (test_export_files.py), and
what they contain (tests/integration/exports).
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import time_machine

from accounting.months.models.entry import Entry
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.integration.api.conftest import Ask, problem
from tests.integration.conftest import NOW

CREDIT = {
    "kind": "credit",
    "team": "vision",
    "day": "2026-11-05",
    "amount": "-12.50",
    "reason": "Agreed in the monthly review.",
}


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def post(ask: Ask, name: str, address: str, body: dict[str, Any], key: str = "") -> Any:
    return ask(name).post(
        f"/api/v1/{address}",
        body,
        content_type="application/json",
        headers={"Idempotency-Key": key} if key else {},
    )


def test_an_adjustment_says_whether_a_statement_has_it(ask: Ask) -> None:
    book_running("2026-11")
    assert post(ask, "fin", "adjustments", CREDIT).json()["booked"] is False
    fin = ask("fin")

    def now() -> tuple[Any, ...]:
        [row] = fin.get("/api/v1/adjustments").json()["rows"]
        found = fin.get("/api/v1/statements/vision/2026-11").json()
        entries = [one for one in found["items"] if one["part"] == "entries"]
        said = [(one["number"], one["reason"], one["other_team"]) for one in entries]
        return row["booked"], found["waiting_entries"], said

    assert now() == (False, ["E-1"], [])
    book_running("2026-11")
    assert now() == (True, [], [("E-1", CREDIT["reason"], "platform")])


def test_an_adjustment_and_its_twin_are_on_both_statements(ask: Ask) -> None:
    before = book_running("2026-11")
    made = post(ask, "fin", "adjustments", CREDIT, key="credit-1")
    assert made.status_code == 201, made.content
    row = made.json()
    assert (row["number"], row["author"]) == ("E-1", "fin")
    assert (row["amount"], row["twin_team"], row["twin_amount"]) == (
        *("-12.500000", "platform", "12.500000"),
    )
    assert post(ask, "fin", "adjustments", CREDIT, key="credit-1").json() == row
    assert Entry.objects.count() == 1
    other = CREDIT | {"amount": "-12.51"}
    assert post(ask, "fin", "adjustments", other, key="credit-1").status_code == 422
    after = book_running("2026-11")
    assert after.payable == before.payable
    for team, amount in (("vision", "-12.500000"), ("platform", "12.500000")):
        shown = ask("fin").get(f"/api/v1/statements/{team}/2026-11").json()
        assert shown["entries"] == amount
        [item] = [one for one in shown["items"] if one["part"] == "entries"]
        assert (item["number"], item["kind"], item["day"]) == (
            *("E-1", "credit", "2026-11-05"),
        )
        assert Decimal(item["amount"]) == Decimal(amount)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"amount": "12.50"}, "#/amount"),
        ({"amount": "0"}, "#/amount"),
        ({"amount": "-0.001"}, "#/amount"),
        ({"kind": "gift"}, "#/kind"),
        ({"team": "nobody"}, "#/team"),
        ({"day": "0001-01-01"}, "#/day"),
        ({"reason": "short"}, "#/reason"),
    ],
)
def test_wrong_entries_name_the_member(
    ask: Ask, change: dict[str, str], pointer: str
) -> None:
    answer = post(ask, "fin", "adjustments", CREDIT | change)
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["pointer"] == pointer


def test_entries_of_closed_months_are_refused_and_pages_go_on(ask: Ask) -> None:
    close_period("2026-10")
    closed = post(ask, "fin", "adjustments", CREDIT | {"day": "2026-10-05"})
    assert closed.status_code == 409
    assert "2026-10 is closed" in problem(closed)["detail"]
    for number in range(3):
        post(ask, "fin", "adjustments", CREDIT | {"amount": f"-{number + 1}"})
    fin = ask("fin")
    page = fin.get("/api/v1/adjustments?period=2026-11&limit=2").json()
    post(ask, "fin", "adjustments", CREDIT | {"amount": "-9"})  # while a program reads
    rest = fin.get(
        f"/api/v1/adjustments?period=2026-11&limit=2&cursor={page['next']}"
    ).json()
    numbers = [row["number"] for row in (*page["rows"], *rest["rows"])]
    assert numbers == ["E-1", "E-2", "E-3", "E-4"]
    assert fin.get("/api/v1/adjustments?team=search").json()["rows"] == []
    for name in ("luis", "mia"):
        assert ask(name).get("/api/v1/adjustments").status_code == 404
        assert post(ask, name, "adjustments", CREDIT).status_code == 404


def test_leads_export_their_teams(ask: Ask) -> None:
    book_running("2026-11")
    body = {"what": "focus", "period": "2026-11", "format": "parquet"}
    mine = post(ask, "luis", "exports", body | {"team": "vision"})
    assert mine.status_code == 201, mine.content
    whole = post(ask, "fin", "exports", body)
    nobodys = post(ask, "luis", "exports", body)
    assert problem(nobodys)["errors"][0]["pointer"] == "#/team"
    for team in ("search", "platform", "nobody"):
        answer = post(ask, "luis", "exports", body | {"team": team})
        assert answer.status_code == 404
    luis = ask("luis")
    assert [row["id"] for row in luis.get("/api/v1/exports").json()["rows"]] == [
        mine.json()["id"]
    ]
    other = f"/api/v1/exports/{whole.json()['id']}"
    assert luis.get(other).status_code == 404
    assert luis.get(f"{other}/file").status_code == 404
    assert ask("mia").get("/api/v1/exports").status_code == 404
    assert len(ask("ana").get("/api/v1/exports").json()["rows"]) == 2
    unbooked = post(ask, "fin", "exports", body | {"period": "2019-01"})
    assert problem(unbooked)["status"] == 400
