"""How values are written in JSON and CSV.

Milliseconds, counts and ratios are numbers; GPU-hours and money are strings (rules.md N36).
"""

from datetime import datetime
from decimal import Decimal

from accounting.core.interval import HOUR_MS, to_instant, to_ms
from accounting.core.money import Money, minor_places
from accounting.core.rounding import half_even


def gpu_hours(milliseconds: int) -> str:
    """GPU-hours with six places, half-even, each separately (N34).

    A decimal is faster than a fraction, and a row has five of them. 28 digits are enough for every
    half, because six places are multiples of 3.6 ms.
    """
    return str(half_even(Decimal(milliseconds) / HOUR_MS, 6))


def amount(value: Money | Decimal) -> str:
    """Money, or a rate, with six places."""
    return f"{value.amount if isinstance(value, Money) else value:.6f}"


def payable(value: Money) -> str:
    """Money that is paid, with the places of its currency."""
    return f"{value.amount:.{minor_places(value.currency)}f}"


def instant(ms: int) -> str:
    """ISO 8601, UTC; milliseconds only where they are not zero (N35)."""
    at = to_instant(ms)
    spec = "milliseconds" if ms % 1000 else "seconds"
    return at.isoformat(timespec=spec).replace("+00:00", "Z")


def text_or_null(value: str) -> str | None:
    """The text; null if it is empty."""
    return value or None


def moment(at: datetime) -> str:
    """`2026-10-01T10:00:00Z`, with milliseconds where they are not zero."""
    return instant(to_ms(at))


def iso_ms(at: datetime) -> str:
    """`2026-10-01T10:00:00.000Z`."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso(at: datetime) -> str:
    """`2026-10-01T10:00:00+00:00`."""
    return at.isoformat()
