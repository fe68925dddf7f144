"""Where a new price goes among those that set the same (money.md M15)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar


class Dated(Protocol):
    """A price of the book: valid in [from, to)."""

    model: Any
    valid_from: Any
    valid_to: Any


P = TypeVar("P", bound=Dated)


class PriceMeetsError(ValueError):
    """Another price that sets the same applies at a part of the time."""

    def __init__(self, other: Dated) -> None:
        super().__init__(
            f"another price of {other.model} applies from {other.valid_from:%Y-%m-%dT%H:%MZ} on: "
            "two prices with the same scope cannot overlap"
        )


@dataclass(frozen=True, slots=True)
class Placement(Generic[P]):
    """What a new price does to those that set the same.

    Attributes:
        replaced: the one with the same start, which it corrects.
        ended: the one in effect, which it ends.
        valid_to: its own end: as asked, else where a later price begins; None is open.
    """

    replaced: P | None
    ended: P | None
    valid_to: datetime | None


def place(
    same: Iterable[P], valid_from: datetime, valid_to: datetime | None
) -> Placement[P]:
    """Place a price that is valid in [valid_from, valid_to) among prices of the same.

    Args:
        same: prices of one kind that set the same; no two overlap.
        valid_from: its start.
        valid_to: its end; None for "from now on".

    Raises:
        PriceMeetsError: it has an end, and another price applies at a part of the time.
    """
    replaced, ended, later = None, None, None
    for one in sorted(same, key=lambda price: price.valid_from):
        if one.valid_from == valid_from:
            replaced = one
        elif one.valid_from > valid_from:
            later = later or one
        elif one.valid_to is None or one.valid_to > valid_from:
            ended = one
    if valid_to is not None:
        if ended:
            raise PriceMeetsError(ended)
        if later and later.valid_from < valid_to:
            raise PriceMeetsError(later)
    until = valid_to or (later.valid_from if later else None)
    return Placement(replaced, ended, until)
