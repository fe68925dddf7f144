"""Decimal numbers as text."""

from decimal import Decimal


def plain(value: Decimal) -> str:
    """A number without trailing zeros and without an exponent: `2.1` for 2.10, `1000` for 1E+3."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
