"""The body of a what-if in OpenAPI: the file of `manage.py simulate`, as pydantic describes it.

OpenAPI 3.0 differs from JSON Schema in bounds that are excluded, in null and in constants.
"""

from collections.abc import Mapping
from typing import Any

from scheduler_view.what_if.tasks.request import WeeksFile

_NULL = {"type": "null"}
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def what_if_body() -> dict[str, Any]:
    """The schema by media type, without references."""
    schema = WeeksFile.model_json_schema()
    sections: dict[str, Any] = schema.pop("$defs", {})
    return {"application/json": _part(schema, sections)}


def _part(part: Mapping[str, Any], sections: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one value.

    Args:
        part: in JSON Schema.
        sections: what its references mean.
    """
    if "$ref" in part:
        return _part(sections[part["$ref"].rpartition("/")[2]], sections)
    found: dict[str, Any] = {}
    for key, one in part.items():
        if key == "properties":
            found[key] = {name: _part(inner, sections) for name, inner in one.items()}
        elif key == "anyOf":
            found |= _either(one, sections)
        elif key in ("items", "additionalProperties") and isinstance(one, Mapping):
            found[key] = _part(one, sections)
        elif key in _BOUNDS:
            found |= {_BOUNDS[key]: one, key: True}
        elif key == "const":
            found["enum"] = [one]
        elif key != "title" and not (key == "default" and one is None):
            found[key] = one
    return found


def _either(
    parts: list[Mapping[str, Any]], sections: Mapping[str, Any]
) -> dict[str, Any]:
    """One of several; null is the same as leaving the value out, and is not offered."""
    given = [_part(one, sections) for one in parts if one != _NULL]
    return given[0] if len(given) == 1 else {"anyOf": given}
