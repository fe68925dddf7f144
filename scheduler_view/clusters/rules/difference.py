"""The differences of one object from its desired state, field by field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_view.clusters.rules.live_objects import (
    OWNER,
    OWNER_LABEL,
    Manifest,
    is_ours,
    owned_keys,
)
from scheduler_view.clusters.rules.quantity import gpus_or_none

OWNED_CLASS_FIELDS = ("value", "preemptionPolicy", "globalDefault", "description")
_DEFAULTS = {"preemptionPolicy": "PreemptLowerPriority", "globalDefault": False}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field; None if it is missing."""

    field: str
    before: str | None
    after: str | None


def field_changes(body: Mapping[str, Any], live: Manifest) -> tuple[FieldChange, ...]:
    """Fields that applying `body` would change; keys of other managers are not included."""
    after, before = wanted_fields(body), live_fields(live)
    if "spec" in body:
        ours = {f"spec.hard.{key}" for key in owned_keys(live)}
        before = {k: v for k, v in before.items() if k in after or k in ours}
        if "spec.scopeSelector" not in after and selector_text(live):
            before["spec.scopeSelector"] = selector_text(live)
    names = [*after, *(name for name in before if name not in after)]
    found = tuple(
        FieldChange(name, before.get(name), after.get(name))
        for name in names
        if not _same(before.get(name), after.get(name))
    )
    if is_ours(live):
        return found
    label = (live["metadata"].get("labels") or {}).get(OWNER_LABEL)
    return (*found, FieldChange(f"metadata.labels.{OWNER_LABEL}", label, OWNER))


def _same(before: str | None, after: str | None) -> bool:
    """Equal as text or as a number of GPUs: the API server writes `2000m` as `2`."""
    if before == after:
        return True
    number = gpus_or_none(before)
    return number is not None and number == gpus_or_none(after)


def wanted_fields(body: Mapping[str, Any]) -> dict[str, str]:
    """The fields that we set, as text."""
    if "spec" not in body:
        return {name: str(body[name]) for name in OWNED_CLASS_FIELDS}
    found = {f"spec.hard.{key}": str(v) for key, v in body["spec"]["hard"].items()}
    return found | ({"spec.scopeSelector": s} if (s := selector_text(body)) else {})


def live_fields(live: Manifest) -> dict[str, str]:
    """The same fields of a live object."""
    if "value" in live:
        return {
            name: str(live.get(name, _DEFAULTS.get(name, "")))
            if live.get(name) is not None
            else str(_DEFAULTS.get(name, ""))
            for name in OWNED_CLASS_FIELDS
        }
    hard = (live.get("spec") or {}).get("hard") or {}
    found = {f"spec.hard.{key}": str(value) for key, value in hard.items()}
    return found | ({"spec.scopeSelector": s} if (s := selector_text(live)) else {})


def selector_text(manifest: Manifest) -> str:
    """The scope selector of a quota as text; empty without one."""
    selector = (manifest.get("spec") or {}).get("scopeSelector") or {}
    terms = selector.get("matchExpressions") or []
    return "; ".join(
        " ".join(
            [
                term.get("scopeName", ""),
                term.get("operator", ""),
                *sorted(term.get("values") or []),
            ]
        )
        for term in terms
    )
