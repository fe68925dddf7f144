"""Where a new price goes among those that set the same, by hand (money.md M15).

Not here: prices in the database, which refuses an overlap too
(`tests/integration/prices/test_price_book.py`).
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from accounting.prices.rules.price_placing import PriceMeetsError, place


@dataclass
class Price:
    """A price of the book, valid in [from, to)."""

    valid_from: datetime
    valid_to: datetime | None = None
    model: str = "NVIDIA-L40S"


def month(number: int) -> datetime:
    return datetime(2026, number, 1, tzinfo=UTC)


MARCH, MAY, JULY, SEPTEMBER = month(3), month(5), month(7), month(9)
OPEN = Price(MARCH)
ENDED = Price(MARCH, MAY)
LATER = Price(JULY)
LAST = Price(SEPTEMBER)

Placed = tuple[Price | None, Price | None, datetime | None]


def placed(start: datetime, end: datetime | None, *same: Price) -> Placed:
    """The price that it replaces, the one that it ends, and its own end."""
    found = place(same, start, end)
    return found.replaced, found.ended, found.valid_to


@pytest.mark.parametrize(
    ("start", "same", "expected"),
    [
        (MAY, [], (None, None, None)),
        # it ends the one in effect
        (MAY, [OPEN], (None, OPEN, None)),
        (MAY, [Price(MARCH, JULY)], (None, Price(MARCH, JULY), None)),
        # one that ends where it begins, or before, is not in effect
        (MAY, [ENDED], (None, None, None)),
        (JULY, [ENDED], (None, None, None)),
        # a later one ends it: the first of several
        (MAY, [LATER], (None, None, JULY)),
        (MAY, [LAST, LATER], (None, None, JULY)),
        (MAY, [LAST, ENDED, LATER], (None, None, JULY)),
        (MAY, [LATER, Price(MARCH, JULY)], (None, Price(MARCH, JULY), JULY)),
        # with the same start it is a correction
        (MARCH, [OPEN], (OPEN, None, None)),
        (MARCH, [LATER, ENDED], (ENDED, None, JULY)),
        (JULY, [ENDED, LATER, LAST], (LATER, None, SEPTEMBER)),
    ],
)
def test_a_price_without_an_end_fits_between_the_others(
    start: datetime, same: list[Price], expected: Placed
) -> None:
    assert placed(start, None, *same) == expected


@pytest.mark.parametrize(
    ("start", "end", "same", "replaced"),
    [
        (MAY, JULY, [], None),
        (MAY, JULY, [ENDED, LATER], None),  # exactly the gap between both
        (MARCH, MAY, [ENDED], ENDED),
        (MARCH, JULY, [ENDED, LATER, LAST], ENDED),
    ],
)
def test_a_price_with_an_end_keeps_it(
    start: datetime, end: datetime, same: list[Price], replaced: Price | None
) -> None:
    assert placed(start, end, *same) == (replaced, None, end)


@pytest.mark.parametrize(
    ("start", "end", "same", "met"),
    [
        (MAY, JULY, [OPEN], "2026-03-01T00:00Z"),
        (MAY, SEPTEMBER, [Price(MARCH, JULY)], "2026-03-01T00:00Z"),
        (MAY, SEPTEMBER, [LATER], "2026-07-01T00:00Z"),
        (MARCH, SEPTEMBER, [ENDED, LATER], "2026-07-01T00:00Z"),
        (MAY, SEPTEMBER, [Price(MARCH, JULY), LATER], "2026-03-01T00:00Z"),
    ],
)
def test_a_price_with_an_end_does_not_overlap_others(
    start: datetime, end: datetime, same: list[Price], met: str
) -> None:
    text = (
        f"another price of NVIDIA-L40S applies from {met} on:"
        " two prices with the same scope cannot overlap"
    )
    with pytest.raises(PriceMeetsError, match=f"^{re.escape(text)}$"):
        place(same, start, end)
