"""What pages say beside a number: averages, shares and changes. Ratios 0 to 1."""

from dataclasses import dataclass
from decimal import Decimal

FLOOR_COVERAGE = 0.95  # product rule: below it a change is shown greyed, with the reason
FLOOR_AMOUNT = Decimal(1)  # below one unit of currency a percentage says nothing


@dataclass(frozen=True, slots=True)
class Change:
    """One number against what it is compared with.

    Attributes:
        before, after: the two numbers, in the same unit.
        ratio: (after - before) / before; None when `before` is too small for a percentage.
        doubt: why the two cannot be compared, one clause; "" when they can.
    """

    before: Decimal
    after: Decimal
    ratio: float | None
    doubt: str = ""

    @property
    def difference(self) -> Decimal:
        """after - before."""
        return self.after - self.before


def average_gpus(milliseconds: int, length_ms: int) -> float | None:
    """GPUs on average over a period: share-weighted time / length; None when empty."""
    return milliseconds / length_ms if length_ms else None


def share(part: int | Decimal | None, whole: int | Decimal | None) -> float | None:
    """part / whole; None when either is missing or the whole is nothing."""
    if part is None or not whole:
        return None
    return float(part / whole)


def change(
    before: Decimal | int | None,
    after: Decimal | int | None,
    *,
    coverage_before: float | None = None,
    coverage_after: float | None = None,
) -> Change | None:
    """How a number moved; None when one of the two is not known.

    A coverage under `FLOOR_COVERAGE` on either side makes the change doubtful: part of
    what is compared was not observed.
    """
    if before is None or after is None:
        return None
    base, now = Decimal(before), Decimal(after)
    ratio = float((now - base) / base) if abs(base) >= FLOOR_AMOUNT else None
    covered = [c for c in (coverage_before, coverage_after) if c is not None]
    doubt = ""
    if covered and min(covered) < FLOOR_COVERAGE:
        doubt = f"only {min(covered):.1%} of one side was observed"
    return Change(base, now, ratio, doubt)
