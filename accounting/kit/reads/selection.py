"""The selection of a report: a period, filters, and the person's scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.access.scope import Scope
from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval, to_instant
from accounting.kit.reads.dimensions import BY_NAME, FILTERS

EXCLUDES = {f"not_{name}": name for name in FILTERS}
"""Parameters that leave out values of a dimension."""

# that a report may read: 8,192 GPUs for 120 days by day, 5 days by hour, 10 hours by window
MOST_ROWS = 1_000_000
FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


class SelectionError(ValueError):
    """A request that is not valid: the message explains the fault and how to correct it.

    Attributes:
        parameter: the parameter that is not valid (`from`, `by`, `lifecycle`); "" for several.
        allowed: its possible values, if they can be listed.
    """

    def __init__(
        self, message: str, *, parameter: str = "", allowed: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.allowed = tuple(allowed)


class Amounts(StrEnum):
    """Which money a report has for closed billing days (money.md M5)."""

    BOOKED = "booked"  # the charges of their lines
    CORRECTED = "corrected"  # with the corrections and entries of the report's days
    MEASURED = "measured"  # time x price, as known now


@dataclass(frozen=True, slots=True)
class Selection:
    """A period (None: all stored time), filters by dimension, and a scope.

    Attributes:
        amounts: the money of closed billing days.
        most_rows: a report that would read more rows by GPU is refused; None for commands.
        excludes: values by dimension that are left out; only `usage_rows` supports them.
        revisions: of closed months, as `2026-10-r1`: `usage_rows` then has the time and the money
            that these closes booked, whatever became of them since.
    """

    scope: Scope
    period: Interval | None = None
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    most_rows: int | None = None
    amounts: Amounts = Amounts.BOOKED
    excludes: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    revisions: tuple[str, ...] = ()


def parse_selection(
    scope: Scope,
    start: str | None,
    end: str | None,
    filters: Mapping[str, Any],
    most_rows: int | None = None,
    amounts: str = Amounts.BOOKED,
) -> Selection:
    """A selection from the texts of a request.

    Args:
        scope: of the person.
        start, end: ISO 8601 with offset, or a date (midnight in the billing time zone).
        filters: value or values by dimension.
        most_rows: that may be read by GPU.
        amounts: a value of `Amounts`.

    Raises:
        SelectionError: a time, dimension or word that is not valid (rules.md N30).
    """
    check_word("as", amounts, tuple(Amounts))
    for name in filters:
        check_word("filter", name, FILTERS)
    kept = {
        key: (value,) if isinstance(value, str) else tuple(value)
        for key, value in filters.items()
        if value
    }
    for key, values in kept.items():
        _check_values(key, values)
    period = _period(start, end)
    return Selection(scope, period, kept, most_rows, Amounts(amounts))


def narrowed(
    selection: Selection,
    excludes: Mapping[str, Sequence[str]],
    revisions: Sequence[str] = (),
) -> Selection:
    """The same without some values, and with the closes that it is read from.

    Args:
        excludes: values by dimension.
        revisions: as `2026-10-r1`; none for what is stored now.

    Raises:
        SelectionError: a value that is not valid, or closes where other money was requested.
    """
    kept = {name: tuple(values) for name, values in excludes.items() if values}
    for name, values in kept.items():
        _check_values(name, values)
    if revisions and selection.amounts is not Amounts.BOOKED:
        raise SelectionError(
            "a close has the amounts that it booked; leave out as, or close",
            parameter="close",
        )
    return replace(selection, excludes=kept, revisions=tuple(revisions))


def check_word(parameter: str, word: str, allowed: Sequence[str]) -> None:
    """Reject a value that is not allowed.

    Raises:
        SelectionError: names the parameter and its possible values.
    """
    if word not in allowed:
        raise SelectionError(
            f"unknown {parameter} {word!r}; use {', '.join(allowed)}",
            parameter=parameter,
            allowed=allowed,
        )


def refuse_others(selection: Selection, allowed: Sequence[str], what: str) -> None:
    """Reject filters that these rows do not support: if ignored, they would show too much.

    Raises:
        SelectionError: names the filter and the supported ones.
    """
    for name in selection.filters:
        if name not in allowed:
            raise SelectionError(
                f"{what} cannot be filtered by {name}; use {', '.join(allowed)}",
                parameter=name,
                allowed=allowed,
            )


def _check_values(name: str, values: Sequence[str]) -> None:
    allowed = BY_NAME[name].values
    for value in values:
        if allowed:
            check_word(name, value, allowed)
        if "\0" in value:  # PostgreSQL cannot store such text
            raise SelectionError(f"{name} {value!r} is not a text", parameter=name)


def _period(start: str | None, end: str | None) -> Interval | None:
    if start is None and end is None:
        return None
    low = FIRST if start is None else parse_time(start, "from")
    high = LAST if end is None else parse_time(end, "to")
    if high <= low:
        raise SelectionError(
            f"to ({end}) is not later than from ({start})", parameter="to"
        )
    return Interval.of(low, high)


def parse_time(text: str, parameter: str = "") -> datetime:
    """An instant on a five-minute boundary (rules.md N30).

    Raises:
        SelectionError: not an ISO time, no offset, or not on a boundary.
    """
    instant = parse_instant(text, parameter)
    if (instant - FIRST) % timedelta(milliseconds=WINDOW_MS):
        raise SelectionError(
            f"{text!r} must align to a five-minute boundary", parameter=parameter
        )
    return instant


def parse_instant(text: str, parameter: str = "") -> datetime:
    """An instant from ISO 8601 with offset, or from a date: its midnight in the billing zone.

    Raises:
        SelectionError: not an ISO time, no offset, before 1970 or after 9998.
    """
    try:
        instant = _read_instant(text)
    except (ValueError, OverflowError) as error:
        raise SelectionError(
            f"{text!r} is not a valid ISO 8601 time; use 2026-10-01 or 2026-10-01T10:00:00Z",
            parameter=parameter,
        ) from error
    if instant.tzinfo is None:
        raise SelectionError(
            f"{text!r} has no offset; use {text}Z for UTC", parameter=parameter
        )
    if not FIRST <= instant < LAST:
        raise SelectionError(
            f"{text!r} is not between 1970 and 9998", parameter=parameter
        )
    return instant


def _read_instant(text: str) -> datetime:
    if len(text) != len("2026-10-01"):
        return datetime.fromisoformat(text)
    day = date.fromisoformat(text)
    return FIRST if day == FIRST.date() else midnight(day)


def is_on_days(period: Interval) -> bool:
    """True if both ends are boundaries of billing days (or open)."""
    return all(_is_day(to_instant(ms)) for ms in (period.start_ms, period.end_ms))


def _is_day(instant: datetime) -> bool:
    if instant.year in (1970, 9999):
        return True
    return instant == midnight(billing_day(instant))


def is_on_hours(period: Interval) -> bool:
    """True if both ends are full UTC hours."""
    return period.start_ms % HOUR_MS == 0 and period.end_ms % HOUR_MS == 0


def billing_days(period: Interval) -> tuple[date, date]:
    """First billing day, and the first day after a period on day boundaries."""
    return billing_day(period.start), billing_day(period.end)


def days_inside(period: Interval) -> tuple[date, date]:
    """The first billing day that a period has as a whole, and the day after the last one.

    Equal, or the wrong way round, if there is none.
    """
    first = billing_day(period.start)
    if period.start != midnight(first):
        first += timedelta(days=1)
    return first, billing_day(period.end)


def stored_period(cluster: str | None = None) -> Interval | None:
    """From the first to the last stored fact; None without facts.

    Cluster by cluster, in the order of their key: two rows are read, regardless of the length of
    the history.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STORED, {"cluster": cluster})
        first, last = cursor.fetchone()
    if first is None or last is None:
        return None
    return Interval.of(first, last + timedelta(milliseconds=WINDOW_MS))


_STORED = """
    SELECT min(oldest.window_start), max(newest.window_start)
    FROM accounting_cluster c
    CROSS JOIN LATERAL (
        SELECT w.window_start FROM usage_window w
        WHERE w.cluster_id = c.id ORDER BY w.window_start LIMIT 1
    ) oldest
    CROSS JOIN LATERAL (
        SELECT w.window_start FROM usage_window w
        WHERE w.cluster_id = c.id ORDER BY w.window_start DESC LIMIT 1
    ) newest
    WHERE %(cluster)s::text IS NULL OR c.name = %(cluster)s
"""
