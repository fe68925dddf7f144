"""Reads parts of an object as the API server sent it; a part of a wrong type counts as missing."""

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, TypeGuard

from scheduler_view.clusters.rules.quantity import QuantityError, parse_quantity

Manifest = Mapping[str, Any]
NOTHING: Manifest = {}


def part(value: object, *path: str) -> Manifest:
    """The mapping at a path; empty if there is none."""
    for name in path:
        value = value.get(name) if _is_mapping(value) else None
    return value if _is_mapping(value) else NOTHING


def _is_mapping(value: object) -> TypeGuard[Manifest]:
    return type(value) is dict or isinstance(value, Mapping)  # the first is much faster


def items(value: object, *path: str) -> list[Manifest]:
    """The mappings in the list at a path."""
    found = part(value, *path[:-1]).get(path[-1])
    if not isinstance(found, list):
        return []
    return [one for one in found if _is_mapping(one)]


def text(value: object, *path: str) -> str:
    """The text at a path; empty if there is none."""
    found = part(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, str) else ""


def texts(value: object, *path: str) -> tuple[str, ...]:
    """The texts in the list at a path."""
    found = part(value, *path[:-1]).get(path[-1])
    if not isinstance(found, list):
        return ()
    return tuple(one for one in found if isinstance(one, str))


def labels(value: object, *path: str) -> dict[str, str]:
    """The texts by name at a path."""
    return {k: v for k, v in part(value, *path).items() if isinstance(v, str)}


def whole(value: object, *path: str) -> int | None:
    """The integer at a path; None for anything else."""
    found = part(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def is_true(value: object, *path: str) -> bool:
    """Whether the value at a path is true, and not only truthy."""
    return part(value, *path[:-1]).get(path[-1]) is True


def instant_ms(value: object, *path: str) -> int | None:
    """The instant at a path in milliseconds since 1970; None if it is not one."""
    written = text(value, *path)
    try:
        found = datetime.fromisoformat(written) if written else None
    except ValueError:
        return None
    if found is None:
        return None
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


def amounts(value: object, *path: str) -> dict[str, int]:
    """Quantities by resource in thousandths, rounded up; what is not a quantity is left out."""
    found = {name: milli(one) for name, one in part(value, *path).items()}
    return {name: one for name, one in found.items() if one is not None}


def milli(value: object) -> int | None:
    """A quantity in thousandths, rounded up, at least 0; None if it is not one."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return _milli(str(value))


@lru_cache(maxsize=4096)
def _milli(written: str) -> int | None:
    try:
        return max(0, ceil(parse_quantity(written) * 1000))
    except QuantityError:
        return None


_BINARY = (("Ti", 1024**4), ("Gi", 1024**3), ("Mi", 1024**2), ("Ki", 1024))


def quantity(thousandths: int) -> str:
    """Thousandths as Kubernetes writes a quantity: `16`, `500m`, `512Gi`."""
    if thousandths % 1000:
        return f"{thousandths}m"
    number = thousandths // 1000
    for suffix, size in _BINARY:
        if number and Fraction(number, size).denominator == 1:
            return f"{number // size}{suffix}"
    return str(number)
