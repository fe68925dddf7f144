"""Server-side apply: which manager has which field of an object.

Maps merge key by key; all other values, including lists, are atomic. Fields of quotas and priority
classes behave like this on a real server.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from portal.demo.kube_api.refusals import StatusError

Path = tuple[str, ...]
Manifest = dict[str, Any]
_UNMANAGED_TOP = frozenset({"apiVersion", "kind", "status"})
_ATOMIC = "scopeSelector"  # one field of a quota
_MANAGED_META = frozenset({"labels", "annotations", "finalizers"})


def leaves(manifest: Mapping[str, Any]) -> dict[Path, Any]:
    """The managed fields of an object, by path."""
    found: dict[Path, Any] = {}
    for key, value in manifest.items():
        if key == "metadata":
            for name in _MANAGED_META & set(value):
                found |= dict(_below((key, name), value[name]))
        elif key not in _UNMANAGED_TOP:
            found |= dict(_below((key,), value))
    return found


def apply(live: Manifest, body: Manifest, manager: str, *, force: bool) -> Manifest:
    """The object after a manager applied its fields; `live` is not changed.

    Raises:
        StatusError: other managers have fields that would change (409).
    """
    made = copy.deepcopy(live)
    wanted, have = leaves(body), leaves(live)
    differing = {path for path, value in wanted.items() if have.get(path) != value}
    taken = _conflicts(made, manager, differing)
    if taken and not force:
        raise _conflict(body, taken)
    mine = _entry(made, manager, "Apply")
    dropped = _paths(mine["fieldsV1"]) - set(wanted)
    for entry in _entries(made):
        if entry is not mine:
            dropped -= _paths(entry["fieldsV1"])
            if force:
                _set_paths(entry, _paths(entry["fieldsV1"]) - differing)
    for path in dropped:
        _unset(made, path)
    for path, value in wanted.items():
        _set(made, path, value)
    _set_paths(mine, set(wanted))
    return _tidied(made)


def update(live: Manifest, made: Manifest, manager: str) -> Manifest:
    """The object after a plain write: the writer becomes the only manager of its fields."""
    before, after = leaves(live), leaves(made)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    if not changed:
        return made
    for entry in _entries(made):
        _set_paths(entry, _paths(entry["fieldsV1"]) - changed)
    mine = _entry(made, manager, "Update")
    _set_paths(mine, _paths(mine["fieldsV1"]) | (changed & set(after)))
    return _tidied(made)


def merge(live: Any, change: Mapping[str, Any]) -> Any:
    """A JSON merge patch (RFC 7396)."""
    made = dict(live) if isinstance(live, Mapping) else {}
    for key, value in change.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, Mapping):
            made[key] = merge(made.get(key), value)
        else:
            made[key] = value
    return made


def _below(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and value and path[-1] != _ATOMIC:
        for key, inner in value.items():
            yield from _below((*path, key), inner)
    else:
        yield path, value


def _conflicts(made: Manifest, manager: str, differing: set[Path]) -> list[Any]:
    found = []
    for entry in _entries(made):
        is_mine = (entry["manager"], entry["operation"]) == (manager, "Apply")
        if not is_mine:
            found += [
                (entry["manager"], path)
                for path in sorted(_paths(entry["fieldsV1"]) & differing)
            ]
    return found


def _conflict(body: Manifest, taken: list[tuple[str, Path]]) -> StatusError:
    version = body.get("apiVersion", "v1")
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{manager}" using {version}',
            "field": f".{'.'.join(path)}",
        }
        for manager, path in taken
    ]
    count = f"{len(causes)} conflict{'' if len(causes) == 1 else 's'}"
    words = "; ".join(f"{c['message']}: {c['field']}" for c in causes)
    return StatusError(409, f"Apply failed with {count}: {words}", causes=causes)


def _entries(made: Manifest) -> list[dict[str, Any]]:
    """The managed fields of the object, without its status."""
    fields = made["metadata"].setdefault("managedFields", [])
    return [entry for entry in fields if "subresource" not in entry]


def _entry(made: Manifest, manager: str, operation: str) -> dict[str, Any]:
    for entry in _entries(made):
        if (entry["manager"], entry["operation"]) == (manager, operation):
            return entry
    entry = {
        "manager": manager,
        "operation": operation,
        "apiVersion": made.get("apiVersion", "v1"),
        "time": now(),
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
    }
    made["metadata"]["managedFields"].append(entry)
    return entry


def _tidied(made: Manifest) -> Manifest:
    """Without managers that have no fields left."""
    fields = made["metadata"]["managedFields"]
    made["metadata"]["managedFields"] = [e for e in fields if e["fieldsV1"]]
    return made


def _set_paths(entry: dict[str, Any], paths: Iterable[Path]) -> None:
    fields: dict[str, Any] = {}
    for path in sorted(paths):
        inner = fields
        for name in path:
            inner = inner.setdefault(f"f:{name}", {})
    if fields != entry["fieldsV1"]:
        entry["fieldsV1"], entry["time"] = fields, now()


def _paths(fields: Mapping[str, Any], above: Path = ()) -> set[Path]:
    found: set[Path] = set()
    for name, inner in fields.items():
        path = (*above, name.removeprefix("f:"))
        found |= _paths(inner, path) if inner else {path}
    return found


def _set(made: Manifest, path: Path, value: Any) -> None:
    inner = made
    for name in path[:-1]:
        if not isinstance(inner.get(name), dict):
            inner[name] = {}
        inner = inner[name]
    if not (value == {} and inner.get(path[-1])):
        inner[path[-1]] = copy.deepcopy(value)


def _unset(made: Manifest, path: Path) -> None:
    inner: Any = made
    for name in path[:-1]:
        inner = inner.get(name)
        if not isinstance(inner, dict):
            return
    inner.pop(path[-1], None)


def now() -> str:
    """The current time in the format of an API server."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
