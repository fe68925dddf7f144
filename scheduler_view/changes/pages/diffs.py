"""The effect of a step on its object, as lines of YAML: before and after."""

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import yaml

from scheduler_view.changes.reads.change_row import StepRow
from scheduler_view.clusters.rules.former import from_stored, whole_body
from scheduler_view.clusters.rules.json_operations import at_path, set_path
from scheduler_view.clusters.rules.live_objects import CLASS
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS

HARD, LABELS, SELECTOR = "spec.hard.", "metadata.labels.", "spec.scopeSelector"
_CLASS_FIELDS = ("value", "preemptionPolicy", "globalDefault", "description")
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line; `mark` is a space, `-` or `+`. None if a side has no line."""

    mark: str
    left: str | None
    right: str | None

    @property
    def text(self) -> str:
        """The line if both sides are in one column."""
        return (self.left if self.mark == "-" else self.right) or ""


def unified(step: StepRow) -> list[DiffLine]:
    """All lines in one column: removed lines, then added lines."""
    found: list[DiffLine] = []
    for old, new in _blocks(step):
        if old == new:
            found += [DiffLine(" ", line, line) for line in old]
            continue
        found += [DiffLine("-", line, None) for line in old]
        found += [DiffLine("+", None, line) for line in new]
    return found


def side_by_side(step: StepRow) -> list[DiffLine]:
    """Two columns of the same length."""
    found: list[DiffLine] = []
    for old, new in _blocks(step):
        mark = " " if old == new else "~"
        for i in range(max(len(old), len(new))):
            left = old[i] if i < len(old) else None
            right = new[i] if i < len(new) else None
            found.append(DiffLine(mark, left, right))
    return found


def after_text(step: StepRow) -> str:
    """The sent object as YAML, for another tool that manages the object in Git."""
    return "" if step.body is None else _yaml(step.body)


def _blocks(step: StepRow) -> list[tuple[Sequence[str], Sequence[str]]]:
    old = _yaml(_shown(step.before)).splitlines() if step.before else []
    after = _after(step)
    new = _yaml(after).splitlines() if after else []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [(old[a:b], new[c:d]) for _, a, b, c, d in matcher.get_opcodes()]


def _yaml(body: Body) -> str:
    return yaml.safe_dump(dict(body), sort_keys=False, allow_unicode=True)


def _shown(live: Body) -> dict[str, Any]:
    """The parts of a live object that a person can set: no status, no uid."""
    meta = live.get("metadata") or {}
    kept = {
        name: meta[name] for name in ("name", "namespace", "labels") if name in meta
    }
    found: dict[str, Any] = {
        "apiVersion": live.get("apiVersion"),
        "kind": live.get("kind"),
        "metadata": kept,
    }
    if "spec" in live:
        return found | {"spec": live["spec"]}
    return found | {name: live[name] for name in _CLASS_FIELDS if name in live}


def _after(step: StepRow) -> dict[str, Any] | None:
    """The object after the step: other managers' fields are kept."""
    former = from_stored(step.former)
    if former is not None and step.before is None:
        return whole_body(former, step.body)
    if step.body is None and former is None:
        return None
    if step.before is None or step.action == "replace":
        return dict(step.body or {})
    if step.kind in QUEUE_FIELDS:
        values = {field: after for field, _, after in step.changes}
        return QUEUE_FIELDS[step.kind].changed(_shown(step.before), values)
    found = copy.deepcopy(_shown(step.before))
    for path in former.paths if former else ():
        set_path(found, path, at_path(former.manifest if former else {}, path))
    back = {".".join(path) for path in former.paths} if former else set()
    _set_fields(step, found, back)
    return found


def _set_fields(step: StepRow, found: dict[str, Any], back: Collection[str]) -> None:
    """Set the changed fields, except those that are given back."""
    body = step.body or {}
    for field, _, value in step.changes:
        if field in back:
            continue
        if field.startswith(HARD):
            _set(
                found.setdefault("spec", {}).setdefault("hard", {}), field, HARD, value
            )
        elif field.startswith(LABELS):
            labels = found["metadata"].setdefault("labels", {})
            _set(labels, field, LABELS, value)
        elif field == SELECTOR:
            found["spec"].pop("scopeSelector", None)
            selector = (body.get("spec") or {}).get("scopeSelector")
            found["spec"] |= {"scopeSelector": selector} if selector else {}
        elif step.kind == CLASS:
            found[field] = body.get(field)


def _set(place: dict[str, Any], field: str, prefix: str, value: str | None) -> None:
    name = field.removeprefix(prefix)
    if value is None:
        place.pop(name, None)
    else:
        place[name] = value
