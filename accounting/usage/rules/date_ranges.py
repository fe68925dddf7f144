"""Ranges of days in words: `october`, `Q3`, `week 46`, `since monday`.

A name without a year means the newest one that has started. `last week` is the calendar week
before this one; `last 3 weeks` are the 21 days up to today.
"""

import re
from datetime import date, timedelta

from accounting.core.billing_calendar import (
    DAY,
    PRESETS,
    DayRange,
    preset_range,
    unit_later,
    unit_start,
)
from accounting.usage.rules.date_range_parts import RangeError, named_range

EXAMPLES = "October, Q3, week 46, since Monday, last 3 weeks, or 2026-10-01..2026-10-31"
SAME_AS = {  # other words for presets
    "week": "this week",
    "week to date": "this week",
    "previous week": "last week",
    "month": "month to date",
    "this month": "month to date",
    "previous month": "last month",
    "quarter": "quarter to date",
    "this quarter": "quarter to date",
}


def preset_named(text: str) -> str:
    """The name of the preset that a text means; "" if it is not a preset."""
    words = " ".join(text.lower().split())
    words = SAME_AS.get(words, words)
    for preset in PRESETS:
        if words in {preset.name, preset.label.lower()}:
            return preset.name
    return ""


def parse_words(text: str, today: date) -> DayRange:
    """A range in words; both ends are included.

    Args:
        text: a preset; a day, week, month, quarter or year; `last 3 weeks`; `since` one of
            them; or two of them with `..`, `to` or a dash between.
        today: the billing day from which words count back.

    Raises:
        RangeError: the text is none of these, or ends before it begins.
    """
    if name := preset_named(text):
        return preset_range(name, today)
    try:
        found = _read(_plain(text), today)
    except (ValueError, OverflowError) as error:
        if isinstance(error, RangeError):
            raise
        found = None
    if found is None:
        raise RangeError(f'"{text.strip()}" is not a range. Try {EXAMPLES}.')
    return found


def _plain(text: str) -> str:
    """Lower case, one kind of dash, no commas, no `1st`, no dot after `oct.`."""
    words = re.sub("[\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}]", " - ", text.lower())
    words = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", words.replace(",", " "))
    words = re.sub(r"\b([a-z]{3,9})\.(?!\.)", r"\1", words)
    return " ".join(words.split())


def _read(words: str, today: date) -> DayRange | None:
    """One of the forms; None if the text has none of them."""
    if found := _counted(words, today) or _calendar(words, today):
        return found
    if match := re.fullmatch(r"since (.+)", words):
        return _since(match[1], today)
    if one := named_range(words, today):
        return one
    return _between(words, today)


# --- counted back from today ----------------------------------------------------------------

_UNIT = r"(day|week|month|quarter|year)s?"
_SHORT = {"d": "day", "w": "week", "m": "month", "q": "quarter", "y": "year"}


def _counted(words: str, today: date) -> DayRange | None:
    """`last 3 weeks`, `past week`, `10 days`, `4w`: up to and including today."""
    if match := re.fullmatch(
        rf"(?:(?:last|past|previous) )?(\d{{1,4}}) ?{_UNIT}", words
    ):
        count, unit = int(match[1]), match[2]
    elif match := re.fullmatch(rf"(?:last|past) {_UNIT}", words):
        if words.startswith("last ") and match[1] != "day":
            return None  # a calendar unit
        count, unit = 1, match[1]
    elif match := re.fullmatch(r"(\d{1,4})([dwmqy])", words):
        count, unit = int(match[1]), _SHORT[match[2]]
    else:
        return None
    tomorrow = today + DAY
    if unit == "day":
        return DayRange(tomorrow - timedelta(days=count), tomorrow)
    return DayRange(unit_later(tomorrow, unit, -count), tomorrow)


def _calendar(words: str, today: date) -> DayRange | None:
    """`this year`, `last quarter`, `ytd`: complete units, or the elapsed part of this one."""
    short = {"wtd": "this week", "mtd": "this month", "qtd": "this quarter"}
    words = {**short, "ytd": "this year"}.get(words, words)
    match = re.fullmatch(
        r"(?:(this|last|previous) )?(week|month|quarter|year)( to date)?", words
    )
    if match is None:
        return None
    start = unit_start(today, match[2])
    if match[1] in {"last", "previous"}:
        return DayRange(unit_later(start, match[2], -1), start)
    return DayRange(start, today + DAY)


def _since(words: str, today: date) -> DayRange | None:
    """From the first day of a started range up to today."""
    found = named_range(words, today)
    if found is None:
        return None
    if found.first > today:
        raise RangeError(f"{found.first} is in the future.")
    return DayRange(found.first, today + DAY)


# --- two ends -------------------------------------------------------------------------------

_SEPARATORS = (r"\.\.+", " to ", " until ", " through ", " - ", "-")


def _between(words: str, today: date) -> DayRange | None:
    """`1 oct to 15 nov`, `1-15 oct`, `oct..nov 2026`: from the first end to the last."""
    for separator in _SEPARATORS:
        parts = re.split(separator, words)
        if len(parts) != 2:
            continue
        low, high = (part.strip() for part in parts)
        if found := _joined(low, high, today):
            return found
    return None


def _joined(low: str, high: str, today: date) -> DayRange | None:
    last = named_range(high, today)
    if last is None:
        return None
    if re.fullmatch(r"\d{1,2}", low):  # `1-15 oct`: of the same month
        first = DayRange(last.first.replace(day=int(low)), last.after)
    elif found := named_range(low, today, limit=last.first):
        first = found
    else:
        return None
    if first.first > last.last:
        raise RangeError(
            f"The last day ({last.last}) is before the first ({first.first})."
        )
    return DayRange(first.first, last.after)
