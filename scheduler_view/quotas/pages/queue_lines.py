"""Values of queues on the page of quotas: inputs, and edits from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from scheduler_view.quotas.reads.queue_values import QueueFieldValue, QueuePart

PARTS = 5  # kind, name, field, version, value as shown


@dataclass(frozen=True, slots=True)
class QueueInput:
    """One field and its input."""

    value: QueueFieldValue
    name: str
    typed: str

    @property
    def was(self) -> str:
        """The shown value; empty if it is not set."""
        return _shown(self.value)

    @property
    def is_editable(self) -> bool:
        """False for a text of several lines, which an input would change."""
        return self.was.isprintable()


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One part of a queue, with its inputs."""

    row: QueuePart
    inputs: Sequence[QueueInput]

    @property
    def is_edited(self) -> bool:
        """True if a form that was not valid has other values."""
        return any(one.typed != one.was for one in self.inputs)


def queue_lines(
    parts: Sequence[QueuePart], typed: Mapping[str, Any]
) -> list[QueueLine]:
    """Lines of one cluster; with the values of a form that was not valid."""
    return [
        QueueLine(part, [_input(part, v, typed) for v in part.values]) for part in parts
    ]


def _input(
    part: QueuePart, value: QueueFieldValue, typed: Mapping[str, Any]
) -> QueueInput:
    was = _shown(value)
    name = "|".join(("n", part.kind, part.queue, value.field, str(value.version), was))
    return QueueInput(value, name, str(typed.get(name, was)))


def _shown(value: QueueFieldValue) -> str:
    """As an input sends it: without spaces around it."""
    return (value.value or "").strip()


def changed_queue_values(posted: QueryDict) -> list[dict[str, Any]]:
    """Queue edits, as in the API; an unchanged value is not an edit.

    The name of an input has the field and its shown value, as those of quotas.
    """
    found = []
    for name, value in posted.items():
        kind, _, rest = name.partition("|")
        parts = rest.split("|", PARTS - 1)
        typed = str(value).strip()
        if kind == "n" and len(parts) == PARTS and typed != parts[-1]:
            found.append(_edit(parts, typed))
    return found


def _edit(parts: Sequence[str], typed: str) -> dict[str, Any]:
    kind, name, field, version, _ = parts
    return {
        "kind": "queue",
        "object": kind,
        "name": name,
        "field": field,
        "value": typed or None,
        "version": int(version) if version.isdecimal() and len(version) < 19 else None,
    }
