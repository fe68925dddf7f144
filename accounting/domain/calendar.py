"""Ranges of billing days: the presets, typed words and comparisons that people choose from.

Days are those of the billing time zone (rules.md N31) and may have 23 or 25 hours. Every
range is half-open: `after` is the first day that is not in it any more.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from accounting.domain.period import Period

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, order=True)
class DayRange:
    """Billing days [first, after).

    Raises:
        ValueError: it holds no day.
    """

    first: date
    after: date

    def __post_init__(self) -> None:
        if self.after <= self.first:
            raise ValueError(f"a range needs at least one day: {self}")

    @property
    def days(self) -> int:
        """How many billing days."""
        return (self.after - self.first).days

    @property
    def last(self) -> date:
        """The last day that is in it."""
        return self.after - DAY

    def period(self, zone: ZoneInfo) -> Period:
        """From midnight to midnight of the zone, as UTC milliseconds."""
        return Period.of(midnight(self.first, zone), midnight(self.after, zone))

    def each(self) -> list[date]:
        """Its days in order."""
        return [self.first + timedelta(days=n) for n in range(self.days)]

    @property
    def is_month(self) -> bool:
        """True for exactly one calendar month."""
        return self.first.day == 1 and self.after == months_later(self.first, 1)


@dataclass(frozen=True, slots=True)
class Preset:
    """A range that has a name; `key` is its keyboard shortcut."""

    name: str
    label: str
    key: str = ""


PRESETS = (
    Preset("today", "Today", "d"),
    Preset("yesterday", "Yesterday"),
    Preset("last-7-days", "Last 7 days", "w"),
    Preset("last-28-days", "Last 28 days"),
    Preset("month-to-date", "Month to date", "m"),
    Preset("last-month", "Last month", "p"),
    Preset("quarter-to-date", "Quarter to date"),
    Preset("last-12-months", "Last 12 months"),
)
DEFAULT_PRESET = "month-to-date"


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a billing day, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def months_later(day: date, months: int) -> date:
    """The same day of the month some months later (or earlier); the last one if shorter."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - DAY).day))


def preset_range(name: str, today: date) -> DayRange:
    """The days that a preset means on a given day; they include that day where it says so.

    Raises:
        ValueError: there is no such preset.
    """
    tomorrow = today + DAY
    month = today.replace(day=1)
    quarter = month.replace(month=(today.month - 1) // 3 * 3 + 1)
    ranges = {
        "today": (today, tomorrow),
        "yesterday": (today - DAY, today),
        "last-7-days": (today - 6 * DAY, tomorrow),
        "last-28-days": (today - 27 * DAY, tomorrow),
        "month-to-date": (month, tomorrow),
        "last-month": (months_later(month, -1), month),
        "quarter-to-date": (quarter, tomorrow),
        "last-12-months": (months_later(month, -11), tomorrow),
    }
    if name not in ranges:
        raise ValueError(f"no preset is called {name!r}")
    return DayRange(*ranges[name])


UNIT_DAYS = {"day": 1, "week": 7}
WORDS = re.compile(r"last (\d{1,3} )?(day|week|month)s?")
MONTH = re.compile(r"(\d{4})-(\d{2})")


def parse_words(text: str, today: date) -> DayRange:
    """A range as people type it.

    Args:
        text: `2026-10-01..2026-10-31` (both days count, as people mean it), `2026-10-03`,
            `2026-10`, `last 3 weeks`, `last 10 days`, `last 2 months`, or a preset's label.
        today: the billing day that `last` counts back from.

    Raises:
        ValueError: the text is none of these.
    """
    words = " ".join(text.lower().replace("\N{EN DASH}", "..").split())
    for preset in PRESETS:
        if words in {preset.name, preset.label.lower()}:
            return preset_range(preset.name, today)
    if match := WORDS.fullmatch(words):
        return _counted(int(match[1] or 1), match[2], today)
    if match := MONTH.fullmatch(words):
        first = date(int(match[1]), int(match[2]), 1)
        return DayRange(first, months_later(first, 1))
    first_text, _, last_text = words.partition("..")
    first = date.fromisoformat(first_text.strip())
    last = date.fromisoformat(last_text.strip()) if last_text else first
    return DayRange(first, last + DAY)


def _counted(count: int, unit: str, today: date) -> DayRange:
    tomorrow = today + DAY
    if unit == "month":
        return DayRange(months_later(tomorrow, -count), tomorrow)
    return DayRange(tomorrow - timedelta(days=count * UNIT_DAYS[unit]), tomorrow)


COMPARISONS = {
    "prev": "Previous period",
    "weekdays": "Same weekdays before",
    "month": "Same days a month earlier",
    "year": "Same days a year earlier",
    "off": "No comparison",
}


def compared_with(days: DayRange, mode: str) -> DayRange | None:
    """The days that a range is compared with; None for `off`.

    The previous period of a range that starts with a month and stays inside it is the same
    elapsed days of the month before, so that a running month is compared fairly. `weekdays`
    goes back whole weeks, as few as do not overlap: a Monday is compared with a Monday.

    Raises:
        ValueError: there is no such comparison.
    """
    if mode == "off":
        return None
    if mode == "weekdays":
        shift = timedelta(weeks=-(-days.days // 7))
        return DayRange(days.first - shift, days.after - shift)
    if mode == "year":
        return _shifted(days, -12)
    if mode == "month":
        return _shifted(days, -1)
    if mode != "prev":
        raise ValueError(f"no comparison is called {mode!r}")
    if days.first.day == 1 and days.after <= months_later(days.first, 1):
        return _shifted(days, -1)
    return DayRange(days.first - timedelta(days=days.days), days.first)


def _shifted(days: DayRange, months: int) -> DayRange:
    """The same days of another month; a whole month gives a whole month."""
    first = months_later(days.first, months)
    if days.is_month:
        return DayRange(first, months_later(first, 1))
    after = first + timedelta(days=days.days)
    if days.first.day == 1 and days.after <= months_later(days.first, 1):
        after = min(after, months_later(first, 1))
    return DayRange(first, after)


def neighbour(days: DayRange, by: int) -> DayRange:
    """The range of the same kind before (-1) or after (1): months stay months."""
    if days.is_month:
        first = months_later(days.first, by)
        return DayRange(first, months_later(first, 1))
    shift = timedelta(days=days.days * by)
    return DayRange(days.first + shift, days.after + shift)
