"""Routes x people x methods: one table (`routes.py`), every cell of it asked for.

Left out: which rows somebody gets (tests/integration/api and pages, test_access.py), tokens
and their scopes (tests/integration/api/test_access.py).
"""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.teams import Binding
from tests.integration.access.routes import (
    MISSING,
    NOT_THERE,
    PEOPLE,
    ROUTES,
    Route,
    find_routes,
)
from tests.page_html import html_of
from tests.story import Story

UNKNOWN = "BREW"  # a method that no route has
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", UNKNOWN)


class Browsers(dict[str, Client]):
    """A signed-in browser of each person, made when it is used; "" is not signed in."""

    def __missing__(self, name: str) -> Client:
        client = self[name] = Client()
        if name:
            client.force_login(get_user_model().objects.get(username=name))
        return client


@pytest.fixture
def people(story: Story, db: None) -> Browsers:
    """Browsers of the cast."""
    del story, db
    return Browsers()


def test_every_route_has_a_line() -> None:
    """A new route says in `routes.py` who gets what by which method."""
    assert set(find_routes()) == {*ROUTES, *NOT_THERE}


def ask(client: Client, method: str, address: str) -> Any:
    """An answer to a request without content, or to an empty object over REST."""
    is_json = address.startswith("/api/") and method in ("POST", "PUT", "PATCH")
    body, kind = ("{}", "application/json") if is_json else ("", "")
    if method == "POST" and not is_json:
        body, kind = "nothing=known", "application/x-www-form-urlencoded"
    return client.generic(method, address, body, content_type=kind)


def expected(route: Route, name: str, method: str) -> int:
    """The cell of the table."""
    is_rest = route.at.startswith("/api/")
    if not name:
        if route.is_open:
            return _of_anybody(route, method, is_rest=is_rest)
        return 401 if is_rest else 302
    column = PEOPLE.index(name)
    if method == "OPTIONS" and route.at.startswith("/api/v1/bills"):
        return 204 if column >= PEOPLE.index("fin") else 404  # not whether one is there
    if method == "OPTIONS" and is_rest:
        codes = route.options or route.get
        code = codes[column] if codes else 200
        return 204 if "change-sets/" in route.at else 204 if code < 400 else code
    if route.at == "/sign-in":
        return 302  # who is signed in goes on to the overview
    known = "GET" if method == "HEAD" else method
    codes = route.methods.get(known)
    return codes[column] if codes else 405


def allowed_methods(route: Route) -> set[str]:
    """What a route answers to, with what comes with GET and with REST."""
    found = {*route.methods}
    if "GET" in found:
        found.add("HEAD")
    if route.at.startswith("/api/"):
        found.add("OPTIONS")
    return found


def _of_anybody(route: Route, method: str, *, is_rest: bool) -> int:
    if method in ("GET", "HEAD") or (method == "POST" and not is_rest):
        return 404 if route.get == MISSING else 200
    return 204 if method == "OPTIONS" and is_rest else 405


def methods_for(route: Route, name: str) -> list[str]:
    """What somebody tries; nobody and the last person, who may do most, try every method.

    The others try the methods of the route, over REST also OPTIONS, and HEAD where GET is
    refused: a method that a route does not have reads no rights, and an allowed HEAD builds the
    same answer as GET.
    """
    if name in ("", PEOPLE[-1]):
        return list(METHODS)
    known = {*route.methods}
    if route.at.startswith("/api/"):
        known.add("OPTIONS")
    if expected(route, name, "GET") >= 400:
        known.add("HEAD")
    return [method for method in METHODS if method in known]


@pytest.mark.parametrize("pattern", ROUTES)
def test_a_route_answers_each_person_by_each_method(
    people: Browsers, pattern: str
) -> None:
    route = ROUTES[pattern]
    rule = Binding.objects.order_by("pk")[0].pk
    address = route.at.format(binding=rule)
    wrong: dict[tuple[str, str], object] = {}
    for name in ("", *PEOPLE):
        client = people[name]
        for method in methods_for(route, name):
            answer = ask(client, method, address)
            wanted = expected(route, name, method)
            if answer.status_code != wanted:
                wrong[name, method] = (answer.status_code, wanted)
            else:
                check_form(answer, address, name)
            if method == UNKNOWN and answer.status_code == 405:
                allowed = {*answer.headers["Allow"].split(", ")}
                if allowed != allowed_methods(route):
                    wrong[name, "Allow"] = (allowed, allowed_methods(route))
            if pattern == "sign-out" and method == "POST" and name:
                client.force_login(get_user_model().objects.get(username=name))
    assert wrong == {}


def check_form(answer: Any, address: str, name: str) -> None:
    """Refusals have the form of their door; a refused method names those that work."""
    status = answer.status_code
    if address.startswith("/api/") and status >= 400 and answer.content:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == status
    elif status in (403, 404, 405) and answer.content:
        assert 'class="sheet"' in html_of(answer)
    if status == 405:
        allowed = answer.headers["Allow"].split(", ")
        assert answer.request["REQUEST_METHOD"] not in allowed
        assert allowed
    if status == 302 and not name and not address.startswith("/sign-in"):
        assert answer.headers["Location"].startswith("/sign-in?next=")


@pytest.mark.parametrize("address", NOT_THERE.values())
def test_what_is_not_there_is_not_found_by_any_method(
    people: Browsers, address: str
) -> None:
    for name in ("", *PEOPLE):
        client = people[name]
        for method in METHODS:
            answer = ask(client, method, address)
            assert answer.status_code == (404 if name else 401), (name, method)


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/quotas/change", "/quotas"),
        ("/quotas/settle", "/quotas"),
        ("/quotas/limits/adopt", "/quotas/limits"),
        ("/changes/7/apply", "/changes/7"),
        ("/changes/7/leave-out", "/changes/7"),
        ("/account/preferences", "/account"),
        ("/account/tokens", "/account"),
        ("/account/tokens/revoke", "/account"),
        ("/sign-out", "/"),
    ],
)
def test_an_address_of_a_form_leads_to_its_page(
    people: Browsers, address: str, page: str
) -> None:
    """By reload, from the history, in a new tab: it was a white page."""
    answer = people["ana"].get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert people["ana"].get("/account").status_code == 200  # and nobody was signed out


HIDDEN = (
    # what is there and hidden from Luis, what is not there
    ("/teams/search", "/teams/nobody"),
    ("/teams/search/workloads", "/teams/nobody/workloads"),
    (
        "/teams/search/families/search-prod/rerank-serving",
        "/teams/nobody/families/search-prod/rerank-serving",
    ),
    ("/teams/search/rules", "/teams/nobody/rules"),
    ("/teams/search/quota", "/teams/nobody/quota"),
    ("/gpus/GPU-5a1e0001-0000-7c3d", "/gpus/GPU-none"),
    ("/explain?what=charge&team=search", "/explain?what=charge&team=nobody"),
    ("/explain?what=ledger", "/explain?what=secrets"),
    ("/quotas/yaml?cluster=north&team=search", "/quotas/yaml?cluster=north&team=none"),
    ("/changes/{change}", "/changes/99999"),
    ("/api/v1/change-sets/{change}", "/api/v1/change-sets/99999"),
    ("/api/v1/usage?team=search", "/api/v1/usage?team=nobody"),
    ("/api/v1/holds?team=search", "/api/v1/holds?team=nobody"),
    ("/api/v1/gpu-holders?team=search", "/api/v1/gpu-holders?team=nobody"),
    ("/api/v1/quotas?team=search", "/api/v1/quotas?team=nobody"),
    ("/api/v1/limits?team=search", "/api/v1/limits?team=nobody"),
    ("/api/v1/gpu-steps?gpu=GPU-5a1e0001-0000-7c3d", "/api/v1/gpu-steps?gpu=GPU-none"),
)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
@pytest.mark.parametrize(("hidden", "missing"), HIDDEN)
def test_hidden_and_missing_look_the_same(
    people: Browsers, hidden: str, missing: str, method: str
) -> None:
    luis, ana = people["luis"], people["ana"]
    there = hidden.format(change=_of_search(ana)) if "{" in hidden else hidden
    assert ana.get(there).status_code == 200
    answers = [ask(luis, method, address) for address in (there, missing)]
    if method == "GET":
        assert answers[0].status_code == 404
    first, second = (_seen(answer) for answer in answers)
    assert first == second


def _of_search(ana: Client) -> int:
    edit = {"kind": "quota", "team": "search", "resource": "nvidia.com/gpu", "gpus": 8}
    body = {"cluster": "north", "edits": [edit], "reason": "Agreed in November."}
    answer = ana.post("/api/v1/change-sets", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    number: int = answer.json()["id"]
    return number


def _seen(answer: Any) -> tuple[int, dict[str, str], Any]:
    """All of an answer that could tell, without the address that was asked for."""
    headers = {
        name: value for name, value in answer.items() if name != "Content-Length"
    }
    if answer.headers.get("Content-Type") == "application/problem+json":
        document = answer.json()
        del document["instance"]
        return answer.status_code, headers, document
    return answer.status_code, headers, answer.content
