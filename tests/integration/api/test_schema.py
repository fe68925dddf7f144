"""The published schema: valid OpenAPI 3, and true of what the addresses answer."""

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.validation import validate_schema
from jsonschema import ValidationError

from accounting.core.ledger_line import STATES
from accounting.kit.reads.dimensions import FILTERS, LEDGER_DIMENSIONS, USAGE_DIMENSIONS
from accounting.organization.actions.tokens import SCOPES
from scheduler_view.changes.models import ChangeState
from tests.integration.api.conftest import Ask
from tests.integration.api.contract import check, plain, schema

MONTH = "/api/v1/periods/{period}"
REOPEN, OVERRIDES = f"{MONTH}/reopen", f"{MONTH}/overrides"
KEYED_MONTHS = {
    *(f"{MONTH}/check", f"{MONTH}/close", f"{REOPEN}/{{number}}/confirm"),
    "/api/v1/overrides/{number}/confirm",
}
KEYED_MONEY = {
    *KEYED_MONTHS,
    *(REOPEN, OVERRIDES, "/api/v1/adjustments", "/api/v1/exports"),
}
MONTH_LISTS = ("bill-variance", "checks", "methods", "statements")
PREVIEW = "/api/v1/prices/preview"  # stores nothing
CONTEST = "/api/v1/statements/{team}/{period}/contests"
ON_VERSION = {f"{MONTH}/close", REOPEN}  # of months: with If-Match


def is_keyed(path: str, method: str) -> bool:
    """Whether a write is done once for each key; steps of change sets are on a version."""
    if method == "get" or path == PREVIEW:
        return False
    if "change-sets" in path:
        return path in ("/api/v1/change-sets", "/api/v1/change-sets/{number}/undo")
    return True


LISTS = {scope.removeprefix("read:") for scope in SCOPES if scope.startswith("read:")}


def component(name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()["components"]["schemas"][name]
    return found


def test_it_is_valid_openapi_without_a_warning(tmp_path: Any) -> None:
    assert schema()["openapi"].startswith("3.")
    validate_schema(schema())  # type: ignore[no-untyped-call]
    errors = io.StringIO()
    call_command(
        *("spectacular", "--validate", "--fail-on-warn"),
        *("--file", str(tmp_path / "schema.yaml")),
        stderr=errors,
    )
    assert "Warning" not in errors.getvalue()


def test_anybody_may_read_it_as_json_or_yaml(client: Client) -> None:
    as_yaml = client.get("/api/v1/schema")
    assert as_yaml.headers["Content-Type"].startswith("application/vnd.oai.openapi")
    assert as_yaml.content.startswith(b"openapi: 3.")
    assert client.get("/api/v1/schema?format=json").json() == schema()


def test_every_list_of_the_design_is_there() -> None:
    paths = {p: found for p, found in schema()["paths"].items() if "{" not in p}
    for name in ("preview", "import"):
        assert set(paths.pop(f"/api/v1/prices/{name}")) == {"post"}
    for name in OBJECTS:
        assert set(paths.pop(name)) == {"get"}
    assert set(paths) == {f"/api/v1/{name}" for name in LISTS}
    for path, operations in paths.items():
        writes = path.rsplit("/", 1)[1] in {
            "teams",
            "bindings",
            "prices",
            "price-lists",
            "change-sets",
            "what-ifs",
            "kube-state-jobs",
            "conversion-rates",
            "budgets",
            "bills",
            "adjustments",
            "exports",
        }
        assert set(operations) == ({"get", "post"} if writes else {"get"})
    one = {p: set(found) for p, found in schema()["paths"].items() if "{" in p}
    begin = "/api/v1/change-sets/{number}"
    verbs = ("leave-out", "plan", "approve", "apply", "undo", "discard", "decline")
    posts = {f"{begin}/{verb}": {"post"} for verb in verbs}
    posts["/api/v1/budgets/{number}/end"] = {"post"}
    contest = "/api/v1/contests/{number}"
    posts |= {f"{contest}/{verb}": {"post"} for verb in CONTEST_STEPS}
    posts |= {contest: {"get"}, CONTEST: {"post"}}
    idle = "/api/v1/idle-holders/{number}"
    posts |= {f"{idle}/{verb}": {"post"} for verb in ("ask", "ignore")} | {
        idle: {"get"}
    }
    alert = "/api/v1/alerts/{number}"
    posts |= {f"{alert}/{verb}": {"post"} for verb in ("archive", "restore")} | {
        alert: {"get"}
    }
    bill = "/api/v1/bills/{number}"
    posts |= {f"{bill}/final": {"post"}, bill: {"get"}}
    posts |= {f"{bill}/{rows}": {"get"} for rows in ("variance", "unmatched")}
    posts["/api/v1/price-lists/{number}"] = {"patch"}
    what_if = "/api/v1/what-ifs/{number}"
    posts |= {what_if: {"get"}, f"{what_if}/cancel": {"post"}}
    month = "/api/v1/periods/{period}"
    gets = {month, *(f"{month}/{name}" for name in MONTH_LISTS)}
    gets |= {"/api/v1/statements/{team}/{period}"}
    gets |= {"/api/v1/exports/{number}", "/api/v1/exports/{number}/file"}
    reads = {path: {"get"} for path in gets}
    posts |= {path: {"post"} for path in KEYED_MONTHS}
    both = (f"{MONTH}/close", REOPEN, OVERRIDES)
    posts |= {path: {"get", "post"} for path in both}
    assert one == {begin: {"get", "patch", "put"}} | posts | reads


@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_list_is_documented_as_what_it_is(name: str) -> None:
    get = schema()["paths"][f"/api/v1/{name}"]["get"]
    whole = plain(get["responses"]["200"]["content"]["application/json"]["schema"])
    assert whole["type"] == "object"
    assert set(whole["required"]) == {"rows", "next"}
    assert whole["properties"]["rows"]["type"] == "array"
    assert get["responses"]["200"]["content"]["text/csv"]["schema"]["type"] == "string"
    assert {"limit", "cursor", "format"} <= {p["name"] for p in get["parameters"]}


CONTEST_STEPS = ("answer", "accept", "reopen", "withdraw")
OBJECTS = {"/api/v1/", "/api/v1/explanation"}  # not lists: without cursors
PAGED = {f"{MONTH}/statements", REOPEN, OVERRIDES}


def test_every_refusal_is_a_problem_document() -> None:
    for path, operations in schema()["paths"].items():
        for method, operation in operations.items():
            refusals = {c: a for c, a in operation["responses"].items() if c >= "400"}
            expected = {"400", "401", "403", "404", "406", "429", "503"}
            if method != "get":
                expected |= {"409", "413", "415"}
            elif (
                ("{" not in path and path not in OBJECTS)
                or path in PAGED
                or path.endswith(("variance", "/unmatched"))
            ):
                expected |= {"410"}
            if path.endswith("/file"):
                expected |= {"409", "410", "416"}
            expected |= {"409"} if path == f"{MONTH}/methods" else set()
            if path in ON_VERSION and method == "post":
                expected |= {"412", "428"}
            if is_keyed(path, method):
                expected |= {"422"}
            if "change-sets" in path and method != "get":
                expected |= set() if is_keyed(path, method) else {"412", "428"}
            assert set(refusals) == expected, (path, method)
            for answer in refusals.values():
                assert list(answer["content"]) == ["application/problem+json"]
                assert answer["description"]
            assert "Retry-After" in refusals["429"]["headers"]


def _parameters(path: str, method: str) -> dict[str, dict[str, Any]]:
    operation = schema()["paths"][path][method]
    return {one["name"]: one for one in operation.get("parameters", ())}


def test_a_client_can_check_parameters_before_it_asks() -> None:
    found = _parameters("/api/v1/usage", "get")
    limit = found["limit"]["schema"]
    assert (limit["type"], limit["minimum"], limit["maximum"]) == ("integer", 1, 5000)
    assert limit["default"] == 500
    for name in ("from", "to"):
        formats = [one["format"] for one in found[name]["schema"]["oneOf"]]
        assert formats == ["date-time", "date"]
    assert found["format"]["schema"]["enum"] == ["csv", "json"]


def test_if_match_is_required_where_it_is() -> None:
    for path, operations in schema()["paths"].items():
        for method in operations:
            found = _parameters(path, method)
            is_step = "change-sets/" in path and method != "get"
            is_step = is_step and not is_keyed(path, method)
            is_step = is_step or (path in ON_VERSION and method == "post")
            assert ("If-Match" in found) == is_step, (path, method)
            if is_step:
                assert found["If-Match"]["required"]
            assert ("Idempotency-Key" in found) == is_keyed(path, method)


def test_a_write_offers_json_only() -> None:
    for path, operations in schema()["paths"].items():
        for method, operation in operations.items():
            if method == "get":
                continue
            assert "format" not in _parameters(path, method), path
            for status, answer in operation["responses"].items():
                if status < "400":
                    assert list(answer["content"]) == ["application/json"], path


def test_rows_have_the_fields_of_the_design() -> None:
    usage = component("UsageRow")
    assert set(usage["required"]) == {
        *("allocated_ms", "busy_ms", "idle_ms", "unknown_ms"),
        *("allocated_gpu_hours", "busy_gpu_hours"),
        *("idle_gpu_hours", "unknown_gpu_hours"),
        *("efficiency", "coverage", "charge", "idle_charge", "currency"),
        *("unpriced_gpu_hours", "estimated"),
        *("energy_joules", "peak_memory_bytes"),
        *("sm_active", "tensor_active", "dram_active"),
    }
    assert set(usage["properties"]) - set(usage["required"]) == {
        *USAGE_DIMENSIONS,
        *("workload_kind", "uid"),
    }
    ledger = component("LedgerRow")
    assert set(ledger["required"]) == {
        *(f"{state}_ms" for state in (*STATES, "wall")),
        *(f"{state}_charge" for state in (*STATES, "wall")),
        *("currency", "unpriced_gpu_hours"),
    }
    assert set(ledger["properties"]) - set(ledger["required"]) == {*LEDGER_DIMENSIONS}


def test_parameters_are_those_that_work() -> None:
    for name, by in (("usage", True), ("ledger", True), ("data-issues", False)):
        found = {
            one["name"]
            for one in schema()["paths"][f"/api/v1/{name}"]["get"]["parameters"]
        }
        filters = set(FILTERS) if by else {"cluster", "state"}
        paging = {"limit", "cursor", "format"}
        excludes = {f"not_{one}" for one in FILTERS}
        own = {
            "usage": {"by", "as", "only", "columns", "close"} | excludes,
            "ledger": {"by", "as"},
        }.get(name, set())
        assert found == {"from", "to"} | filters | paging | own


def test_amounts_are_those_that_a_list_answers() -> None:
    """Charges are stored lines: they have no measured money."""
    found = {
        name: parameter["schema"]["enum"]
        for name in ("usage", "ledger", "charges")
        for parameter in schema()["paths"][f"/api/v1/{name}"]["get"]["parameters"]
        if parameter["name"] == "as"
    }
    stored = ["booked", "corrected"]
    assert {name: sorted(values) for name, values in found.items()} == {
        "usage": [*stored, "measured"],
        "ledger": [*stored, "measured"],
        "charges": stored,
    }


def test_tokens_are_documented() -> None:
    schemes = schema()["components"]["securitySchemes"]
    assert schemes["token"] == {"type": "http", "scheme": "bearer"}
    for operations in schema()["paths"].values():
        for operation in operations.values():
            assert {"token": []} in operation["security"]
            assert {} not in operation["security"]  # none of them is open to all


@pytest.mark.parametrize("by", [*USAGE_DIMENSIONS, ",".join(USAGE_DIMENSIONS), ""])
def test_usage_by_anything_is_as_documented(ask: Ask, by: str) -> None:
    start = "&from=2026-11-20T13:00:00Z" if "," in by else ""
    answer = ask("ana").get(f"/api/v1/usage?by={by}{start}")  # the client checks it
    assert answer.json()["rows"]


@pytest.mark.parametrize("by", [*LEDGER_DIMENSIONS, ",".join(LEDGER_DIMENSIONS), ""])
def test_ledger_by_anything_is_as_documented(ask: Ask, by: str) -> None:
    start = "&from=2026-11-20T13:00:00Z" if "," in by else ""
    answer = ask("ana").get(f"/api/v1/ledger?by={by}{start}")
    assert answer.json()["rows"]


def test_the_check_itself_can_fail(ask: Ask) -> None:
    """Else all that it passes would mean nothing."""
    answer = ask("ana").get("/api/v1/usage?by=team")
    answer.content = answer.content.replace(b'"allocated_ms":', b'"allocated":')
    with pytest.raises(ValidationError):
        check("/api/v1/usage", "get", answer)


@pytest.mark.parametrize(
    ("path", "states"),
    [
        ("/api/v1/change-sets", set(ChangeState.values)),
        ("/api/v1/data-issues", {"open", "resolved", "all"}),
    ],
)
def test_states_are_those_of_the_list(path: str, states: set[str]) -> None:
    parameters = schema()["paths"][path]["get"]["parameters"]
    (state,) = [one for one in parameters if one["name"] == "state"]
    assert set(state["schema"]["enum"]) == states
