"""An object as it was before GPU Ledger changed it, and how its fields are given back.

A field that GPU Ledger sets belongs to it: without a value that is set again, an undo would remove
what others had set. So the object is kept as it was read, and given back: values first, then the
managers of these fields (`metadata.managedFields`), as `kubectl` does when it moves fields from one
manager to another. Fields that GPU Ledger does not own are not touched.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_view.clusters.rules.json_operations import (
    at_path,
    operation,
    parents_of,
    set_path,
    write,
)
from scheduler_view.clusters.rules.live_objects import (
    MANAGER,
    Manifest,
    Path,
    entries,
    owners,
)

_IDENTITY = ("manager", "operation", "apiVersion", "subresource")
NO_MANAGERS: list[dict[str, Any]] = [{}]  # the API server ignores an empty list


@dataclass(frozen=True, slots=True)
class Former:
    """What an object gets back.

    Attributes:
        manifest: the object as it was, with its managers.
        paths: fields that get their value back; one that was missing is removed.
        owned: fields that get their managers back.
    """

    manifest: Manifest
    paths: tuple[Path, ...] = ()
    owned: tuple[Path, ...] = ()


def as_stored(former: Former | None) -> dict[str, Any] | None:
    """JSON of a value."""
    if former is None:
        return None
    paths, owned = ([list(one) for one in way] for way in (former.paths, former.owned))
    return {"manifest": former.manifest, "paths": paths, "owned": owned}


def from_stored(stored: Mapping[str, Any] | None) -> Former | None:
    """The value of `as_stored`."""
    if stored is None:
        return None
    paths, owned = (tuple(map(tuple, stored[name])) for name in ("paths", "owned"))
    return Former(stored["manifest"], paths, owned)


def is_given_back(former: Former, live: Manifest | None) -> bool:
    """True if an object has all values and managers that it gets back."""
    if live is None or value_operations(former, live):
        return False
    return same_managers(managers_after(former, live), _managed(live))


def value_operations(former: Former, live: Manifest) -> list[dict[str, Any]]:
    """The JSON patch of the values; empty if they are as before.

    Present values are tested, so that nothing is overwritten that was written meanwhile.
    """
    found: list[dict[str, Any]] = []
    done: set[Path] = set()
    for path in former.paths:
        place = _place_of(path, former, live)
        now, then = at_path(live, place), at_path(former.manifest, place)
        if now == then or place in done:
            continue
        if now is not None:
            found.append(operation("test", place, now))
        missing = [one for one in parents_of(place, live) if one not in done]
        found += [operation("add", one, {}) for one in missing]
        done |= {place, *missing}
        found.append(write(place, now, then))
    return found and [_uid_test(live), *found]


def _place_of(path: Path, former: Former, live: Manifest) -> Path:
    """What is written of a field: its container, if that was not there and gets empty."""
    gone = {p for p in former.paths if at_path(former.manifest, p) is None}
    above = path[:-1]
    while len(above) > 1 and at_path(former.manifest, above) is None:
        below = {one for one in leaves(live) if one[: len(above)] == above}
        if not below <= gone:
            break
        path, above = above, above[:-1]
    return path


def manager_operations(former: Former, live: Manifest) -> list[dict[str, Any]]:
    """The JSON patch of the managers; empty if they are as before."""
    after = managers_after(former, live)
    if same_managers(after, _managed(live)):
        return []
    version = live["metadata"]["resourceVersion"]
    return [
        _uid_test(live),
        operation("test", ("metadata", "resourceVersion"), version),
        operation("add", ("metadata", "managedFields"), after or NO_MANAGERS),
    ]


def managers_after(former: Former, live: Manifest) -> list[dict[str, Any]]:
    """`managedFields` with the fields that are given back at their managers of before.

    A manager keeps what it has set since. A manager whose fields are the same as before also gets
    its time of before.
    """
    owned = set(former.owned)
    mine = {path for path, names in owners(live).items() if MANAGER in names} & owned
    before = {_identity(one): one for one in entries(former.manifest)}
    after = {}
    for one in _managed(live):
        fields = one.get("fieldsV1") or {}
        if one.get("manager") == MANAGER and one.get("subresource") != "status":
            fields = _without(fields, owned)
        after[_identity(one)] = dict(one) | {"fieldsV1": fields}
    for key, one in before.items():
        part = _part(one["fieldsV1"], mine)
        if part:
            now = after.get(key, dict(one) | {"fieldsV1": {}})
            after[key] = now | {"fieldsV1": _joined(now["fieldsV1"], part)}
    for key, one in before.items():
        if key in after and after[key]["fieldsV1"] == one["fieldsV1"]:
            after[key] = dict(one)
    return [one for one in after.values() if one["fieldsV1"]]


def without_us(before: Manifest, origin: Manifest) -> dict[str, Any]:
    """An object as if GPU Ledger had never set a field of it.

    Args:
        before: the object with fields of GPU Ledger.
        origin: the object before GPU Ledger set any.
    """
    managers = owners(before)
    ours = tuple(sorted(path for path, names in managers.items() if MANAGER in names))
    found = copy.deepcopy(dict(before))
    for path in ours:
        set_path(found, path, at_path(origin, path))
    former = Former(origin, ours, ours)
    found["metadata"]["managedFields"] = managers_after(former, before)
    return found


def same_managers(
    first: Iterable[Mapping[str, Any]], second: Iterable[Mapping[str, Any]]
) -> bool:
    """True if two lists have the same managers with the same fields; times do not count."""
    return _by_manager(first) == _by_manager(second)


def whole_body(former: Former, body: Manifest | None) -> dict[str, Any]:
    """All of an object that does not exist any more, as it is created again.

    Args:
        former: what it was.
        body: our fields of it; they win.
    """
    found = {
        name: copy.deepcopy(value)
        for name, value in former.manifest.items()
        if name not in ("metadata", "status")
    }
    meta = former.manifest["metadata"]
    names = ("name", "namespace", "labels", "annotations", "finalizers")
    found["metadata"] = {n: copy.deepcopy(meta[n]) for n in names if n in meta}
    return _joined(found, body or {})


def leaves(manifest: Manifest) -> list[Path]:
    """The fields of an object that managers can own, except those that identify it."""
    found: list[Path] = []
    for name, value in manifest.items():
        if name == "metadata":
            for part in ("labels", "annotations", "finalizers"):
                found += _below((name, part), value.get(part))
        elif name not in ("apiVersion", "kind", "status"):
            found += _below((name,), value)
    return found


def _below(path: Path, value: Any) -> list[Path]:
    if not isinstance(value, Mapping):
        return [] if value is None else [path]
    if path[-1] == "scopeSelector":  # atomic
        return [path]
    return [
        found for name, inner in value.items() for found in _below((*path, name), inner)
    ]


def _managed(live: Manifest) -> Sequence[Mapping[str, Any]]:
    return live["metadata"].get("managedFields") or []


def _identity(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in _IDENTITY)


def _by_manager(found: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], Any]:
    return {_identity(one): one.get("fieldsV1") for one in found if one}


def _uid_test(live: Manifest) -> dict[str, Any]:
    return operation("test", ("metadata", "uid"), live["metadata"]["uid"])


def _without(fields: Mapping[str, Any], paths: set[Path]) -> dict[str, Any]:
    """Fields of a manager without some; a container that has no others goes too."""
    found = {}
    for name, inner in fields.items():
        step = name.removeprefix("f:")
        if (step,) in paths:
            continue
        below = {path[1:] for path in paths if path[0] == step and len(path) > 1}
        left = _without(inner, below) if below else inner
        if below and not left.keys() - {"."}:
            continue
        found[name] = left
    return found


def _part(fields: Mapping[str, Any], paths: set[Path]) -> dict[str, Any]:
    """The part of a manager's fields that some paths are; with their containers."""
    found: dict[str, Any] = {}
    for name, inner in fields.items():
        step = name.removeprefix("f:")
        if (step,) in paths:
            found[name] = inner
            continue
        below = {path[1:] for path in paths if path[0] == step and len(path) > 1}
        part = _part(inner, below) if below else {}
        if part:
            found[name] = ({".": inner["."]} if "." in inner else {}) | part
    return found


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings; at the same place, the second wins."""
    found = dict(first)
    for name, inner in second.items():
        old = found.get(name)
        if isinstance(old, Mapping) and isinstance(inner, Mapping):
            found[name] = _joined(old, inner)
        else:
            found[name] = inner
    return found
