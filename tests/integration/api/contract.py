"""Holds answers against the schema that the product publishes of itself."""

import json
import re
from datetime import date, datetime
from functools import cache
from typing import Any

from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker

ENOUGH = 200  # rows of a long list that are looked at
_formats = FormatChecker(formats=[])


@_formats.checks("date-time", raises=ValueError)  # type: ignore[untyped-decorator]
def _is_instant(text: object) -> bool:
    return datetime.fromisoformat(str(text)).tzinfo is not None


@_formats.checks("date", raises=ValueError)  # type: ignore[untyped-decorator]
def _is_day(text: object) -> bool:
    return bool(date.fromisoformat(str(text)))


@cache
def schema() -> dict[str, Any]:
    """The published schema."""
    answer = Client(SERVER_NAME="localhost").get("/api/v1/schema?format=json")
    assert answer.status_code == 200
    found: dict[str, Any] = json.loads(answer.content)
    return found


def plain(node: Any) -> Any:
    """OpenAPI 3.0 as JSON Schema: references put in, `nullable` spelled out, rows closed."""
    if isinstance(node, list):
        return [plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/components/schemas/")
        return plain(schema()["components"]["schemas"][name])
    found = {key: plain(value) for key, value in node.items()}
    if "properties" in found:
        found["additionalProperties"] = False
    if found.pop("nullable", False):
        found = {"anyOf": [found, {"type": "null"}]}
    return found


@cache
def _validator(path: str, method: str, status: int, kind: str) -> Draft202012Validator:
    operation = schema()["paths"][path][method]
    answer = operation["responses"].get(str(status))
    assert answer, f"{method} {path} does not say that it answers {status}"
    assert kind in answer["content"], f"{path} {status} does not say that it is {kind}"
    wanted = plain(answer["content"][kind]["schema"])
    return Draft202012Validator(wanted, format_checker=_formats)


@cache
def _path_of(address: str) -> str:
    """The path of the schema that an address is of; "" for none."""
    for path in sorted(schema()["paths"], key=lambda path: path.count("{")):
        if re.fullmatch(re.sub(r"\{[a-z]+\}", "[^/]+", path), address):
            return str(path)
    return ""


class CheckedClient(Client):
    """A client that fails on every answer that the schema does not allow."""

    def request(self, **request: Any) -> Any:
        """The answer, after a look at it."""
        answer = super().request(**request)
        path = _path_of(request["PATH_INFO"])
        method = request["REQUEST_METHOD"].lower()
        if method in schema()["paths"].get(path, {}):
            check(path, method, answer)
        return answer


def check(path: str, method: str, answer: Any) -> None:
    """Fail when an answer is not what the schema says of its address."""
    if answer.status_code == 304:
        assert "304" in schema()["paths"][path][method]["responses"]
        return
    kind = answer.headers["Content-Type"].split(";")[0]
    validator = _validator(path, method, answer.status_code, kind)
    if answer.streaming:  # read here, and given back for the test to read
        answer.streaming_content = [answer.getvalue()]
        body: Any = ""
    elif kind.endswith("json"):
        body = json.loads(answer.content)
    else:
        body = answer.content.decode()
    if isinstance(body, dict) and isinstance(body.get("rows"), list):
        body["rows"] = body["rows"][:ENOUGH]
    validator.validate(body)
