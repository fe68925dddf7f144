"""Averages, shares and changes that pages show with a number. Ratios are 0 to 1."""

from dataclasses import dataclass
from decimal import Decimal

FLOOR_COVERAGE = (
    0.95  # product rule: below it a change is shown in gray, with the reason
)
COMPARABLE = (
    # below it no change is shown: missing data would change it more than usage does
    0.8
)
FLOOR_AMOUNT = Decimal(1)  # below one unit of currency, no percentage is shown


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number and the number that it is compared with.

    Attributes:
        before, after: the two numbers, in the same unit.
        ratio: (after - before) / before; None when `before` is too small for a percentage.
        doubt: why the two cannot be compared, one clause; "" if they can.
    """

    before: Decimal
    after: Decimal
    ratio: float | None
    doubt: str = ""

    @property
    def difference(self) -> Decimal:
        """After - before."""
        return self.after - self.before


def refusal(seen_before: float | None, seen_after: float | None) -> str:
    """Why two periods are not compared at all, one clause; "" if they are.

    Args:
        seen_before, seen_after: how much of each has data, 0 to 1; None for no time.
    """
    if seen_before is not None and seen_before < COMPARABLE:
        return f"only {seen_before:.0%} of it has data"
    if seen_after is not None and seen_after < COMPARABLE:
        return f"only {seen_after:.0%} of this range has data"
    return ""


def average_gpus(milliseconds: int, length_ms: int) -> float | None:
    """Average number of GPUs in a period: share-weighted time / length; None if empty."""
    return milliseconds / length_ms if length_ms else None


def share(part: int | Decimal | None, whole: int | Decimal | None) -> float | None:
    """Part / whole; None if either is missing or the whole is 0."""
    if part is None or not whole:
        return None
    return float(part / whole)


def change(
    before: Decimal | int | None,
    after: Decimal | int | None,
    *,
    seen_before: float | None = None,
    seen_after: float | None = None,
) -> Comparison | None:
    """The change of a number; None if one of the two is not known.

    Args:
        before, after: in the same unit.
        seen_before, seen_after: how much of each side was observed, 0 to 1. Below
            `FLOOR_COVERAGE` the change is doubtful: part of it may be missing data.
    """
    if before is None or after is None:
        return None
    base, now = Decimal(before), Decimal(after)
    ratio = float((now - base) / base) if abs(base) >= FLOOR_AMOUNT else None
    doubt = ""
    if seen_after is not None and seen_after < FLOOR_COVERAGE:
        doubt = f"only {seen_after:.0%} of this range was observed"
    if seen_before is not None and seen_before < FLOOR_COVERAGE:
        doubt = f"only {seen_before:.0%} of the time before was observed"
    return Comparison(base, now, ratio, doubt)
