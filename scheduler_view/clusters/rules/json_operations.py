"""Operations of JSON patches (RFC 6902) on objects, by the paths of their fields."""

from collections.abc import Mapping, Sequence
from typing import Any

Steps = Sequence[str | int]


def operation(verb: str, path: Steps, value: Any) -> dict[str, Any]:
    """An operation with a value: `test`, `add`, `replace`."""
    return {"op": verb, "path": pointer(path), "value": value}


def write(path: Steps, now: Any, value: Any) -> dict[str, Any]:
    """The operation that sets a field that has a value now, or none; None removes it."""
    if value is None:
        return {"op": "remove", "path": pointer(path)}
    return operation("add" if now is None else "replace", path, value)


def pointer(path: Steps) -> str:
    """`/metadata/labels/a~1b`."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)


def at_path(manifest: object, path: Steps) -> Any:
    """The value at a path of an object; None if it is missing."""
    found = manifest
    for step in path:
        if isinstance(step, int):
            is_there = isinstance(found, Sequence) and step < len(found)
        else:
            is_there = isinstance(found, Mapping) and step in found
        if not is_there:
            return None
        found = found[step]  # type: ignore[index]  # `is_there` has checked it
    return found


def parents_of(path: tuple[str, ...], live: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Containers of a field that an object lacks, the outer first."""
    above = (path[:length] for length in range(1, len(path)))
    return [one for one in above if at_path(live, one) is None]


def set_path(manifest: dict[str, Any], path: Steps, value: Any) -> None:
    """Set the value at a path, in mappings that are created if they are missing."""
    found: Any = manifest
    for step in path[:-1]:
        found = found[step] if isinstance(step, int) else found.setdefault(step, {})
    if value is None:
        found.pop(path[-1], None)
    else:
        found[path[-1]] = value
