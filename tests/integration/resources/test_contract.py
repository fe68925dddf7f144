"""What every declared list keeps (`accounting/kit/resources`): REST, CSV, `report`, rights, verbs.

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

from accounting.access.scope import scope_of
from accounting.kit.inputs import values_of
from accounting.kit.models.idempotency import IdempotencyKey
from accounting.kit.resources.resource import Resource, Verb
from accounting.kit.serializers.csv_text import csv_cell
from accounting.kit.serializers.declared import item_serializer_of, serializer_of
from accounting.resources import RESOURCES as MONEY
from scheduler_view.resources import RESOURCES as SCHEDULING
from tests.integration.access.test_twins import PEOPLE
from tests.integration.access.test_twins import rows as table
from tests.integration.api.conftest import Ask, ask, problem
from tests.integration.conftest import NOW
from tests.integration.metering.support import report
from tests.integration.resources.samples import SAMPLES
from tests.story import Story

__all__ = ["ask"]  # a fixture
RESOURCES = (*MONEY, *SCHEDULING)
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
def test_a_list_is_the_same_on_every_way(
    ask: Ask, story: Story, resource: Resource
) -> None:
    SAMPLES[resource.name].make(story)
    rows = get(ask, "ana", resource.name).json()["rows"]
    members = list(serializer_of(resource.row)().measures())
    assert len(rows) >= 1
    assert [list(row) for row in rows] == [members] * len(rows)
    assert lines_of(ask, resource) == [members, *map(cells, rows)]
    assert paged(ask, resource) == rows
    assert report(resource.name) == rows
    for name in PEOPLE.values():
        user = get_user_model().objects.get(username=name)
        if not resource.right.allows(scope_of(user)):
            assert problem(get(ask, name, resource.name))["status"] == 404
        elif "team" in resource.filters:
            check_team(ask, resource, name)
    if "team" in resource.filters:
        assert get(ask, "luis", f"{resource.name}?team=search").status_code == 404
        own = [row for row in rows if row["team"] == "vision"]
        assert report(resource.name, team="vision") == own
    wrong = get(ask, "ana", f"{resource.name}?nonsense=1")
    assert problem(wrong)["errors"][0]["parameter"] == "nonsense"


def lines_of(ask: Ask, resource: Resource) -> list[list[str]]:
    """The file of a list."""
    text = get(ask, "ana", f"{resource.name}?format=csv").content.decode()
    return list(csv.reader(io.StringIO(text)))


def cells(row: dict[str, Any]) -> list[str]:
    """A row in a file."""
    return [csv_cell(value) for value in row.values()]


def paged(ask: Ask, resource: Resource) -> list[dict[str, Any]]:
    """A list in pages of one row; of a long one, in pages that make ten."""
    size = 1 + len(get(ask, "ana", resource.name).json()["rows"]) // 10
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        more = f"&cursor={cursor}" if cursor else ""
        page = get(ask, "ana", f"{resource.name}?limit={size}{more}").json()
        found += page["rows"]
        cursor = page["next"]
    return found


def check_team(ask: Ask, resource: Resource, name: str) -> None:
    """A filter by team, and the border of a lead's team."""
    rows = get(ask, name, resource.name).json()["rows"]
    own = get(ask, name, f"{resource.name}?team=vision").json()["rows"]
    assert own == [row for row in rows if row["team"] == "vision"]
    if name == "luis":
        assert {row["team"] for row in rows} <= {"vision", None}


@pytest.mark.parametrize(
    "resource", [pytest.param(one, id=one.name) for one in RESOURCES if one.about_item]
)
def test_an_item_is_its_row_with_details(
    ask: Ask, story: Story, resource: Resource
) -> None:
    number = SAMPLES[resource.name].make(story)
    answer = get(ask, "ana", f"{resource.name}/{number}")
    rows = {row["id"]: row for row in get(ask, "ana", resource.name).json()["rows"]}
    item = answer.json()
    assert {name: item[name] for name in rows[number]} == rows[number]
    assert list(item) == list(item_serializer_of(resource.row)().measures())
    assert get(ask, "ana", f"{resource.name}/99999").status_code == 404


@pytest.mark.parametrize("resource", EVERY)
def test_the_table_of_rights_says_the_same(
    ask: Ask, story: Story, resource: Resource
) -> None:
    """`docs/access.md` has a line for the list, and one that names each of its verbs' addresses."""
    del ask, story
    [line] = [one for one in table("Reading") if one["REST"] == f"`{resource.name}`"]
    for title, name in PEOPLE.items():
        scope = scope_of(get_user_model().objects.get(username=name))
        assert (line[title] == "-") == (not resource.right.allows(scope)), title
    if resource.verbs:
        assert any(f"{resource.name}`" in one["REST"] for one in table("Writing"))


@pytest.mark.parametrize(("resource", "verb"), VERBS)
def test_a_verb_is_done_once_by_those_who_may(
    ask: Ask, story: Story, resource: Resource, verb: Verb
) -> None:
    sample = SAMPLES[resource.name]
    number = sample.ready(verb.name, story)
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
    ask: Ask, story: Story, resource: Resource, verb: Verb
) -> None:
    if verb.takes is None:
        return
    sample = SAMPLES[resource.name]
    at = address_of(resource, verb, sample.ready(verb.name, story))
    may = sample.may.get(verb.name, "fin")
    before = get(ask, "ana", resource.name).json()
    refused = problem(post(ask, may, at, {}))
    required = {one.name for one in values_of(verb.takes) if one.is_required}
    assert refused["status"] == 400
    assert {f"#/{name}" for name in required} == {
        one["pointer"] for one in refused["errors"]
    }
    [text] = [
        one.name for one in values_of(verb.takes) if one.size and one.size[0] == 10
    ]  # what is said to people: a reason, mostly
    short = problem(post(ask, may, at, sample.bodies[verb.name] | {text: "no"}))
    assert short["errors"][0]["pointer"] == f"#/{text}"
    assert get(ask, "ana", resource.name).json() == before
