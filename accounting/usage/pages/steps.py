"""The steps of a page's charts: hours up to a week, days up to three months, months above."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from accounting.core.billing_calendar import DAY, DayRange, unit_start
from accounting.core.interval import Interval
from accounting.kit.charts.plots import TimeAxis
from accounting.kit.tags import units
from accounting.usage.pages.page_state import PageState
from accounting.usage.reads.coverage import hours_with_data
from accounting.usage.reads.series import MONTH

MOST_TICKS = 6
MONTH_DAYS = 31
FREQUENCY = {"hour": "Hourly", "day": "Daily", "week": "Weekly", "month": "Monthly"}


@dataclass(frozen=True, slots=True)
class ChartStep:
    """One bar of a chart.

    Attributes:
        key: as in report rows.
        days: the billing days that it covers, or is part of.
        label: at the pointer and in the table; unique.
        name: in a sentence.
        tick: on the axis; "" for no mark.
        length_ms: up to the newest data; days may have 23 or 25 hours.
        is_running: it has not ended.
        is_gap: no data, which differs from zero.
    """

    key: str
    days: DayRange
    label: str
    name: str
    tick: str
    length_ms: int
    is_running: bool
    is_gap: bool


def steps_of(
    state: PageState, missing: Collection[date], step: str = ""
) -> tuple[ChartStep, ...]:
    """Every step of the range that has started, up to the newest data.

    Args:
        state: of the page; for hours it is queried which of them have data.
        missing: the days without data.
        step: hour, day, week or month; "" for that of the page.
    """
    makers = {"hour": _hours, "day": _days, "week": _weeks, "month": _months}
    return tuple(makers[step or state.step](state, frozenset(missing)))


def axis_of(steps: Sequence[ChartStep]) -> TimeAxis:
    """The steps as the axis of a figure."""
    return TimeAxis(
        labels=tuple(step.label for step in steps),
        ticks=_few([(i, step.tick) for i, step in enumerate(steps) if step.tick]),
        edges=tuple(
            (step.days.first.isoformat(), step.days.after.isoformat()) for step in steps
        ),
    )


def hour_axis(starts: Sequence[datetime], zone: ZoneInfo) -> TimeAxis:
    """The axis of hours without steps: of one GPU or pool, in the zone of the reader."""
    named = _named(starts, zone)
    ticks = [(i, one.tick) for i, one in enumerate(named) if one.tick]
    return TimeAxis(tuple(one.label for one in named), _few(ticks), ())


def day_axis(days: Sequence[date]) -> TimeAxis:
    """The axis of days without steps, marked at Mondays; at the first of months if more than 31."""
    is_long = len(days) > MONTH_DAYS
    marks = [
        (n, units.short_day(day))
        for n, day in enumerate(days)
        if (day.day == 1 if is_long else day.weekday() == 0)
    ]
    labels = tuple(f"{day:%a} {units.day(day)}" for day in days)
    return TimeAxis(labels, _few(marks), ())


def _few(ticks: Sequence[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """At most MOST_TICKS of them, evenly spaced."""
    every = -(-len(ticks) // MOST_TICKS) or 1
    return tuple(ticks[::every])


class _Hour(NamedTuple):
    label: str
    name: str
    tick: str


def _named(starts: Sequence[datetime], zone: ZoneInfo) -> list[_Hour]:
    """Hours in local time; an hour that occurs twice also has its zone."""
    local = [start.astimezone(zone) for start in starts]
    walls = Counter((at.date(), at.hour, at.minute) for at in local)
    days = {day: units.short_day(day) for day, _, _ in walls}
    weekdays = {day: f"{day:%a}" for day in days}
    is_long = len(days) > 2  # midnights are enough marks
    found = []
    for at in local:
        day = at.date()
        on, time = days[day], f"{at.hour:02}:{at.minute:02}"
        is_twice = walls[day, at.hour, at.minute] > 1
        clock = f"{time} {at:%Z}" if is_twice else time
        round_hour = "" if is_long or at.hour % 4 else time
        tick = on if at.hour == 0 else round_hour
        found.append(_Hour(f"{weekdays[day]} {on} {clock}", f"{on} at {clock}", tick))
    return found


def _hours(state: PageState, missing: frozenset[date]) -> Iterator[ChartStep]:
    """UTC hours, each on the billing day that it starts in."""
    known = hours_with_data(state.elapsed, state.cluster)
    hours = list(state.elapsed.hours())
    named = _named([hour.start for hour in hours], state.visitor.zone)
    for hour, words in zip(hours, named, strict=True):
        day = hour.start.astimezone(state.zone).date()
        yield ChartStep(
            f"{hour.start:%Y-%m-%dT%H:%M:%SZ}",
            DayRange(day, day + DAY),
            *words,
            *_length(hour, state),
            day in missing or hour.start_ms not in known,
        )


def _days(state: PageState, missing: frozenset[date]) -> Iterator[ChartStep]:
    """Billing days; the axis is marked at Mondays."""
    for day in state.shown_days:
        days = DayRange(day, day + DAY)
        short = units.short_day(day)
        yield ChartStep(
            day.isoformat(),
            days,
            f"{day:%a} {units.day(day)}",
            short,
            short if day.weekday() == 0 else "",
            *_length(days.period(state.zone), state),
            day in missing,
        )


def _weeks(state: PageState, missing: frozenset[date]) -> Iterator[ChartStep]:
    """Weeks from Monday, named by it; the range may contain only a part of the ends."""
    weeks: dict[date, list[date]] = {}
    for day in state.shown_days:
        weeks.setdefault(unit_start(day, "week"), []).append(day)
    for monday, held in weeks.items():
        days = DayRange(held[0], held[-1] + DAY)
        yield ChartStep(
            monday.isoformat(),
            days,
            units.days(days),
            units.days(days),
            units.short_day(monday),
            *_length(days.period(state.zone), state),
            missing.issuperset(held),
        )


def _months(state: PageState, missing: frozenset[date]) -> Iterator[ChartStep]:
    """Months; the range may contain only a part of the first and the last one."""
    months: dict[str, list[date]] = {}
    for day in state.shown_days:
        months.setdefault(day.isoformat()[:MONTH], []).append(day)
    for key, held in months.items():
        days = DayRange(held[0], held[-1] + DAY)
        yield ChartStep(
            key,
            days,
            units.days(days),
            units.days(days),
            f"{days.first:%b %Y}" if days.first.month == 1 else f"{days.first:%b}",
            *_length(days.period(state.zone), state),
            missing.issuperset(held),
        )


def _length(whole: Interval, state: PageState) -> tuple[int, bool]:
    """The length of a step up to the newest data, and whether it is running."""
    end = min(whole.end_ms, state.elapsed.end_ms)
    is_running = state.chip.is_live and state.elapsed.end_ms < whole.end_ms
    return max(end - whole.start_ms, 1), is_running
