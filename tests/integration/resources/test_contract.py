"""What every declared list keeps (`accounting/resources`): REST, CSV, `report`, rights, verbs.

A new resource is tested by its line in `samples.py`. What is special about one is in tests of its
own.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user_model

from accounting.access import scope_of
from accounting.kit.inputs import values_of
from accounting.kit.rows import columns_of
from accounting.models import IdempotencyKey
from accounting.resources.every import RESOURCES
from accounting.resources.resource import Resource, Verb
from accounting.serializers.csv_text import csv_cell
from tests.integration.access.test_twins import PEOPLE
from tests.integration.access.test_twins import rows as table
from tests.integration.accounting.support import report
from tests.integration.api.conftest import Ask, ask, problem
from tests.integration.conftest import NOW
from tests.integration.resources.samples import SAMPLES

__all__ = ["ask"]  # a fixture
EVERY = [pytest.param(one, id=one.name) for one in RESOURCES]
VERBS = [
    pytest.param(one, verb, id=f"{one.name}-{verb.name or 'set'}")
    for one in RESOURCES
    for verb in one.verbs
]


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def get(ask: Ask, name: str, address: str) -> Any:
    return ask(name).get(f"/api/v1/{address}")


def post(ask: Ask, name: str, address: str, body: dict[str, Any], key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return ask(name).post(
        f"/api/v1/{address}", body, content_type="application/json", headers=headers
    )


def address_of(resource: Resource, verb: Verb, number: int) -> str:
    return f"{resource.name}/{number}/{verb.name}" if verb.name else resource.name


def test_every_list_has_a_sample() -> None:
    assert {one.name for one in RESOURCES} == SAMPLES.keys()


@pytest.mark.parametrize("resource", EVERY)
def test_json_csv_and_the_command_have_the_same_members(
    ask: Ask, resource: Resource
) -> None:
    SAMPLES[resource.name].make()
    rows = get(ask, "ana", resource.name).json()["rows"]
    members = [one.name for one in columns_of(resource.row) if not one.is_detail]
    assert len(rows) >= 2
    assert [list(row) for row in rows] == [members] * len(rows)
    text = get(ask, "ana", f"{resource.name}?format=csv").content.decode()
    head, *lines = csv.reader(io.StringIO(text))
    assert head == members
    assert lines == [[csv_cell(value) for value in row.values()] for row in rows]
    assert report(resource.name) == rows
    if "team" in resource.filters:
        own = [row for row in rows if row["team"] == "vision"]
        assert report(resource.name, team="vision") == own != rows


@pytest.mark.parametrize("resource", EVERY)
def test_pages_of_a_list_are_the_list(ask: Ask, resource: Resource) -> None:
    SAMPLES[resource.name].make()
    rows = get(ask, "ana", resource.name).json()["rows"]
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        more = f"&cursor={cursor}" if cursor else ""
        page = get(ask, "ana", f"{resource.name}?limit=1{more}").json()
        found += page["rows"]
        cursor = page["next"]
    assert found == rows


@pytest.mark.parametrize("resource", EVERY)
def test_a_team_is_a_filter_and_a_border(ask: Ask, resource: Resource) -> None:
    SAMPLES[resource.name].make()
    for name in PEOPLE.values():
        user = get_user_model().objects.get(username=name)
        answer = get(ask, name, resource.name)
        if not resource.right.allows(scope_of(user)):
            assert problem(answer)["status"] == 404
            continue
        rows = answer.json()["rows"]
        if name == "luis":
            assert {row["team"] for row in rows} == {"vision"}
        if "team" in resource.filters:
            own = get(ask, name, f"{resource.name}?team=vision").json()["rows"]
            assert own == [row for row in rows if row["team"] == "vision"]
    assert get(ask, "luis", f"{resource.name}?team=search").status_code == 404
    wrong = get(ask, "ana", f"{resource.name}?nonsense=1")
    assert problem(wrong)["errors"][0]["parameter"] == "nonsense"


@pytest.mark.parametrize("resource", EVERY)
def test_an_item_is_its_row_with_details(ask: Ask, resource: Resource) -> None:
    number = SAMPLES[resource.name].make()
    answer = get(ask, "ana", f"{resource.name}/{number}")
    if not resource.about_item:
        assert answer.status_code == 404
        return
    rows = {row["id"]: row for row in get(ask, "ana", resource.name).json()["rows"]}
    item = answer.json()
    assert {name: item[name] for name in rows[number]} == rows[number]
    assert list(item) == [one.name for one in columns_of(resource.row)]
    assert get(ask, "ana", f"{resource.name}/99999").status_code == 404


@pytest.mark.parametrize("resource", EVERY)
def test_the_table_of_rights_says_the_same(ask: Ask, resource: Resource) -> None:
    """`docs/access.md` has a line for the list, and one that names each of its verbs' addresses."""
    del ask
    [line] = [one for one in table("Reading") if one["REST"] == f"`{resource.name}`"]
    for title, name in PEOPLE.items():
        scope = scope_of(get_user_model().objects.get(username=name))
        assert (line[title] == "-") == (not resource.right.allows(scope)), title
    if resource.verbs:
        assert any(f"`{resource.name}`" in one["REST"] for one in table("Writing"))


@pytest.mark.parametrize(("resource", "verb"), VERBS)
def test_a_verb_is_done_once_by_those_who_may(
    ask: Ask, resource: Resource, verb: Verb
) -> None:
    sample = SAMPLES[resource.name]
    number = sample.ready(verb.name)
    at, body = address_of(resource, verb, number), sample.bodies[verb.name]
    may = sample.may.get(verb.name, "fin")
    for name in PEOPLE.values():
        scope = scope_of(get_user_model().objects.get(username=name))
        if not resource.right.allows(scope):
            assert post(ask, name, at, body).status_code == 404
        elif not verb.right.allows(scope):
            assert post(ask, name, at, body).status_code == 403
    reader = ask(may, scopes=(f"read:{resource.name}",))
    refused = reader.post(f"/api/v1/{at}", body, content_type="application/json")
    assert refused.status_code == 403
    assert not IdempotencyKey.objects.exists()
    first = post(ask, may, at, body, "a key")
    assert first.status_code in (200, 201), first.content
    assert post(ask, may, at, body, "a key").json() == first.json()
    assert IdempotencyKey.objects.count() == 1
    if body:
        other = {**body, "reason": "It was agreed again, in December."}
        assert post(ask, may, at, other, "a key").status_code == 422
    if verb.name:
        again = post(ask, may, at, body)
        assert again.status_code == 409  # it is in another state now
        assert problem(again)["detail"]
        missing = address_of(resource, verb, 99999)
        assert post(ask, may, missing, body).status_code == 404


@pytest.mark.parametrize(("resource", "verb"), VERBS)
def test_a_body_names_what_is_missing_or_wrong(
    ask: Ask, resource: Resource, verb: Verb
) -> None:
    if verb.takes is None:
        return
    sample = SAMPLES[resource.name]
    at = address_of(resource, verb, sample.ready(verb.name))
    may = sample.may.get(verb.name, "fin")
    before = get(ask, "ana", resource.name).json()
    refused = problem(post(ask, may, at, {}))
    required = {one.name for one in values_of(verb.takes) if one.is_required}
    assert refused["status"] == 400
    assert {f"#/{name}" for name in required} == {
        one["pointer"] for one in refused["errors"]
    }
    short = problem(post(ask, may, at, sample.bodies[verb.name] | {"reason": "no"}))
    assert short["errors"][0]["pointer"] == "#/reason"
    assert get(ask, "ana", resource.name).json() == before
