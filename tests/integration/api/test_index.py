"""`/api/v1/` names every address, for whoever is signed in.

Not here: each method of it by each person (`tests/integration/access/test_routes.py`).
"""

from tests.integration.api.conftest import Ask, problem
from tests.integration.api.contract import schema

UNDOCUMENTED = {"/api/v1/schema", "/api/v1/docs"}


def test_it_lists_every_address_of_the_document(ask: Ask) -> None:
    found = ask("mia", scopes=("read:usage",)).get("/api/v1/").json()
    assert (found["openapi"], found["docs"]) == ("/api/v1/schema", "/api/v1/docs")
    assert found["routes"] == sorted(found["routes"])
    assert set(found["routes"]) - UNDOCUMENTED == set(schema()["paths"]) - {"/api/v1/"}


def test_it_needs_a_person(ask: Ask) -> None:
    assert problem(ask("").get("/api/v1/"))["status"] == 401
