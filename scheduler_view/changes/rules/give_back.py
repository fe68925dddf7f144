"""What an undo gives back of an object that was there before GPU Ledger changed it.

Only fields that GPU Ledger set are given back. If another manager has set one of them since, a
person must select the object: the undo would overwrite it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_view.clusters.rules.difference import FieldChange, selector_text
from scheduler_view.clusters.rules.former import Former, leaves
from scheduler_view.clusters.rules.json_operations import at_path
from scheduler_view.clusters.rules.live_objects import MANAGER, Manifest, Path, owners

SELECTOR = ("spec", "scopeSelector")
_CONTAINERS = frozenset(
    {("metadata", "labels"), ("metadata", "annotations"), ("spec",), ("spec", "hard")}
)


def former_of(
    body: Manifest | None,
    made: Manifest | None,
    live: Manifest | None,
    before: Manifest | None,
) -> Former | None:
    """What an object gets back; None if nothing that was there comes back.

    Args:
        body: our fields after the undo; None if GPU Ledger does not manage it then.
        made: our fields before the undo.
        live: the object.
        before: as it was before the change that is undone; None if it did not exist.
    """
    if before is None:
        return None
    kept = set(leaves(body or {}))
    if live is None:
        paths = set(leaves(before)) - kept
        comes_back = bool(paths)
    else:
        there = {p for p in leaves(made or {}) if at_path(before, p) is not None}
        paths = (_ours(live) | there) - kept - _CONTAINERS
        comes_back = body is None or any(
            at_path(before, path) is not None for path in paths
        )
    if not comes_back:
        return None
    order = tuple(sorted(paths))
    shared = shared_since(order, before, live)
    return Former(before, tuple(p for p in order if p not in shared), order)


def shared_since(
    paths: Sequence[Path], before: Manifest, live: Manifest | None
) -> set[Path]:
    """Fields that were missing, and that others set to our value since: they keep it."""
    managers = owners(live) if live is not None else {}
    return {
        path
        for path in paths
        if at_path(before, path) is None and managers.get(path, set()) > {MANAGER}
    }


def changes_back(former: Former, live: Manifest | None) -> tuple[FieldChange, ...]:
    """The fields whose value changes, from the present to the former one."""
    found = []
    for path in former.paths:
        now, then = _text(live, path), _text(former.manifest, path)
        if now != then:
            found.append(FieldChange(".".join(path), now, then))
    return tuple(found)


def written_since(former: Former, live: Manifest) -> dict[str, tuple[str, ...]]:
    """Fields that others have set or removed since; their managers, by field."""
    managers = owners(live)
    found = {}
    for path in former.paths:
        names = managers.get(path, set())
        if names == {MANAGER} or at_path(live, path) == at_path(former.manifest, path):
            continue
        found[".".join(path)] = tuple(sorted(names - {MANAGER}))
    return found


def conflict_message(
    changes: Sequence[FieldChange], since: Mapping[str, Sequence[str]]
) -> str:
    """Why an undo needs a person, as a sentence; empty if it needs none."""
    said = []
    for change in changes:
        if change.field not in since:
            continue
        now = "removed" if change.before is None else f"set to {change.before}"
        by = f" by {', '.join(since[change.field])}" if since[change.field] else ""
        then = "not set" if change.after is None else change.after
        name = change.field.removeprefix("spec.hard.")
        said.append(f"{name} was {now}{by} since; before, it was {then}")
    return f"{'; '.join(said)}. It changes only if you select it" if said else ""


def _ours(live: Manifest) -> set[Path]:
    return {path for path, names in owners(live).items() if MANAGER in names}


def _text(manifest: Manifest | None, path: Path) -> str | None:
    value: Any = None if manifest is None else at_path(manifest, path)
    if value is None:
        return None
    return selector_text(manifest or {}) if path == SELECTOR else str(value)
