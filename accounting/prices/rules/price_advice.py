"""What is wrong with a value of a price list, and what would be right (money.md M19)."""

import re
from contextlib import suppress
from datetime import date
from decimal import Decimal

LARGEST = Decimal(10) ** 6
"""Prices are below it."""
PLACES = Decimal("0.000001")
"""Decimals that a price may have."""

_SIGNS = re.compile(r"[€$£\s\u00a0'_]|EUR|USD|GBP")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d{1,2}|-?\d{1,3}(\.\d{3})+,\d+|-?0,\d+")
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_PLAIN = re.compile(r"-?\d+(\.\d+)?")
_DAY_FIRST = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4})")


def number_advice(text: str, number: Decimal | None) -> str:
    """Why a text is not a price.

    Args:
        text: as it was written.
        number: its value, if it is a plain number.
    """
    if number is None:
        plain = plain_number(text)
        hint = f": write {plain}" if plain else ": write a number such as 0.72"
        return f"“{text}” is not a plain number{hint}"
    if number < 0:
        return f"{text} is negative: a price is 0 or more"
    if number >= LARGEST:
        return f"{text} is too large: a price is less than {LARGEST:,}"
    return f"{text} has more than six decimals: write {number.quantize(PLACES)}"


def plain_number(text: str) -> str:
    """The number that a person probably meant, as a price list writes it; "" if unclear.

    `1,234` may be either number, so it is unclear.
    """
    bare = _SIGNS.sub("", text)
    if _DECIMAL_COMMA.fullmatch(bare):
        bare = bare.replace(".", "").replace(",", ".")
    elif _THOUSANDS.fullmatch(bare) and "." in bare:
        bare = bare.replace(",", "")
    return bare if _PLAIN.fullmatch(bare) else ""


def date_advice(text: str) -> str:
    """Why a text is not a start or an end."""
    if not text:
        return "valid_from is empty: write a day such as 2026-10-01"
    found = _DAY_FIRST.fullmatch(text)
    days = []
    if found is not None:
        first, second, year = map(int, found.groups())
        for day, month in ((first, second), (second, first)):
            with suppress(ValueError):
                days.append(date(year, month, day))
    hint = " or ".join(dict.fromkeys(day.isoformat() for day in days))
    return (
        f"“{text}” is not a day, or a time on a five-minute border: "
        f"write {hint or 'a day such as 2026-10-01'}"
    )
