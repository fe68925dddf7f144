"""Teams, bindings and prices over the API: what is checked, what is written, what follows."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from accounting.access.models.teams import Binding, Team
from accounting.metering.models.ledger import DirtyHour
from accounting.prices.models.price import UnitPrice
from tests.integration.api.conftest import Ask, problem
from tests.story import Story

START = datetime(2026, 11, 20, tzinfo=UTC)
TEAM: dict[str, Any] = {"slug": "audio", "name": "Audio"}
BINDING: dict[str, Any] = {
    "kind": "namespace",
    "glob": "scratch",
    "team": "vision",
    "valid_from": "2026-11-20T00:00:00Z",
    "reason": "The experiment is theirs.",
}
PRICE: dict[str, Any] = {
    "model": "NVIDIA-A10",
    "rate_per_gpu_hour": "0.75",
    "cost_per_gpu_hour": "0.5",
    "valid_from": "2026-11-20T00:00:00Z",
    "reason": "Found in the contract.",
}
BODIES = {"teams": TEAM, "bindings": BINDING, "prices": PRICE}
TABLES = (Team, Binding, UnitPrice)
ABSENT = object()


def post(ask: Ask, address: str, body: object, name: str = "ana") -> Any:
    return ask(name).post(f"/api/v1/{address}", body, content_type="application/json")


def counts() -> list[int]:
    return [table._default_manager.count() for table in TABLES]


def history() -> list[tuple[str, str]]:
    """Actor and reason of every change, in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT metadata->>'actor', metadata->>'reason' FROM pghistory_context
               ORDER BY created_at"""
        )
        found: list[tuple[str, str]] = cursor.fetchall()
    return found


@pytest.mark.parametrize("address", BODIES)
@pytest.mark.parametrize("accept", ["text/csv", "text/csv;q=1, image/png", "text/html"])
def test_a_write_is_answered_as_json_or_not_done(
    ask: Ask, address: str, accept: str
) -> None:
    """CSV was a 500 after the team was there; now it is refused before anything happens."""
    before = counts()
    answer = ask("ana").post(
        f"/api/v1/{address}",
        BODIES[address],
        content_type="application/json",
        headers={"Accept": accept},
    )
    assert answer.status_code == 406
    problem(answer)
    assert counts() == before


@pytest.mark.parametrize(
    "accept", ["application/json", "*/*", "text/csv, application/json;q=0.1", ""]
)
def test_a_write_with_json_among_others_is_done(ask: Ask, accept: str) -> None:
    answer = ask("ana").post(
        "/api/v1/teams",
        TEAM,
        content_type="application/json",
        headers={"Accept": accept},
    )
    assert answer.status_code == 201
    assert answer.headers["Content-Type"] == "application/json"


def test_a_new_team(ask: Ask) -> None:
    answer = post(ask, "teams", TEAM)
    assert answer.status_code == 201
    assert answer.json() == {
        "slug": "audio",
        "name": "Audio",
        "department": "",
        "cost_centre": "",
        "leads": [],
    }
    assert answer.json() in ask("ana").get("/api/v1/teams").json()["rows"]
    assert history()[-1] == ("ana", "team audio")


def test_a_known_team_changes_only_in_what_is_given(ask: Ask) -> None:
    before = Team.objects.get(slug="vision")
    answer = post(ask, "teams", {"slug": "vision", "name": "Seeing"})
    assert answer.status_code == 200
    assert answer.json()["name"] == "Seeing"
    assert answer.json()["department"] == before.department != ""
    after = Team.objects.get(slug="vision")
    assert (after.pk, after.colour_slot) == (before.pk, before.colour_slot)


def test_a_new_rule_moves_usage_without_reading_metrics(ask: Ask) -> None:
    answer = post(ask, "bindings", BINDING)
    assert answer.status_code == 201
    row = answer.json()
    assert row["valid_from"] == "2026-11-20T00:00:00+00:00"
    assert (row["team"], row["glob"], row["valid_to"]) == ("vision", "scratch", None)
    assert row["position"] > max(
        Binding.objects.exclude(pk=row["id"]).values_list("position", flat=True)
    )
    assert row in ask("ana").get("/api/v1/bindings").json()["rows"]
    assert DirtyHour.objects.filter(reason="binding").count() > 0
    assert history()[-1] == ("ana", BINDING["reason"])


def test_a_new_price_ends_the_one_before_it(ask: Ask) -> None:
    body = PRICE | {"model": "NVIDIA-L40S"}
    answer = post(ask, "prices", body)
    assert answer.status_code == 201
    row = answer.json()
    assert row["rate_per_gpu_hour"] == "0.750000"
    assert (row["kind"], row["price_list"]) == ("rate", "Rates in EUR")
    assert row["currency"] == "EUR"  # bills are in it
    rates = UnitPrice.objects.filter(model="NVIDIA-L40S", kind="rate")
    old, new = rates.order_by("valid_from")
    assert old.valid_to == new.valid_from == START
    assert DirtyHour.objects.filter(reason="price").count() > 0
    assert history()[-1] == ("ana", PRICE["reason"])


def test_a_model_may_be_spelled_as_the_exporter_does(ask: Ask) -> None:
    answer = post(ask, "prices", PRICE | {"model": "NVIDIA A100-SXM4-80GB"})
    assert answer.json()["model"] == "NVIDIA-A100-SXM4-80GB"
    found = UnitPrice.objects.filter(
        kind="rate", model="NVIDIA-A100-SXM4-80GB", valid_to=None
    )
    assert [price.rate_per_gpu_hour for price in found] == [Decimal("0.75")]


def test_a_price_for_one_cluster_lifecycle_and_tier(ask: Ask) -> None:
    only = {"cluster": "north", "lifecycle": "spot", "tier": "low", "profile": "1g.5gb"}
    answer = post(ask, "prices", PRICE | only | {"cost_per_gpu_hour": None})
    assert answer.status_code == 201
    assert {key: answer.json()[key] for key in only} == only


@pytest.mark.parametrize("written", ["2026-11-20", "2026-11-20T00:00:00+01:00"])
def test_a_day_begins_at_midnight_in_the_billing_time_zone(
    ask: Ask, written: str
) -> None:
    answer = post(ask, "prices", PRICE | {"valid_from": written})
    assert answer.json()["valid_from"] == "2026-11-19T23:00:00+00:00"


LONG = "x" * 1000
WRONG: tuple[tuple[str, str, object, str], ...] = (
    ("teams", "slug", ABSENT, "required"),
    ("teams", "slug", "", "blank"),
    ("teams", "slug", "größe", "slug"),
    ("teams", "slug", "a b", "slug"),
    ("teams", "slug", "unmapped", "without a team"),
    ("teams", "slug", LONG, "63"),
    ("teams", "slug", None, "null"),
    ("teams", "slug", ["a"], "slug"),
    ("teams", "name", ABSENT, "required"),
    ("teams", "name", " ", "blank"),
    ("teams", "name", LONG, "200"),
    ("teams", "name", "a\x00b", "U+0000"),
    ("teams", "name", True, "string"),
    ("bindings", "kind", "node", "choice"),
    ("bindings", "glob", "", "blank"),
    ("bindings", "glob", LONG, "253"),
    ("bindings", "team", "nobody", "nobody"),
    ("bindings", "team", ABSENT, "required"),
    ("bindings", "valid_from", "soon", "ISO 8601"),
    ("bindings", "valid_from", "2026-11-20T10:00:00", "no offset"),
    ("bindings", "valid_from", "1969-01-01T00:00:00Z", "1970"),
    ("bindings", "valid_from", "0001-01-01T00:00:00+14:00", "1970"),
    ("bindings", "valid_from", 1790848800, "ISO 8601"),
    ("bindings", "position", -1, "greater"),
    ("bindings", "position", 10**12, "less"),
    ("bindings", "position", "first", "integer"),
    ("bindings", "label", "team", "does not take a label"),
    ("bindings", "reason", ABSENT, "required"),
    ("bindings", "reason", LONG, "200"),
    ("prices", "model", "", "blank"),
    ("prices", "profile", "half", "not a valid MIG profile"),
    ("prices", "profile", "9g.90gb", "more than one"),
    ("prices", "model", LONG, "200"),
    ("prices", "rate_per_gpu_hour", "-0.01", "greater"),
    ("prices", "rate_per_gpu_hour", "NaN", "number"),
    ("prices", "rate_per_gpu_hour", "Infinity", "number"),
    ("prices", "rate_per_gpu_hour", "1.0000001", "6 decimal"),
    ("prices", "rate_per_gpu_hour", "1000000", "6 digits before"),
    ("prices", "rate_per_gpu_hour", "1e400", "digits"),
    ("prices", "rate_per_gpu_hour", "two", "number"),
    ("prices", "cost_per_gpu_hour", "-1", "greater"),
    ("prices", "lifecycle", "sopt", "choice"),
    ("prices", "lifecycle", "unknown", "choice"),
    ("prices", "cluster", "nowhere", "nowhere"),
    ("prices", "currency", "USD", "costs are in the billing currency, EUR"),
    ("prices", "currency", "XXY", "not an ISO 4217 currency"),
    ("prices", "cost_per_gpu_hour", "1000000", "6 digits before"),
    ("prices", "valid_from", "2026-11-20T10:02:00Z", "five-minute"),
    ("prices", "valid_to", "2026-11-20T10:02:00Z", "five-minute"),
    ("prices", "valid_to", "2026-11-20T00:00:00Z", "ends before it begins"),
    ("prices", "valid_from", "2026-13-01", "ISO 8601"),
    ("prices", "profile", LONG, "64"),
    ("prices", "tier", LONG, "253"),
    ("prices", "reason", "", "blank"),
)


@pytest.mark.parametrize(("address", "member", "value", "words"), WRONG)
def test_a_wrong_member_is_named_and_nothing_is_written(
    ask: Ask, address: str, member: str, value: object, words: str
) -> None:
    body = BODIES[address] | {member: value}
    if value is ABSENT:
        del body[member]
    before = counts()
    answer = post(ask, address, body)
    assert answer.status_code == 400
    document = problem(answer)
    assert [error["pointer"] for error in document["errors"]] == [f"#/{member}"]
    assert words in document["errors"][0]["detail"]
    assert member in document["detail"]
    assert counts() == before


def test_every_wrong_member_is_named_at_once(ask: Ask) -> None:
    document = problem(post(ask, "prices", {"rate_per_gpu_hour": -1}))
    assert {error["pointer"] for error in document["errors"]} == {
        "#/model",
        "#/rate_per_gpu_hour",
        "#/valid_from",
        "#/reason",
    }


@pytest.mark.parametrize("kind", ["namespace_label", "pod_label"])
def test_a_rule_over_labels_needs_one(ask: Ask, kind: str) -> None:
    answer = post(ask, "bindings", BINDING | {"kind": kind})
    assert problem(answer)["errors"][0]["pointer"] == "#/label"
    made = post(ask, "bindings", BINDING | {"kind": kind, "label": "example.com/team"})
    assert made.status_code == 201


def test_the_same_rule_twice_is_refused(ask: Ask) -> None:
    assert post(ask, "bindings", BINDING).status_code == 201
    before = counts()
    again = post(ask, "bindings", BINDING | {"valid_from": "2026-11-21T00:00:00Z"})
    assert again.status_code == 400
    assert problem(again)["errors"][0]["pointer"] == "#"
    assert counts() == before


def test_a_price_from_the_same_time_replaces(ask: Ask) -> None:
    assert post(ask, "prices", PRICE).status_code == 201
    assert post(ask, "prices", PRICE | {"rate_per_gpu_hour": "0.8"}).status_code == 201
    [price] = UnitPrice.objects.filter(model="NVIDIA-A10", kind="rate")
    assert price.rate_per_gpu_hour == Decimal("0.8")


def test_a_cost_alone_leaves_the_rate(ask: Ask) -> None:
    """A cost has its own dates; it is of whole GPUs, and teams do not see it."""
    post(ask, "prices", PRICE)
    only = {"rate_per_gpu_hour": None, "cost_per_gpu_hour": "0.6", "lifecycle": "spot"}
    answer = post(ask, "prices", PRICE | only)
    assert answer.status_code == 201
    row = answer.json()
    assert (row["kind"], row["price_list"]) == ("cost", "Costs in EUR")
    assert (row["rate_per_gpu_hour"], row["cost_per_gpu_hour"]) == (None, "0.600000")
    found = UnitPrice.objects.filter(model="NVIDIA-A10").order_by("kind", "lifecycle")
    assert [(price.kind, str(price.rate_per_gpu_hour)) for price in found] == [
        ("cost", "0.500000"),
        ("cost", "0.600000"),
        ("rate", "0.750000"),
    ]


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"tier": "low"}, "#/cost_per_gpu_hour"),
        ({"profile": "1g.5gb"}, "#/cost_per_gpu_hour"),
        (
            {"rate_per_gpu_hour": None, "cost_per_gpu_hour": None},
            "#/rate_per_gpu_hour",
        ),
    ],
)
def test_what_a_cost_cannot_be(ask: Ask, more: dict[str, Any], pointer: str) -> None:
    before = counts()
    answer = post(ask, "prices", PRICE | more)
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["pointer"] == pointer
    assert counts() == before


def test_a_rate_may_be_in_another_currency(ask: Ask) -> None:
    foreign = {"currency": "USD", "cost_per_gpu_hour": None}
    row = post(ask, "prices", PRICE | foreign).json()
    assert (row["currency"], row["price_list"]) == ("USD", "Rates in USD")


def test_a_price_with_an_end_is_not_written_over_a_later_one(ask: Ask) -> None:
    """The later write is refused, in whatever currency; one with an open end is cut."""
    rate = {"cost_per_gpu_hour": None}
    post(ask, "prices", PRICE | rate)
    early = rate | {"valid_from": "2026-11-10T00:00:00Z", "currency": "USD"}
    before = counts()
    answer = post(ask, "prices", PRICE | early | {"valid_to": "2026-11-20T00:05:00Z"})
    assert answer.status_code == 409
    assert "from 2026-11-20T00:00Z on" in problem(answer)["detail"]
    assert counts() == before
    fits = post(ask, "prices", PRICE | early | {"valid_to": "2026-11-20T00:00:00Z"})
    assert fits.status_code == 201
    inside = {"valid_from": "2026-11-12T00:00:00Z", "valid_to": "2026-11-13T00:00:00Z"}
    assert post(ask, "prices", PRICE | rate | inside).status_code == 409


def test_a_price_before_a_later_one_ends_where_that_begins(ask: Ask) -> None:
    post(ask, "prices", PRICE)
    early = post(ask, "prices", PRICE | {"valid_from": "2026-11-10T00:00:00Z"})
    assert early.json()["valid_to"] == "2026-11-20T00:00:00+00:00"


@pytest.mark.parametrize("address", BODIES)
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("{", "application/json", 400),
        ("", "application/json", 400),
        ("[]", "application/json", 400),
        ('"text"', "application/json", 400),
        ("null", "application/json", 400),
        ("\udcff", "application/json", 400),
        ("[" * 100_000, "application/json", 400),
        ('{"slug": NaN}', "application/json", 400),
        ("a=b", "application/x-www-form-urlencoded", 415),
        ("<x/>", "application/xml", 415),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_body_that_is_no_object_is_refused(
    ask: Ask, address: str, body: str, kind: str, status: int
) -> None:
    before = counts()
    answer = ask("ana").post(
        f"/api/v1/{address}", body.encode(errors="surrogateescape"), content_type=kind
    )
    assert answer.status_code == status
    problem(answer)
    assert counts() == before


def test_a_write_takes_no_parameters(ask: Ask) -> None:
    answer = post(ask, "teams?dry_run=1", TEAM)
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["parameter"] == "dry_run"


def test_members_that_only_we_set_are_not_taken_from_a_body(
    ask: Ask, story: Story
) -> None:
    body = TEAM | {"leads": ["luis"], "colour_slot": 3, "id": 1}
    assert post(ask, "teams", body).status_code == 201
    team = Team.objects.get(slug="audio")
    assert not team.memberships.exists()
    assert team.pk != 1
