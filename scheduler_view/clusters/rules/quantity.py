"""Kubernetes quantities, exactly; and GPU counts, which are integers.

Grammar: apimachinery `pkg/api/resource/quantity.go`. The API server accepts fractions and
milli-units for extended resources in a quota and then counts them wrongly (trap T25), so GPU
counts are validated here.
"""

import re
from fractions import Fraction

MOST_GPUS = 1_000_000  # no cluster has more; a larger number is a typing mistake

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3}|)",
    re.ASCII,
)
_BINARY: dict[str, int] = {name: 1024**i for i, name in enumerate("KMGTPE", start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9}
_DECIMAL |= {"T": 12, "P": 15, "E": 18}


class QuantityError(ValueError):
    """A text is not a quantity, or not a number of GPUs."""


def parse_quantity(text: str) -> Fraction:
    """The exact number of a quantity: `2000m` is 2, `1Ki` is 1024.

    Raises:
        QuantityError: not a quantity of Kubernetes.
    """
    found = _QUANTITY.fullmatch(text) if len(text) <= 64 else None
    if found is None:
        raise QuantityError(
            f"{text[:64]!r} is not a number; use a number such as 8"
            if text
            else "the number is missing; use a number such as 8"
        )
    number, suffix = Fraction(found["number"]), found["suffix"]
    if suffix.endswith("i"):
        return number * _BINARY[suffix[0]]
    if suffix in _DECIMAL:
        return number * _ten(_DECIMAL[suffix])
    return number * _ten(int(suffix[1:]))


def _ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


def whole_gpus(value: str | int) -> int:
    """A number of GPUs (or of MIG devices, or of DRA devices).

    Raises:
        QuantityError: not a quantity, a fraction, negative, or more than MOST_GPUS.
    """
    if isinstance(value, bool):
        raise QuantityError(f"{value} is not a number of GPUs; use a number such as 8")
    number = parse_quantity(str(value).strip())
    if number.denominator != 1:
        raise QuantityError(
            f"{value} is a fraction; quotas count full GPUs: use a MIG profile or a shared "
            "resource for parts of a GPU"
        )
    if number < 0:
        raise QuantityError(f"{value} is negative; use 0 to allow no GPUs")
    if number > MOST_GPUS:
        raise QuantityError(f"{value} is more than {MOST_GPUS:,} GPUs")
    return int(number)


def gpus_or_none(text: str | int | None) -> int | None:
    """Whole GPUs of a live object; None if missing or not an integer."""
    if text is None:
        return None
    try:
        return whole_gpus(text)
    except QuantityError:
        return None
