"""The fields of a scheduler's objects that GPU Ledger may set, and how they are sent.

A field is named `PART/NAME`, such as `a100/nvidia.com/gpu/nominalQuota`, or only `NAME`, such
as `weight`. A value is text as typed, or None if the field is not set.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scheduler_view.clusters.rules.json_operations import at_path, set_path
from scheduler_view.clusters.rules.quantity import (
    QuantityError,
    parse_quantity,
    whole_gpus,
)
from scheduler_view.clusters.rules.quota_key import Added

Manifest = Mapping[str, Any]
Path = tuple[str | int, ...]
Values = Mapping[str, str | None]


class SentAs(StrEnum):
    """How a change is sent to the API server."""

    # JSON patch of single values inside an atomic list
    PATCH = "patch"
    # server-side apply of the fields that we own
    APPLY = "apply"


@dataclass(frozen=True, slots=True)
class QueueFields:
    """The fields of one kind of objects.

    Attributes:
        sent_as: how a change is sent.
        names: the fields of an object, for a cluster with some GPU resources.
        path: of a field in an object; None if the object does not have its part.
        raw: a value as JSON.
        unknown: why a text is not one of the fields; empty if it is.
        fault: why a value is not valid for a field; empty if it is.
        owned: the path of the managed field that contains a field, such as ("spec", "weight").
        resource: that a field counts: `nvidia.com/gpu`, "" for GPUs of any kind; None if it
            is not an amount.
        rules: what only the scheduler's webhook checks: faults of an object among all objects
            of its kind.
        doubts: what is valid, but may not work as expected, as sentences.
        used: the used amount of a part; None if not reported.
        marks: texts of an atomic list that must be unchanged when a patch is sent, by path.
        texts: names of fields that are texts; all others are quantities.
        required: names of fields that cannot be removed.
        fixed: names of objects that the scheduler does not let change.
    """

    sent_as: SentAs
    names: Callable[[Manifest, Iterable[str]], list[str]]
    path: Callable[[str, Manifest], Path | None]
    raw: Callable[[str, str], Any]
    unknown: Callable[[str, Added], str]
    fault: Callable[[str, str, Added], str]
    owned: Callable[[str], tuple[str, ...]]
    resource: Callable[[str], str | None]
    rules: Callable[[Manifest, Sequence[Manifest]], list[str]]
    doubts: Callable[[Manifest, Sequence[Manifest]], list[str]] = lambda _, __: []
    used: Callable[[Manifest, str], str | None] = lambda _, __: None
    marks: Callable[[Manifest], list[tuple[Path, str]]] = lambda _: []
    texts: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()

    @property
    def is_applied(self) -> bool:
        """True for fields with managers of their own."""
        return self.sent_as == SentAs.APPLY

    def value(self, manifest: Manifest, field: str) -> str | None:
        """The value of a field in an object, as text."""
        path = self.path(field, manifest)
        found = None if path is None else at_path(manifest, path)
        return None if found is None else shown(found)

    def values(self, manifest: Manifest, resources: Iterable[str] = ()) -> Values:
        """All fields of an object with their values."""
        names = self.names(manifest, resources)
        return {name: self.value(manifest, name) for name in names}

    def same(self, field: str, first: str | None, second: str | None) -> bool:
        """True if two values are equal: as quantities, because they are stored as typed."""
        if first == second:
            return True
        if first is None or second is None or field in self.texts:
            return False
        numbers = number_of(first), number_of(second)
        return None not in numbers and numbers[0] == numbers[1]

    def changed(self, manifest: Manifest, values: Values) -> dict[str, Any]:
        """A copy of an object with some fields set; None removes a field."""
        found = deepcopy(dict(manifest))
        for field, value in values.items():
            path = self.path(field, manifest)
            if path is not None:
                raw = None if value is None else self.raw(field, value)
                set_path(found, path, raw)
        return found


def part_of(field: str) -> str:
    """`a100/nvidia.com/gpu` of `a100/nvidia.com/gpu/nominalQuota`; empty without a part."""
    return field.rpartition("/")[0]


def name_of(field: str) -> str:
    """`nominalQuota` of `a100/nvidia.com/gpu/nominalQuota`."""
    return field.rpartition("/")[2]


def number_of(value: object) -> Any:
    """A quantity as an exact number; None if it is missing or not a quantity."""
    if value is None or isinstance(value, bool):
        return None
    try:
        return parse_quantity(shown(value))
    except QuantityError:
        return None


def shown(value: object) -> str:
    """A value of an object as text: `8`, `0.7`."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def quantity_fault(value: str, *, least: int = 0) -> str:
    """Why a text is not a quantity of at least some number; empty if it is."""
    try:
        number = parse_quantity(value)
    except QuantityError as error:
        return str(error)
    return "" if number >= least else f"{value} is below {least}"


def gpus_fault(value: str) -> str:
    """Why a text is not a number of GPUs; empty if it is."""
    try:
        whole_gpus(value)
    except QuantityError as error:
        return str(error)
    return ""


def integer_fault(value: str, least: int, most: int) -> str:
    """Why a text is not an integer in a range; empty if it is."""
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        return f"{value[:20]!r} is not a whole number"
    if not least <= int(value) <= most:
        return f"{value} is not between {least:,} and {most:,}"
    return ""
