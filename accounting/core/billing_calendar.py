"""Ranges of billing days: presets, steps and comparisons.

Days are those of the billing time zone (rules.md N31) and may have 23 or 25 hours. Every
range is half-open: `after` is the first day after it.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from accounting.core.interval import Interval

DAY, WEEK = timedelta(days=1), timedelta(days=7)


@cache
def time_zones() -> frozenset[str]:
    """The IANA names of this machine: looked up once, as that reads hundreds of files."""
    return frozenset(available_timezones())


@dataclass(frozen=True, slots=True, order=True)
class DayRange:
    """Billing days [first, after).

    Raises:
        ValueError: the range is empty.
    """

    first: date
    after: date

    def __post_init__(self) -> None:
        if self.after <= self.first:
            raise ValueError(f"a range needs at least one day: {self}")

    @property
    def days(self) -> int:
        """Number of billing days."""
        return (self.after - self.first).days

    @property
    def last(self) -> date:
        """The last day of the range."""
        return self.after - DAY

    def period(self, zone: ZoneInfo) -> Interval:
        """From midnight to midnight of the zone, as UTC milliseconds."""
        return Interval.of(midnight(self.first, zone), midnight(self.after, zone))

    def each(self) -> list[date]:
        """Its days in order."""
        return [self.first + timedelta(days=n) for n in range(self.days)]

    @property
    def is_month(self) -> bool:
        """True for exactly one calendar month."""
        return self.first.day == 1 and self.after == months_later(self.first, 1)


@dataclass(frozen=True, slots=True)
class Preset:
    """A range with a name.

    Attributes:
        key: its keyboard shortcut.
        unit: the calendar unit that it equals or is a part of; "" for a number of days.
    """

    name: str
    label: str
    key: str = ""
    unit: str = ""


PRESETS = (
    Preset("today", "Today", "d"),
    Preset("yesterday", "Yesterday"),
    Preset("this-week", "This week", unit="week"),
    Preset("last-week", "Last week", unit="week"),
    Preset("last-7-days", "Last 7 days", "w"),
    Preset("last-28-days", "Last 28 days"),
    Preset("month-to-date", "Month to date", "m", unit="month"),
    Preset("last-month", "Last month", "p", unit="month"),
    Preset("quarter-to-date", "Quarter to date", unit="quarter"),
    Preset("last-12-months", "Last 12 months"),
)
DEFAULT_PRESET = "month-to-date"
UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a billing day.

    In UTC: in its own zone it would equal no datetime of another one where clocks change then
    (PEP 495), so a set or a comparison would take one instant for two.
    """
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def months_later(day: date, months: int) -> date:
    """The same day of the month some months later (or earlier); the last one if shorter."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - DAY).day))


def preset_range(name: str, today: date) -> DayRange:
    """The days of a preset on a given day; they include that day if the preset does.

    Raises:
        ValueError: there is no such preset.
    """
    tomorrow = today + DAY
    week, month, quarter = (
        unit_start(today, unit) for unit in ("week", "month", "quarter")
    )
    ranges = {
        "today": (today, tomorrow),
        "yesterday": (today - DAY, today),
        "this-week": (week, tomorrow),
        "last-week": (week - WEEK, week),
        "last-7-days": (today - 6 * DAY, tomorrow),
        "last-28-days": (today - 27 * DAY, tomorrow),
        "month-to-date": (month, tomorrow),
        "last-month": (months_later(month, -1), month),
        "quarter-to-date": (quarter, tomorrow),
        "last-12-months": (months_later(month, -11), tomorrow),
    }
    if name not in ranges:
        raise ValueError(f"{name!r} is not a preset")
    return DayRange(*ranges[name])


def unit_start(day: date, unit: str) -> date:
    """The first day of the week (from Monday), month, quarter or year of a day."""
    if unit == "week":
        return day - timedelta(days=day.weekday())
    months = UNIT_MONTHS[unit]
    return day.replace(day=1, month=(day.month - 1) // months * months + 1)


def unit_later(day: date, unit: str, count: int) -> date:
    """The same day of another week, month, quarter or year; the last day if it is shorter."""
    if unit == "week":
        return day + count * WEEK
    return months_later(day, count * UNIT_MONTHS[unit])


def unit_of(days: DayRange) -> str:
    """The calendar unit that a range equals, or starts with and stays inside of; else "".

    Seven days from a Monday are a week. The first days of a month, quarter or year have the
    shortest of these units that contains them all. One day is a day.
    """
    if days.days == 1:
        return ""
    units = ("month", "quarter", "year", "week")
    for unit in ("week", *units) if days.days == WEEK.days else units:
        start = unit_start(days.first, unit)
        if days.first == start and days.after <= unit_later(start, unit, 1):
            return unit
    return ""


COMPARISONS = {
    "prev": "Previous period",
    "weekdays": "Same weekdays, previous weeks",
    "month": "Same days, previous month",
    "year": "Same days, previous year",
    "off": "No comparison",
}


def compared_with(days: DayRange, mode: str, unit: str = "") -> DayRange | None:
    """The days that a range is compared with; None for `off`.

    A calendar unit, or its first days, is compared with the same days of the previous unit: a
    running month with the same elapsed days of the last month, a running week with the same
    weekdays. `weekdays` goes back by the fewest whole weeks without overlap: a Monday is compared
    with a Monday.

    Args:
        days: the range.
        mode: one of COMPARISONS.
        unit: its calendar unit, if a preset sets it; else `unit_of` its days.

    Raises:
        ValueError: there is no such comparison.
    """
    if mode == "off":
        return None
    if mode == "weekdays":
        shift = WEEK * -(-days.days // WEEK.days)
        return DayRange(days.first - shift, days.after - shift)
    if mode == "year":
        return _shifted(days, "year", -1)
    if mode == "month":
        return _shifted(days, "month", -1)
    if mode != "prev":
        raise ValueError(f"{mode!r} is not a comparison")
    if unit := unit or unit_of(days):
        return _shifted(days, unit, -1)
    return DayRange(days.first - timedelta(days=days.days), days.first)


def _shifted(days: DayRange, unit: str, by: int) -> DayRange:
    """The same days of another unit; a full month becomes a full month."""
    first = unit_later(days.first, unit, by)
    held = unit_of(days)
    if held and days.after == unit_later(days.first, held, 1):
        return DayRange(first, unit_later(first, held, 1))
    after = first + timedelta(days=days.days)
    if held:
        after = min(after, unit_later(first, held, 1))
    return DayRange(first, after)


def neighbour(
    days: DayRange, by: int, today: date | None = None, unit: str = ""
) -> DayRange:
    """The range of the same kind before (-1) or after (1).

    Calendar units stay complete: the range before 1 to 22 November, the month to date on the 22nd,
    is October. Other ranges keep their length and adjoin.

    Args:
        days: the range.
        by: -1 or 1.
        today: the newest day; a range that ends there may be an unfinished unit.
        unit: the calendar unit, if a preset sets it; else `unit_of` the days.
    """
    unit = unit or unit_of(days)
    is_running = today is not None and days.last == today
    if unit and (is_running or days.after == unit_later(days.first, unit, 1)):
        first = unit_later(days.first, unit, by)
        return DayRange(first, unit_later(first, unit, 1))
    if months := _whole_months(days, is_running=is_running):
        first = months_later(days.first, by * months)
        return DayRange(first, months_later(first, months))
    shift = timedelta(days=days.days * by)
    return DayRange(days.first + shift, days.after + shift)


def _whole_months(days: DayRange, *, is_running: bool) -> int:
    """The number of months of a range that starts and ends with a month, or is running; else 0."""
    if days.first.day != 1 or not (days.after.day == 1 or is_running):
        return 0
    last = days.last
    return (last.year - days.first.year) * 12 + last.month - days.first.month + 1
