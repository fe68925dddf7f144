"""One day, week, month, quarter or year in words: `3 nov`, `week 46`, `Q3 2026`.

A name without a year means the newest one that has started.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta

from accounting.core.billing_calendar import (
    DAY,
    WEEK,
    DayRange,
    months_later,
    preset_range,
)

MOST_YEARS_BACK = 28  # within this many years there is a 29 February and a week 53
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday"),
    *("saturday", "sunday"),
)

Make = Callable[[int], DayRange]  # of a year; ValueError if the year has no such day


class RangeError(ValueError):
    """The text is not a valid range; the message is shown to the person who typed it."""


def named_range(
    words: str, today: date, *, limit: date | None = None
) -> DayRange | None:
    """One range by its name.

    Args:
        words: its name.
        today: the day that `today` means.
        limit: a name without a year starts on this day or before; None for today.
    """
    begun = limit or today
    if words in {"today", "yesterday"}:
        return preset_range(words, today)
    for read in (_numbers, _dated, _week, _quarter, _month, _day):
        found = read(words, begun)
        if found is not None:
            return found
    return _weekday(words, begun)


def _numbers(words: str, _begun: date) -> DayRange | None:
    """`2026-10-03`, `2026-10`, `10/2026`, `2026`."""
    if match := re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", words):
        return _day_of(*map(int, match.groups()))
    if match := re.fullmatch(r"(\d{4})[-/.](\d{1,2})", words):
        return _months_of(int(match[1]), int(match[2]), 1)
    if match := re.fullmatch(r"(\d{1,2})[-/.](\d{4})", words):
        return _months_of(int(match[2]), int(match[1]), 1)
    if match := re.fullmatch(r"\d{4}", words):
        return _months_of(int(match[0]), 1, 12)
    return None


def _dated(words: str, begun: date) -> DayRange | None:
    """`3.11.2026`, `3.11.`: the day comes first. With slashes, either order is possible."""
    if match := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})?", words):
        day, month = int(match[1]), int(match[2])
        return _newest(lambda year: _day_of(year, month, day), match[3], begun)
    if match := re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", words):
        one, other, year = map(int, match.groups())
        if one != other and max(one, other) <= 12:
            raise RangeError(
                f'"{words}" may be {_day_of(year, other, one).first} or '
                f"{_day_of(year, one, other).first}: write one of them."
            )
        month, day = sorted((one, other)) if max(one, other) > 12 else (one, other)
        return _day_of(year, month, day)
    return None


def _week(words: str, begun: date) -> DayRange | None:
    """`week 46`, `week 46 2026`, `2026-W46`: as in ISO 8601."""
    match = re.fullmatch(r"(\d{4})[ -]?w(\d{1,2})", words)
    year, number = (match[1], match[2]) if match else ("", "")
    if match := re.fullmatch(r"(?:w|wk|week|cw|kw) ?(\d{1,2})(?: (\d{4}))?", words):
        number, year = match[1], match[2] or ""
    if not number:
        return None

    def make(of_year: int) -> DayRange:
        monday = date.fromisocalendar(of_year, int(number), 1)
        return DayRange(monday, monday + WEEK)

    return _newest(make, year, begun)


def _quarter(words: str, begun: date) -> DayRange | None:
    """`Q3`, `Q3 2026`, `2026-Q3`."""
    match = re.fullmatch(r"q([1-4])(?:[ /-]?(\d{4}))?", words)
    number, year = (match[1], match[2]) if match else ("", "")
    if match := re.fullmatch(r"(\d{4})[ /-]?q([1-4])", words):
        year, number = match[1], match[2]
    if not number:
        return None
    month = int(number) * 3 - 2
    return _newest(lambda y: _months_of(y, month, 3), year, begun)


def _month(words: str, begun: date) -> DayRange | None:
    """`october`, `oct 2026`, `2026 oct`."""
    match = re.fullmatch(r"([a-z]{3,9})[ /-]?(\d{4})?", words)
    name, year = (match[1], match[2]) if match else ("", "")
    if match := re.fullmatch(r"(\d{4})[ /-]?([a-z]{3,9})", words):
        year, name = match[1], match[2]
    month = _month_named(name)
    if not month:
        return None
    return _newest(lambda y: _months_of(y, month, 1), year, begun)


def _day(words: str, begun: date) -> DayRange | None:
    """`3 nov`, `nov 3 2026`."""
    match = re.fullmatch(r"(\d{1,2}) ?([a-z]{3,9})(?: (\d{4}))?", words)
    day, name, year = match.groups() if match else ("", "", "")
    if match := re.fullmatch(r"([a-z]{3,9}) ?(\d{1,2})(?: (\d{4}))?", words):
        name, day, year = match.groups()
    month = _month_named(name)
    if not month:
        return None
    return _newest(lambda y: _day_of(y, month, int(day)), year, begun)


def _weekday(words: str, begun: date) -> DayRange | None:
    """`monday`: the newest; `last monday`: the newest before today."""
    match = re.fullmatch(r"(last )?([a-z]{3,9})", words)
    names = [n for n in WEEKDAYS if match and n.startswith(match[2])]
    if match is None or len(names) != 1:
        return None
    back = (begun.weekday() - WEEKDAYS.index(names[0])) % 7
    first = begun - timedelta(days=back or (7 if match[1] else 0))
    return DayRange(first, first + DAY)


def _month_named(name: str) -> int:
    """1 to 12 for a month's name or its first letters, at least three; else 0."""
    found = [i for i, month in enumerate(MONTHS, 1) if month.startswith(name)]
    return found[0] if len(name) >= 3 and len(found) == 1 else 0


def _day_of(year: int, month: int, day: int) -> DayRange:
    first = date(year, month, day)
    return DayRange(first, first + DAY)


def _months_of(year: int, month: int, count: int) -> DayRange:
    first = date(year, month, 1)
    return DayRange(first, months_later(first, count))


def _newest(make: Make, year: str | None, begun: date) -> DayRange | None:
    """The range in a year, else the newest that started on a day or before."""
    if year:
        return make(int(year))
    for back in range(-1, MOST_YEARS_BACK):
        try:
            found = make(begun.year - back)
        except ValueError:
            continue  # 29 February, week 53
        if found.first <= begun:
            return found
    return None
