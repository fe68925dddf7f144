"""Edits from a request, validated one by one.

The same edits come from pages, the API and files; faults name their position.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler_view.changes.rules.edit import (
    MOST_EDITS,
    Edit,
    EditFault,
    EditsRefused,
    QueueEdit,
    QuotaEdit,
    TierEdit,
)
from scheduler_view.clusters.rules.quantity import QuantityError, whole_gpus
from scheduler_view.clusters.rules.quota_key import (
    NONE_ADDED,
    Added,
    KeyRefused,
    quota_key,
)
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.clusters.rules.schedulers.queue_fields import name_of, shown
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.quotas.rules.tiers import TierSpec, tier_faults

QUOTA_FIELDS = (
    "kind",
    "team",
    "resource",
    "gpus",
    "tier",
    "rule",
    "weights",
    "version",
)
TIER_FIELDS = (
    "kind",
    "name",
    "value",
    "preempts",
    "is_default",
    "description",
    "in_place",
    "class_name",
    "remove",
    "version",
)
LONGEST_VALUE = 2048  # characters; a description of Kueue has as many
MOST_VALUE = 10**18  # bytes of memory fit
QUEUE_EDIT_FIELDS = (
    "kind",
    "object",
    "name",
    "field",
    "value",
    "release",
    "version",
)


def edits_from(given: object, added: Added = NONE_ADDED) -> list[Edit]:
    """Edits from the values of JSON or YAML.

    Args:
        given: the values.
        added: resources that an administrator added.

    Raises:
        EditsRefused: with every fault that can be found without a database.
    """
    if not isinstance(given, list) or not given:
        raise EditsRefused(
            [EditFault(0, "edits", "must be a list with at least one edit")]
        )
    if len(given) > MOST_EDITS:
        raise EditsRefused([EditFault(0, "edits", f"more than {MOST_EDITS:,} edits")])
    faults: list[EditFault] = []
    found: list[Edit] = []
    seen: dict[tuple[str, ...], int] = {}
    for index, item in enumerate(given):
        edit = _edit(index, item, faults, added)
        if edit is None:
            continue
        if edit.key in seen:
            text = f"it is for the same object as edit {seen[edit.key] + 1}"
            faults.append(EditFault(index, "edits", text))
        seen.setdefault(edit.key, index)
        found.append(edit)
    if faults:
        raise EditsRefused(faults)
    return found


class _EditReader:
    """The values of one edit; collects their faults."""

    def __init__(
        self, index: int, values: Mapping[str, Any], faults: list[EditFault]
    ) -> None:
        self.index, self.values, self.faults = index, values, faults

    def fail(self, name: str, text: str) -> None:
        self.faults.append(EditFault(self.index, name, text))

    def allow(self, names: Iterable[str]) -> None:
        known = tuple(names)
        for name in self.values:
            if name not in known:
                text = f"unknown; use one of: {', '.join(known)}"
                self.fail(str(name), text)

    def text(self, name: str, *, longest: int, default: str | None = None) -> str:
        value = self.values.get(name, default)
        if value is None:
            self.fail(name, "is missing")
        elif not isinstance(value, str):
            self.fail(name, "must be a text")
        elif len(value) > longest:
            self.fail(name, f"is longer than {longest} characters")
        elif not value.isprintable():
            self.fail(name, "has a control character in it")
        else:
            return value
        return ""

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            self.fail(name, "must be true or false")
            return default
        return value

    def number(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(name, "must be a whole number")
            return None
        return value


def _edit(
    index: int, item: object, faults: list[EditFault], added: Added
) -> Edit | None:
    if not isinstance(item, Mapping):
        faults.append(EditFault(index, "edits", "must be a mapping"))
        return None
    reader, before = _EditReader(index, item, faults), len(faults)
    kind = item.get("kind")
    if kind == "quota":
        edit: Edit | None = _quota(reader, added)
    elif kind == "tier":
        edit = _tier(reader)
    elif kind == "queue":
        edit = _queue(reader, added)
    else:
        reader.fail("kind", "must be quota, tier or queue")
        return None
    return edit if len(faults) == before else None


def _quota(reader: _EditReader, added: Added) -> QuotaEdit:
    reader.allow(QUOTA_FIELDS)
    gpus, known = None, len(reader.faults)
    resource = reader.text("resource", longest=400)
    try:
        resource = (
            quota_key(resource, added).resource if len(reader.faults) == known else ""
        )
    except KeyRefused as error:
        reader.fail("resource", str(error))
    if "gpus" not in reader.values:
        reader.fail("gpus", "is missing; use null to remove the quota")
    elif reader.values["gpus"] is not None:
        gpus = _gpus(reader, "gpus", reader.values["gpus"])
    return QuotaEdit(
        team=reader.text("team", longest=63),
        resource=resource,
        gpus=gpus,
        tier=reader.text("tier", longest=63, default=""),
        rule=_rule(reader),
        weights=_weights(reader),
        version=reader.number("version"),
    )


def _rule(reader: _EditReader) -> SplitRule | None:
    """None if it is not given: the quota keeps its own."""
    if "rule" not in reader.values:
        return None
    rule = reader.text("rule", longest=20)
    if rule in set(SplitRule):
        return SplitRule(rule)
    reader.fail("rule", f"must be one of {', '.join(SplitRule)}")
    return None


def _weights(reader: _EditReader) -> dict[str, int]:
    given = reader.values.get("weights") or {}
    if not isinstance(given, Mapping):
        reader.fail("weights", "must be a mapping of namespaces to whole numbers")
        return {}
    found = {}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            reader.fail("weights", f"{name}: must be a whole number, 0 or more")
        else:
            found[str(name)] = value
    return found


def _gpus(reader: _EditReader, name: str, value: object) -> int | None:
    if not isinstance(value, str | int | float):
        reader.fail(name, "must be a number of GPUs")
        return None
    try:
        return whole_gpus(value if isinstance(value, int) else str(value))
    except QuantityError as error:
        reader.fail(name, str(error))
        return None


def _tier(reader: _EditReader) -> TierEdit:
    reader.allow(TIER_FIELDS)
    remove = reader.flag("remove", default=False)
    value = reader.number("value")
    if value is None and not remove and "value" not in reader.values:
        reader.fail("value", "is missing")
    spec = TierSpec(
        name=reader.text("name", longest=253),
        value=value or 0,
        preempts=reader.flag("preempts", default=True),
        is_default=reader.flag("is_default", default=False) and not remove,
        description=reader.text("description", longest=500, default=""),
    )
    for text in tier_faults(spec):
        is_value = text.startswith("value")
        reader.fail("value" if is_value else "name", text)
    return TierEdit(
        spec,
        remove=remove,
        in_place=reader.flag("in_place", default=False),
        class_name=_class_name(reader),
        version=reader.number("version"),
    )


def _class_name(reader: _EditReader) -> str:
    """The class that a tier takes over; empty for one of its own."""
    name = reader.text("class_name", longest=253, default="")
    if name.startswith("system-"):
        reader.fail("class_name", "classes of Kubernetes cannot be taken over")
    return name


def _queue(reader: _EditReader, added: Added) -> QueueEdit:
    reader.allow(QUEUE_EDIT_FIELDS)
    kind = reader.text("object", longest=63)
    fields = QUEUE_FIELDS.get(kind)
    if kind and fields is None:
        reader.fail("object", f"must be one of {', '.join(QUEUE_FIELDS)}")
    name = reader.text("name", longest=253)
    field = reader.text("field", longest=600)
    release = reader.flag("release", default=False)
    value = _value(reader)
    if fields is None:
        return QueueEdit(kind, name, field, value, release, reader.number("version"))
    if name in fields.fixed:
        reader.fail("name", f"the scheduler does not allow changes of {name}")
    is_left = release and fields.is_applied
    if fault := fields.unknown(field, added):
        reader.fail("field", fault)
    elif is_left and value is not None:
        reader.fail("value", "must be null with release: the field is left to others")
    elif value is not None and (fault := fields.fault(field, value, added)):
        reader.fail("value", fault)
    elif value is None and name_of(field) in fields.required and not is_left:
        reader.fail("value", f"{name_of(field)} cannot be removed")
    return QueueEdit(kind, name, field, value, release, reader.number("version"))


def _value(reader: _EditReader) -> str | None:
    value = reader.values.get("value")
    if "value" not in reader.values:
        reader.fail("value", "is missing; use null for a field that must not be set")
    elif value is None:
        return None
    elif isinstance(value, bool) or not isinstance(value, str | int | float):
        reader.fail("value", "must be a number or a text")
    elif isinstance(value, int) and abs(value) > MOST_VALUE:
        reader.fail("value", f"is not between -{MOST_VALUE:,} and {MOST_VALUE:,}")
    elif len(text := shown(value).strip()) > LONGEST_VALUE or not text.isprintable():
        reader.fail(
            "value", f"is longer than {LONGEST_VALUE} characters, or not printable"
        )
    elif not text:
        reader.fail("value", "is missing; use null for a field that must not be set")
    else:
        return text
    return None
