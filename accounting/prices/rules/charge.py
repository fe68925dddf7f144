"""The cost of GPU time: milliseconds x rate, exact until a list is rounded (rules.md N27, N28).

Raw money is in currency-milliseconds: whole milliseconds times a rate per GPU-hour. Only this
module divides it by the milliseconds of an hour.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from accounting.core.interval import HOUR_MS
from accounting.core.money import Cell, Money, split_list
from accounting.core.rounding import Key, quotient, split_money


def raw_of(milliseconds: int, rate: Decimal) -> Fraction:
    """Share-weighted time at a rate per whole GPU-hour, exact."""
    return milliseconds * Fraction(rate)


def difference_of(held_ms: int, rate: Decimal, own_rate: Decimal) -> Fraction:
    """What the platform's line takes where held time is not charged the GPU's own rate (N27)."""
    return raw_of(held_ms, own_rate) - raw_of(held_ms, rate)


def charge_of(raw: Fraction | Decimal, places: int = 6) -> Decimal:
    """One amount that belongs to no list, rounded half-even."""
    dividend, divisor = raw.as_integer_ratio()
    return quotient(dividend, divisor * HOUR_MS, places)


def split_charges(
    raw: Mapping[Key, Fraction | Decimal], places: int = 6
) -> dict[Key, Decimal]:
    """A list of raw amounts as money: rounded on its total, cells by largest remainder."""
    return split_money(raw, places, HOUR_MS)


def charge_list(raw: Mapping[Key, Cell], places: int = 6) -> dict[Key, Money]:
    """The same of raw amounts with their currency: a list for each currency."""
    return split_list(raw, places, HOUR_MS)


def page_charges(raw: Mapping[Key, Cell], places: int) -> dict[Key, Money]:
    """A list as a page shows it: to the six places of reports, then to the currency's.

    Rounding in one step would differ by a cent if the six places end in a half.
    """
    six = charge_list(raw)
    return split_list({key: one.cell for key, one in six.items()}, places)


def price_amounts(
    quantities: Sequence[tuple[int, Decimal | None, str]],
    places: int,
    booked: Sequence[Money | None] = (),
) -> list[Money | None]:
    """The amounts of (milliseconds, rate per GPU-hour, its currency), adding up to their total.

    The total is rounded as every list of a page is: to the six places of reports, then to
    the currency's. Rounding in one step would differ by a cent if the six places end in a half.
    None where there is no rate.

    Args:
        quantities: of days that are not booked.
        places: of the amounts.
        booked: stored charges with six places, or None: in the same list, after the others.
    """
    six = charge_list(
        {
            i: (raw_of(milliseconds, rate), currency)
            for i, (milliseconds, rate, currency) in enumerate(quantities)
            if rate is not None
        }
    )
    start = len(quantities)
    six |= {start + i: one for i, one in enumerate(booked) if one is not None}
    amounts = split_list({i: one.cell for i, one in six.items()}, places)
    return [amounts.get(i) for i in range(start + len(booked))]
