"""What-ifs over REST: requested, computed by a worker, read, canceled, refused.

Not here: who may do it (`access/test_routes.py`, `test_access.py`), pages of the list
(`test_keyset_pages.py`), the page (`what_if/test_what_if_page.py`), the answer itself
(`tests/unit/what_if`).
"""

from typing import Any

import pytest
from django.test import Client

from accounting.organization.actions.tokens import SCOPES
from scheduler_view.tasks import compute_what_ifs
from scheduler_view.what_if.models import WhatIfRun
from tests.integration.api.conftest import CSV, Ask, problem
from tests.integration.what_if.test_recorded_weeks import MODEL, Recorded

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/what-ifs"
BODY: dict[str, Any] = {
    "cluster": "west",
    "weeks": 2,
    "rate": "2.50",
    "scenarios": [
        {"name": "8 more", "gpus": [{"model": MODEL, "change": 8}]},
        {"name": "FGD", "policy": "FGD"},
    ],
}


@pytest.fixture
def recorded(story: object) -> Recorded:
    """In each of two weeks a unit waits nine hours for another."""
    del story
    made = Recorded("west", "what-if")
    for week in range(2):
        made.hold(168 * week, 168 * week, 10)
        made.hold(168 * week + 1, 168 * week + 10, 10)
    return made


@pytest.fixture
def ana(recorded: Recorded, ask: Ask) -> Client:
    del recorded
    return ask("ana")


def post(client: Client, path: str = "", body: Any = None, key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(
        f"{ADDRESS}{path}",
        BODY if body is None else body,
        content_type="application/json",
        headers=headers,
    )


def test_a_request_is_computed_by_a_worker_and_read(ana: Client) -> None:
    answer = post(ana)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["state"], made["trust"], made["rows"]) == ("queued", "", [])
    assert made["request"] == BODY
    assert made["requested_by"] == "ana"
    compute_what_ifs()
    found = ana.get(f"{ADDRESS}/{made['id']}").json()
    assert (found["state"], found["trust"], found["error"]) == (
        "done",
        "calibrated",
        "",
    )
    assert "4 of 4 units" in found["calibrations"][0]
    by_measure = {(row["scenario"], row["measure"]): row for row in found["rows"]}
    wait = by_measure["8 more", "mean wait in minutes"]
    assert (wait["change_low"], wait["change_high"]) == ("-270.0", "-270.0")
    assert wait["clear"] == "yes"
    assert by_measure["8 more", "cost of installed GPUs a week"]["low"] == ""
    assert ("FGD", "mean wait in minutes") in by_measure
    [row] = ana.get(ADDRESS).json()["rows"]
    assert row["scenarios"] == "8 more, FGD"
    assert row == {name: found[name] for name in row}
    file = ana.get(ADDRESS, headers=CSV).getvalue().decode().splitlines()
    assert file[0].startswith("id,cluster,weeks,scenarios,state")
    assert len(file) == 2
    assert ana.get(f"{ADDRESS}?cluster=north").json()["rows"] == []


def test_a_request_with_the_same_key_is_made_once(ana: Client) -> None:
    first, again = post(ana, key="a").json(), post(ana, key="a").json()
    assert first == again
    assert WhatIfRun.objects.count() == 1
    other = post(ana, body=BODY | {"weeks": 1}, key="a")
    assert other.status_code == 422
    assert "a different request" in problem(other)["detail"]


def test_a_run_is_canceled_once(ana: Client) -> None:
    number = post(ana).json()["id"]
    answer = post(ana, f"/{number}/cancel", {})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["state"], found["error"]) == ("canceled", "canceled by ana")
    again = post(ana, f"/{number}/cancel", {})
    assert again.status_code == 409
    assert "is finished" in problem(again)["detail"]
    assert not compute_what_ifs()
    assert post(ana, "/999/cancel", {}).status_code == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "the body must be an object"),
        ({}, "cluster"),
        (BODY | {"cluster": "nowhere"}, "nowhere"),
        (BODY | {"weeks": 27}, "weeks"),
        (BODY | {"scenarios": []}, "scenarios"),
        (BODY | {"scenarios": [{"name": "x", "policy": "Y"}]}, "'Y' is not a policy"),
        (BODY | {"more": 1}, "unknown key 'more'"),
        (BODY | {"rate": "NaN"}, "rate"),
    ],
)
def test_a_wrong_request_is_refused_with_every_reason(
    ana: Client, body: Any, message: str
) -> None:
    answer = post(ana, body=body)
    assert answer.status_code == 400, answer.content
    errors = problem(answer)["errors"]
    assert any(message in error["detail"] for error in errors), errors
    assert not WhatIfRun.objects.exists()


def test_only_some_runs_wait_at_once(ana: Client) -> None:
    for _ in range(5):
        assert post(ana).status_code == 201
    answer = post(ana)
    assert answer.status_code == 409
    assert "5 what-ifs are not finished" in problem(answer)["detail"]


def test_a_token_needs_the_scope(recorded: Recorded, ask: Ask) -> None:
    del recorded
    reader = ask("ana", scopes=tuple(s for s in SCOPES if s != "write:what-ifs"))
    assert post(reader).status_code == 403
    assert reader.get(ADDRESS).status_code == 200
    writer = ask("ana", scopes=("write:what-ifs",))
    assert writer.get(ADDRESS).status_code == 403
    assert post(writer).status_code == 201
