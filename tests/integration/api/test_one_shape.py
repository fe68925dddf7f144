"""The shape of a row is in one place: a field of a serializer is a member everywhere."""

import io
import json
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework import serializers

from accounting.kit.api.documents import document
from accounting.kit.serializers.row import NumberField
from accounting.organization.actions.tokens import SCOPES
from accounting.usage.serializers import UsageRowSerializer
from tests.integration.api.conftest import CSV
from tests.integration.conftest import SignIn


@pytest.fixture
def more_fields(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two more fields: one that rows have, and one of their second column."""
    document.cache_clear()
    declared = UsageRowSerializer._declared_fields
    samples = serializers.IntegerField(source="samples_used")
    monkeypatch.setitem(declared, "samples", samples)
    watts = NumberField(source="hard.power_watts", allow_null=True)
    monkeypatch.setitem(declared, "watts", watts)
    yield
    document.cache_clear()


@pytest.mark.usefixtures("more_fields")
def test_one_more_field_is_in_json_csv_schema_and_command(sign_in: SignIn) -> None:
    client = sign_in("ana")
    rows = client.get("/api/v1/usage?by=team").json()["rows"]
    assert all(row["samples"] > 0 for row in rows)
    file = client.get("/api/v1/usage?by=team", headers=CSV).getvalue().decode()
    assert file.splitlines()[0].endswith(",samples,watts")
    printed = io.StringIO()
    call_command("report", "usage", "--by=team", "--format=json", stdout=printed)
    assert json.loads(printed.getvalue())["rows"] == rows
    found = client.get("/api/v1/schema?format=json").json()
    shape = found["components"]["schemas"]["UsageRow"]
    assert shape["properties"]["samples"]["type"] == "integer"
    assert {"samples", "watts"} <= set(shape["required"])
    assert list(rows[0]) == [n for n in shape["properties"] if n in rows[0]]


LISTS = sorted(one.removeprefix("read:") for one in SCOPES if one.startswith("read:"))


@pytest.mark.parametrize("name", LISTS)
def test_members_are_in_the_order_of_the_schema(sign_in: SignIn, name: str) -> None:
    client: Client = sign_in("ana")
    gpu = client.get("/api/v1/gpus?limit=1&from=2026-11-20").json()["rows"][0]["gpu"]
    query = f"?gpu={gpu}" if name == "gpu-steps" else ""
    rows = client.get(f"/api/v1/{name}{query}").json()["rows"]
    schema = client.get("/api/v1/schema?format=json").json()
    get = schema["paths"][f"/api/v1/{name}"]["get"]["responses"]["200"]
    reference = get["content"]["application/json"]["schema"]["$ref"]
    envelope = schema["components"]["schemas"][reference.rpartition("/")[2]]
    of_row = envelope["properties"]["rows"]["items"]["$ref"].rpartition("/")[2]
    shape = schema["components"]["schemas"][of_row]["properties"]
    for row in rows[:50]:
        assert list(row) == [member for member in shape if member in row]
