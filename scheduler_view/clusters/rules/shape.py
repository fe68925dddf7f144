"""The types that readers expect in objects of others; what has another type is left out and named.

The API server checks the types of its own kinds. What it checks of a scheduler's objects depends on
the definitions that are installed there, which may be of another version. One wrong field must not
hide the others, nor stop an observation (docs/quotas.md, "All limits").
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

from scheduler_view.clusters.rules.quantity import QuantityError, parse_quantity

LARGEST = 10**30  # a quantity; Kubernetes itself stops at 2^63
INT64 = 2**63
LONGEST = 60  # characters of a wrong value


@dataclass(frozen=True, slots=True)
class Plain:
    """A single value.

    Attributes:
        noun: what it must be: `a quantity`.
        holds: whether a value is one.
    """

    noun: str
    holds: Callable[[Any], bool]


class Fields(dict[str, "Shape"]):
    """The fields that are read of a mapping; others stay as they are."""


@dataclass(frozen=True, slots=True)
class Named:
    """A mapping with any names."""

    of: "Shape"


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    of: "Shape"


@dataclass(frozen=True, slots=True)
class Nested:
    """Mappings of mappings: managed fields.

    Attributes:
        depth: how many levels there may be.
    """

    depth: int = 40


Shape = Plain | Fields | Named | Items | Nested


def shaped(value: object, shape: Shape, faults: list[str], path: str = "") -> Any:
    """A value without the parts that have a wrong type; None if all of it has.

    A missing or null part is not wrong. A wrong mapping in a list is emptied, so that the others
    keep their places, which patches name.

    Args:
        value: as the API server sent it.
        shape: what is expected.
        faults: gets a sentence for each wrong part, without a period.
        path: of the value: `spec.resourceGroups[0]`.
    """
    if value is None:
        return None
    if not _is_of(value, shape):
        faults.append(f"{path} is {_said(value)}, not {_noun(shape)}")
        return None
    if isinstance(value, list) and isinstance(shape, Items):
        return _list(value, shape.of, faults, path)
    if isinstance(value, Mapping):
        return _mapping(value, shape, faults, path)
    return value


def _list(value: list[Any], of: Shape, faults: list[str], path: str) -> list[Any]:
    found = []
    for number, one in enumerate(value):
        place = f"{path}[{number}]"
        if one is None:
            faults.append(f"{place} is missing")
        kept = shaped(one, of, faults, place)
        if kept is not None or not isinstance(of, Plain):
            found.append({} if kept is None else kept)
    return found


def _mapping(
    value: Mapping[str, Any], shape: Shape, faults: list[str], path: str
) -> dict[str, Any]:
    found = dict(value)
    for name in value:
        inner: Shape | None = None
        if isinstance(shape, Fields):
            inner = shape.get(name)
        elif isinstance(shape, Named):
            inner = shape.of
        elif isinstance(shape, Nested):
            inner = Nested(shape.depth - 1)
        if inner is None:
            continue
        kept = shaped(value[name], inner, faults, f"{path}.{name}" if path else name)
        if kept is None:
            del found[name]
        else:
            found[name] = kept
    return found


def _is_of(value: object, shape: Shape) -> bool:
    if isinstance(shape, Plain):
        return shape.holds(value)
    if isinstance(shape, Nested) and not shape.depth:
        return False
    return isinstance(value, list if isinstance(shape, Items) else Mapping)


def _noun(shape: Shape) -> str:
    if isinstance(shape, Plain):
        return shape.noun
    return "a list" if isinstance(shape, Items) else "an object"


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = value if isinstance(value, str) else str(value)
    cut = f"{text[:LONGEST]}..." if len(text) > LONGEST else text
    return f'"{cut}"' if isinstance(value, str) else cut


def _is_whole(value: object) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return -INT64 <= value < INT64


def _is_quantity(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if isinstance(value, float):
        return isfinite(value) and abs(value) <= LARGEST
    try:
        return abs(parse_quantity(str(value))) <= LARGEST
    except QuantityError:
        return False


def _is_time(value: object) -> bool:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return found is not None and found.tzinfo is not None and 1 < found.year < 9999


TEXT = Plain("a text", lambda value: isinstance(value, str))
FLAG = Plain("true or false", lambda value: isinstance(value, bool))
WHOLE = Plain("a whole number", _is_whole)
QUANTITY = Plain("a quantity", _is_quantity)
TIME = Plain("a time", _is_time)
TEXTS, LABELS, AMOUNTS = Items(TEXT), Named(TEXT), Named(QUANTITY)
CONDITIONS = Items(
    Fields(type=TEXT, status=TEXT, reason=TEXT, message=TEXT, lastTransitionTime=TIME)
)
METADATA = Fields(
    name=TEXT,
    namespace=TEXT,
    uid=TEXT,
    resourceVersion=TEXT,
    generation=WHOLE,
    creationTimestamp=TIME,
    deletionTimestamp=TIME,
    labels=LABELS,
    annotations=LABELS,
    finalizers=TEXTS,
    ownerReferences=Items(Fields(kind=TEXT, name=TEXT, uid=TEXT, controller=FLAG)),
    managedFields=Items(
        Fields(
            manager=TEXT,
            operation=TEXT,
            apiVersion=TEXT,
            subresource=TEXT,
            time=TIME,
            fieldsV1=Nested(),
        )
    ),
)
