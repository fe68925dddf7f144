"""The only rounding: largest remainder, so that sums are exact by construction."""

from collections.abc import Hashable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import lcm
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Exact = int | Fraction


def largest_remainder(
    amounts: Sequence[tuple[Key, Exact]],
    unit: int,
    total: int,
    *,
    is_given: bool = False,
) -> dict[Key, int]:
    """Whole units for each amount, with the sum `total` (rules.md N23, N28).

    Args:
        amounts: (key, exact amount in 1/unit), in the order that breaks ties.
        unit: the number of parts in one whole unit.
        total: the sum of the result.
        is_given: the total is that of another list, and may differ from the sum of the
            amounts; each gets the same share of the difference first.

    Returns:
        Whole units by key, in the given order.

    Raises:
        ValueError: `total` cannot be reached by rounding each amount up or down.
    """
    parts = [divmod(amount, unit) for _, amount in amounts]
    floors = [int(whole) for whole, _ in parts]
    missing = total - sum(floors)
    if missing == 0:
        return {key: floor for (key, _), floor in zip(amounts, floors, strict=True)}
    if not amounts or not (is_given or 0 <= missing <= len(amounts)):
        raise ValueError(f"{total} is not a rounding of {amounts}")
    each, missing = divmod(missing, len(amounts))
    largest = sorted(range(len(parts)), key=lambda i: parts[i][1], reverse=True)
    for i in largest[:missing]:  # ties keep their order
        floors[i] += 1
    return {key: floor + each for (key, _), floor in zip(amounts, floors, strict=True)}


def half_even(value: Decimal | Fraction, places: int) -> Decimal:
    """Round to decimal places, half to even."""
    if isinstance(value, Decimal):
        return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
    return quotient(value.numerator, value.denominator, places)


def quotient(dividend: int, divisor: int, places: int) -> Decimal:
    """The quotient of two integers, rounded to decimal places, half to even.

    Args:
        dividend: any.
        divisor: positive. A page rounds thousands of amounts, and a fraction takes ten times as
            long.
        places: decimal places of the result.
    """
    whole, rest = divmod(dividend * 10**places, divisor)
    if rest * 2 > divisor or (rest * 2 == divisor and whole % 2):
        whole += 1
    return Decimal(whole) * Decimal(1).scaleb(-places)


def split_money(
    cells: Mapping[Key, Fraction | Decimal],
    places: int = 6,
    divisor: int = 1,
    total: Decimal | None = None,
) -> dict[Key, Decimal]:
    """Amounts of a list, rounded so that their sum is the rounded total (N28).

    Ties go to the smaller key, so keys must be sortable. Each amount is a cell / `divisor`. All
    cells are converted to one denominator, because integers are ten times faster to add and
    compare than fractions.

    Args:
        cells: amounts by key.
        places: decimal places of the result.
        divisor: of every amount.
        total: what they must come to, with at most `places`, where another list of the same
            page has rounded it already; else their own sum is rounded.
    """
    if not cells:
        return {}
    ordered = sorted(cells.items(), key=lambda item: item[0])  # type: ignore[arg-type,return-value]  # keys of one list are of one type and can be ordered
    ratios = [(key, amount.as_integer_ratio()) for key, amount in ordered]
    common = lcm(*{below for _, (_, below) in ratios})
    scale = 10**places
    scaled = [
        (key, above * (common // below) * scale) for key, (above, below) in ratios
    ]
    unit = common * divisor
    if total is None:
        units = round(Fraction(sum(amount for _, amount in scaled), unit))
    else:
        units = int(total * scale)
    whole = largest_remainder(scaled, unit, units, is_given=total is not None)
    quantum = Decimal(1).scaleb(-places)
    return {key: Decimal(count) * quantum for key, count in whole.items()}
