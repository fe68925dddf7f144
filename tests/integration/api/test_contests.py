"""Contests over REST: leads contest and decide, finance answers (money.md M34).

Not covered: the rules of the steps (months/test_contests.py).
"""

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine

from accounting.access.models.teams import Binding
from accounting.months.models.charge import RunningLine
from accounting.months.models.contest import Contest
from accounting.months.models.entry import Entry
from accounting.months.tasks.running import book_running
from tests.integration.api.conftest import CSV, Ask, problem
from tests.integration.conftest import NOW

LIST = "/api/v1/contests"
STATEMENT = "/api/v1/statements/vision/2026-11/contests"
WHY = "gpu-02 was down on 3 November"
ANSWER = "the logs of the node show it, too"
BODY: dict[str, Any] = {"reason": WHY}
CREDIT = {
    "answer": "entry",
    "amount": "-12.50",
    "day": "2026-11-05",
    "reason": ANSWER,
}


@pytest.fixture(autouse=True)
def november(ask: Ask) -> Iterator[None]:
    """The clock does not move; November is booked."""
    del ask
    with time_machine.travel(NOW, tick=False):
        book_running("2026-11")
        yield


def post(
    ask: Ask,
    name: str,
    address: str,
    body: dict[str, Any] | None = None,
    key: str = "",
) -> Any:
    """`address` is of a contest; "" contests the statement."""
    return ask(name).post(
        f"{LIST}{address}" if address else STATEMENT,
        body or {},
        content_type="application/json",
        headers={"Idempotency-Key": key} if key else {},
    )


def contest(ask: Ask, **more: Any) -> dict[str, Any]:
    made = post(ask, "luis", "", BODY | more)
    assert made.status_code == 201
    found: dict[str, Any] = made.json()
    return found


def test_a_contest_is_answered_with_a_credit_and_accepted(ask: Ask) -> None:
    made = contest(ask)
    assert (made["state"], made["of"], made["subject"]) == ("open", "statement", None)
    at = f"/{made['id']}"
    answered = post(ask, "fin", f"{at}/answer", CREDIT).json()
    assert (answered["state"], answered["answer"], answered["entry"]) == (
        "answered",
        "entry",
        Entry.objects.get().number,
    )
    again = post(ask, "fin", f"{at}/answer", CREDIT)
    assert again.status_code == 409
    assert "needs a contest that is open" in problem(again)["detail"]
    assert Entry.objects.count() == 1
    assert post(ask, "luis", f"{at}/accept").json()["state"] == "accepted"
    one = ask("luis").get(f"{LIST}{at}").json()
    assert [(step["act"], step["by"]) for step in one["steps"]] == [
        ("contested", "luis"),
        ("answered", "fin"),
        ("accepted", "luis"),
    ]
    [row] = ask("fin").get(LIST).json()["rows"]
    assert {name: one[name] for name in row} == row
    table = ask("fin").get(LIST, headers=CSV).content.decode()
    assert WHY in table


def test_a_row_and_a_line_can_be_contested(ask: Ask) -> None:
    row = contest(ask, row=["usage", "NVIDIA-H100-80GB-HBM3", ""])
    assert row["of"] == "row"
    line = RunningLine.objects.filter(team="vision", kind="usage").first()
    assert line is not None
    found = contest(ask, line=line.line_id)
    assert (found["of"], found["subject"]) == ("line", line.line_id)
    twice = post(ask, "luis", "", BODY | {"line": line.line_id})
    assert twice.status_code == 409
    assert f"see contest {found['id']}" in problem(twice)["detail"]
    at = f"/{found['id']}"
    assert post(ask, "luis", f"{at}/withdraw").json()["state"] == "withdrawn"


def test_an_answer_is_a_rule_or_a_reason_and_may_be_refused(ask: Ask) -> None:
    at = f"/{contest(ask)['id']}"
    why = {"answer": "reason", "reason": ANSWER}
    assert post(ask, "fin", f"{at}/answer", why).json()["answer"] == "reason"
    opened = post(ask, "luis", f"{at}/reopen", {"reason": "that is another node"})
    assert opened.json()["state"] == "open"
    rule = Binding.objects.first()
    assert rule is not None
    body: dict[str, Any] = {"answer": "mapping", "rule": rule.pk, "reason": ANSWER}
    assert post(ask, "ana", f"{at}/answer", body).json()["rule"] == rule.pk


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ({"reason": "no"}, 400, "at least 10 characters"),
        ({"row": ["usage", "B200", ""]}, 400, "has no such row"),
        ({"line": "0" * 32}, 400, "has no such line"),
        ({"row": ["usage"], "line": "0" * 32}, 400, "Give a row or a line"),
    ],
)
def test_wrong_contests(
    more: dict[str, Any], code: int, message: str, ask: Ask
) -> None:
    refused = post(ask, "luis", "", BODY | more)
    assert refused.status_code == code
    assert message in problem(refused)["detail"]
    assert not Contest.objects.exists()


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("vision/2026-1", 400),
        ("vision/2019-01", 404),
        ("search/2026-11", 404),
        ("nobody/2026-11", 404),
    ],
)
def test_statements_that_cannot_be_contested(
    statement: str, code: int, ask: Ask
) -> None:
    address = f"/api/v1/statements/{statement}/contests"
    refused = ask("luis").post(address, BODY, content_type="application/json")
    assert problem(refused)["status"] == code
    assert ask("luis").post(LIST, BODY).status_code == 405  # of no statement
    assert not Contest.objects.exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"amount": None}, "amount"),
        ({"amount": "0.001"}, "more than 2 decimal places"),
        ({"answer": "mapping"}, "This answer needs it"),
        ({"answer": "maybe"}, "is not a valid choice"),
    ],
)
def test_wrong_answers(more: dict[str, Any], message: str, ask: Ask) -> None:
    at = f"/{contest(ask)['id']}"
    refused = post(ask, "fin", f"{at}/answer", CREDIT | more)
    assert refused.status_code == 400
    assert message in problem(refused)["detail"]
    assert not Entry.objects.exists()


def test_only_leads_contest_and_only_finance_answers(ask: Ask) -> None:
    assert post(ask, "fin", "", BODY).status_code == 403
    assert post(ask, "mia", "", BODY).status_code == 404
    at = f"/{contest(ask)['id']}"
    assert post(ask, "luis", f"{at}/answer", CREDIT).status_code == 403
    assert post(ask, "fin", f"{at}/withdraw").status_code == 403
    assert ask("mia").get(f"{LIST}{at}").status_code == 404
    reader = ask("luis", scopes=("read:contests",))
    assert reader.get(LIST).status_code == 200
    refused = reader.post(STATEMENT, BODY, content_type="application/json")
    assert refused.status_code == 403


def test_a_contest_is_made_once_for_its_key(ask: Ask) -> None:
    """Steps: resources/test_contract.py."""
    made = post(ask, "luis", "", BODY, "contest").json()
    assert post(ask, "luis", "", BODY, "contest").json() == made
    at = f"/{made['id']}/withdraw"
    assert post(ask, "luis", at, {}, "contest").status_code == 422  # another address
    assert Contest.objects.count() == 1
