"""Exact numbers of money: rounding, shares and texts (docs/money.md, M1-M3 and M29)."""

from collections.abc import Mapping
from fractions import Fraction
from math import floor

HOUR = 3_600_000  # milliseconds
MICRO = 6  # places of a charge
RAW = 16  # places of a raw amount
MINOR = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}


def minor_places(currency: str) -> int:
    """Places of a currency's minor unit (ISO 4217)."""
    return next((n for n, names in MINOR.items() if currency in names.split()), 2)


def half_even(value: Fraction, places: int) -> int:
    """The nearest whole number of units of 10^-places; of two, the even one."""
    units: Fraction = value * (10**places)
    low: int = floor(units)
    rest = units - low
    if rest == Fraction(1, 2):
        return low + low % 2
    return low + (rest > Fraction(1, 2))


def as_bytes(key: tuple[str, ...]) -> tuple[bytes, ...]:
    """The order of keys: field by field, each by its UTF-8 bytes."""
    return tuple(field.encode() for field in key)


def largest_remainder(
    items: Mapping[tuple[str, ...], Fraction], total: int
) -> dict[tuple[str, ...], int]:
    """Divide `total` units over exact amounts in units (M3)."""
    if not items:
        return {}
    shares = {key: floor(value) for key, value in items.items()}
    every, one_more = divmod(total - sum(shares.values()), len(items))
    order = sorted(items, key=lambda key: (shares[key] - items[key], as_bytes(key)))
    for at, key in enumerate(order):
        shares[key] += every + (at < one_more)
    return shares


def fixed(units: int, places: int) -> str:
    """Units of 10^-places with all places, without a negative zero."""
    whole, rest = divmod(abs(units), 10**places)
    sign = "-" if units < 0 else ""
    return f"{sign}{whole}" + (f".{rest:0{places}d}" if places else "")


def plain(value: Fraction) -> str:
    """A decimal number without trailing zeros and without an exponent."""
    units = value * 10**RAW
    assert units.denominator == 1, f"more than {RAW} places: {value}"
    text = fixed(units.numerator, RAW)
    return text.rstrip("0").rstrip(".")
