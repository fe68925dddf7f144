"""Lengths of time in words, for messages."""

from decimal import Decimal

_DAY_MINUTES, _HOUR_MINUTES = 24 * 60, 60


def hours_in_words(hours: Decimal) -> str:
    """`6 days 8 hours`, `3 hours`, `20 minutes`: the largest units, rounded down.

    Minutes are left out from one hour on. Negative hours are not lengths.

    Raises:
        ValueError: negative hours.
    """
    if hours < 0:
        raise ValueError(f"{hours} hours is not a length of time")
    minutes = int(hours * _HOUR_MINUTES)
    if minutes < 1:
        return "less than a minute"
    if minutes < _HOUR_MINUTES:
        return _counted(minutes, "minute")
    days, rest = divmod(minutes, _DAY_MINUTES)
    parts = ((days, "day"), (rest // _HOUR_MINUTES, "hour"))
    return " ".join(_counted(number, unit) for number, unit in parts if number)


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
