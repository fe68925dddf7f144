"""Which two periods the address asks for, and why some cannot be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date

from accounting.core.billing_calendar import DAY, DayRange
from accounting.kit.tags import units
from scheduler_view.before_after.reads import (
    AppliedChange,
)
from scheduler_view.before_after.rules import (
    first_compared,
    periods_around,
)

LONGEST_DAYS = 366
FIELDS = ("before_first", "before_last", "after_first", "after_last")
LABELS = (
    "Before, first day",
    "Before, last day",
    "After, first day",
    "After, last day",
)


@dataclass(frozen=True, slots=True)
class PeriodChoice:
    """What the address asks for.

    Attributes:
        days: the two periods; None if they cannot be compared.
        change: the change set that they are around.
        fields: what the form has by `FIELDS`; what was entered is kept.
        title, reason: why nothing is compared; "" otherwise.
    """

    days: tuple[DayRange, DayRange] | None
    change: AppliedChange | None = None
    fields: tuple[str, ...] = ()
    title: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OfferedChange:
    """A change set in the list; `until` is the day before which it is too early."""

    change: AppliedChange
    until: date | None


def choice_of(
    query: Mapping[str, str],
    changes: Sequence[AppliedChange],
    today: date,
    usual: tuple[DayRange, DayRange],
) -> PeriodChoice:
    """Periods around the change set in the address, those in it, or the usual ones."""
    number = query.get("change", "")
    if number:
        change = next((one for one in changes if str(one.number) == number), None)
        if change is None:
            reason = "It was not applied, or is not one of the last 50."
            return _refused(_texts(usual), "No such change set", reason)
        days = periods_around(change.day, today)
        if days is None:
            return PeriodChoice(None, change, _texts(usual), *_too_early(change))
        return PeriodChoice(days, change, _texts(days))
    entered = tuple(query.get(name, "") for name in FIELDS)
    if any(entered):
        return _picked(entered)
    return PeriodChoice(usual, None, _texts(usual))


def _refused(fields: tuple[str, ...], title: str, reason: str) -> PeriodChoice:
    return PeriodChoice(None, None, fields, title, reason)


def _too_early(change: AppliedChange) -> tuple[str, str]:
    reason = (
        f"CS-{change.number} was applied on {units.day(change.day)}. The first complete day "
        f"after it is {units.day(change.day + DAY)}: it can be compared from "
        f"{units.day(first_compared(change.day))}."
    )
    return "There is nothing to compare yet", reason


def offered_changes(
    changes: Sequence[AppliedChange], today: date
) -> list[OfferedChange]:
    """The change sets, and until when it is too early for each."""
    return [
        OfferedChange(one, None if start <= today else start)
        for one in changes
        for start in (first_compared(one.day),)
    ]


def _picked(entered: tuple[str, ...]) -> PeriodChoice:
    """The periods that were entered, or why they cannot be compared."""
    dates = [_date(text) for text in entered]
    known = [one for one in dates if one is not None]
    if len(known) < len(dates):
        missing = " and ".join(
            label for label, one in zip(LABELS, dates, strict=True) if one is None
        )
        reason = f"Both periods need a first and a last day. Not a day: {missing}."
        return _refused(entered, "A day is missing", reason)
    ends = (known[0], known[1]), (known[2], known[3])
    for name, (first, last) in zip(("before", "after"), ends, strict=True):
        if first > last:
            reason = (
                f"The first day of the period {name}, {units.day(first)}, is after its last day, "
                f"{units.day(last)}."
            )
            return _refused(entered, "The first day is after the last day", reason)
        if (last - first).days >= LONGEST_DAYS:
            reason = f"A period has at most {LONGEST_DAYS} days."
            return _refused(entered, "The period is too long", reason)
    before, after = (DayRange(first, last + DAY) for first, last in ends)
    if before == after:
        reason = f"Both are {units.days(before)}."
        return _refused(entered, "The two periods are the same", reason)
    if before.after > after.first:
        reason = (
            "The first period has to end before the second one begins: it ends on "
            f"{units.day(before.last)}, and the second one begins on {units.day(after.first)}."
        )
        return _refused(entered, "The periods overlap or are in reverse order", reason)
    return PeriodChoice((before, after), None, entered)


def _date(text: str) -> date | None:
    """A day; None for other text, and for days too far away to be instants."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if MINYEAR < day.year < MAXYEAR else None


def _texts(days: tuple[DayRange, DayRange]) -> tuple[str, ...]:
    return tuple(day.isoformat() for one in days for day in (one.first, one.last))


def file_url(days: tuple[DayRange, DayRange], chosen: AppliedChange | None) -> str:
    if chosen is not None:
        return f"?change={chosen.number}&csv=1"
    pairs = (f"{name}={day}" for name, day in zip(FIELDS, _texts(days), strict=True))
    return f"?{'&'.join(pairs)}&csv=1"
