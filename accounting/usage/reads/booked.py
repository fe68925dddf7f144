"""Money of closed billing days in reports: the charges of their lines (money.md M5).

A row of a report has the time that is known now and, for closed days, the money that was booked.
Hours of closed days have the parts of lines that were stored with them (decision 42). Days of open
periods, parts of an hour, and reports by GPU, node or pod follow rules.md N28.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.core.charge_lines import FIELDS, PLATFORM
from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.kit.reads.dimensions import BY_NAME, StoredIn, named
from accounting.kit.reads.selection import (
    FIRST,
    LAST,
    Amounts,
    Selection,
    SelectionError,
    days_inside,
    is_on_days,
    is_on_hours,
)
from accounting.prices.sql.line_hours_sql import IS_LATER
from accounting.usage.reads.closed_months import (
    ClosedMonth,
    closed_months,
    closes_named,
    days_of,
)
from accounting.usage.reads.relation.families import lines_with_family

_CLOSED_DAY = "u.billing_on <@ %(b_closed)s::datemultirange"
_DIVIDED_DAY = "u.billing_on <@ %(b_divided)s::datemultirange"
LINE_FIELDS = (*FIELDS, "family")
_LINE = ", ".join(f"l.{name}" for name in ("revision_id", "line_id", *LINE_FIELDS))
_FAMILY = """l.billing_on, l.team, l.cluster, l.namespace, l.family, l.workload_type, l.model,
    l.lifecycle, l.tier, l.kind, l.state"""


@dataclass(frozen=True, slots=True)
class BookedPart:
    """The part of a report whose money is as booked.

    Attributes:
        condition: SQL over the rows `u` of a relation: their money is not that of N28.
        rows: a SELECT of lines with `currency`, `hour_start`, `charge_part` and `unpriced_part`; ""
            for none.
        sums: FROM and WHERE of `charge_family_day` as `l`, with its revision `v`: the lines that
            are not in `rows`; "" for none.
        is_all: no money of the report is elsewhere.
        parameters: of all.
    """

    condition: str = "false"
    rows: str = ""
    sums: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    is_all: bool = False


def months_of(selection: Selection) -> tuple[ClosedMonth, ...]:
    """The closed months whose lines a selection reads."""
    if selection.amounts is Amounts.MEASURED:
        return ()
    first, after = _days(selection.period)
    return tuple(
        one
        for one in closed_months()
        if selection.amounts is not Amounts.BOOKED
        or (one.first < after and first < one.after)
    )


@billing_remembered()
def booked_part(
    selection: Selection, by: Sequence[str], *, is_held: bool, of_lines: bool = False
) -> BookedPart:
    """What of a report is booked.

    Args:
        selection: the report; its `amounts` say how.
        by: its dimensions.
        is_held: only what teams held, with what is spread over them; else the platform's, too.
        of_lines: its rows are lines with all of their fields.
    """
    dimensions = named((*by, *selection.filters, *selection.excludes))
    months = months_of(selection)
    if not months and selection.amounts is not Amounts.CORRECTED:
        return BookedPart()
    if not all(one.is_of_lines for one in dimensions):
        return BookedPart()
    first, after = _days(selection.period)
    where = _conditions(selection, is_held=is_held)
    divided = [one for one in months if one.is_divided]
    values = {
        "b_first": first,
        "b_after": after,
        "b_closed": days_of(months),
        "b_revisions": [one.revision_id for one in months],
        "b_divided": days_of(divided),
        "b_divided_revisions": [one.revision_id for one in divided],
    }
    lines = _Lines(
        selection.amounts is Amounts.BOOKED,
        where,
        is_whole=of_lines or BY_NAME["workload"] in dimensions,
        has_family=BY_NAME["family"] in dimensions,
    )
    by_hour = any(one.stored is StoredIn.HOURS for one in dimensions)
    period = selection.period or Interval.of(FIRST, LAST)
    if not by_hour and is_on_days(period):
        is_all = have_days(months, first, after)
        return BookedPart(_CLOSED_DAY, *lines.whole(_TOUCHED), values, is_all)
    part = _by_hour(period, lines, values, by_hour=by_hour)
    return replace(
        part, is_all=is_on_hours(period) and have_days(divided, first, after)
    )


def _conditions(selection: Selection, *, is_held: bool) -> list[str]:
    """Which lines a selection has, by the parameters of its relation."""
    where = [f"l.team <> '{PLATFORM}'"] if is_held else []
    where += [f"l.{name} = ANY(%(f_{name})s)" for name in selection.filters]
    where += [f"l.{name} <> ALL(%(x_{name})s)" for name in selection.excludes]
    if selection.scope.team_ids is not None:
        where.append(
            "l.team IN (SELECT slug FROM accounting_team WHERE id = ANY(%(scope)s))"
        )
    return where


def pinned_part(selection: Selection, by: Sequence[str]) -> BookedPart:
    """The held time and money of a selection's days as its closes booked them.

    Raises:
        SelectionError: a close that is unknown or of other days, or what lines do not have.
    """
    dimensions = named((*by, *selection.filters, *selection.excludes))
    for one in dimensions:
        if not one.is_of_lines or one.stored is StoredIn.HOURS:
            raise SelectionError(
                f"a close has no {one.label.lower()}; use other dimensions, or "
                "as=measured without close",
                parameter="close",
            )
    months = closes_named(selection.revisions)
    period = selection.period
    first, after = _days(period)
    if period is None or not is_on_days(period) or not have_days(months, first, after):
        raise SelectionError(
            f"{', '.join(selection.revisions)} does not have every day of the range; use whole "
            "days of these months, or name the closes of all of its months",
            parameter="close",
        )
    values: dict[str, Any] = {
        "b_first": first,
        "b_after": after,
        "b_revisions": [one.revision_id for one in months],
    }
    values |= {f"f_{name}": [*some] for name, some in selection.filters.items()}
    values |= {f"x_{name}": [*some] for name, some in selection.excludes.items()}
    if selection.scope.team_ids is not None:
        values["scope"] = sorted(selection.scope.team_ids)
    lines = _Lines(
        only_booked=True,
        where=_conditions(selection, is_held=True),
        is_whole=True,
        has_family=BY_NAME["family"] in dimensions,
    )
    rows, _ = lines.whole(_TOUCHED)
    return BookedPart(rows=rows, parameters=values, is_all=True)


def have_days(months: Sequence[ClosedMonth], first: date, after: date) -> bool:
    """Whether some months, in order, have every day of a range."""
    for one in months:
        if one.first <= first < one.after:
            first = one.after
    return first >= after


_TOUCHED, _INSIDE = ("b_first", "b_after"), ("b_inside", "b_beyond")
"""Parameters: the days that a range touches, and those that it has as a whole."""


def _by_hour(
    period: Interval, lines: "_Lines", values: dict[str, Any], *, by_hour: bool
) -> BookedPart:
    """Whole days as they are, and the stored hours of those that are cut or shown by hour."""
    first, after = days_inside(period)
    values |= {"b_inside": first, "b_beyond": max(first, after), **_ends(period)}
    # Rollups have whole hours only; of facts, parts of an hour at the ends are not booked.
    whole_hours = "true" if is_on_hours(period) else _hours_of("u", "u")
    if by_hour:
        condition = f"({_DIVIDED_DAY} AND {whole_hours})"
        return BookedPart(condition, lines.hours(), "", values)
    condition = f"""({_CLOSED_DAY} AND {whole_hours}
        AND ({_between("u", *_INSIDE)} OR {_DIVIDED_DAY}))"""
    touched, beyond = values["b_first"], values["b_after"]
    days = (touched + timedelta(n) for n in range((beyond - touched).days))
    low, high = values["b_low_day"], values["b_high_day"]
    values["b_cut"] = [
        day for day in days if low <= day <= high and not first <= day < after
    ]
    whole, sums = lines.whole(_INSIDE)
    rows = f"{lines.within()} UNION ALL {whole}" if whole else lines.within()
    return BookedPart(condition, rows, sums, values)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of closed days; corrected: of every day, what any month has booked for it."""

    only_booked: bool
    where: Sequence[str]
    is_whole: bool
    has_family: bool

    def whole(self, days: tuple[str, str]) -> tuple[str, str]:
        """`rows` and `sums` of the days between two parameters: what can be is read by family."""
        within = _between("l", *days)
        if self.is_whole:
            return self._all(_OF_LINE, "", within, "b_revisions"), ""
        which = self._of_families("b_revisions")
        tables = "charge_family_day l JOIN accounting_periodrevision v ON v.id = l.revision_id"
        sums = f"FROM {tables} WHERE {' AND '.join((which, *self.where, within))}"
        return "" if self.only_booked else self._running(_OF_LINE, "", within), sums

    def within(self) -> str:
        """The parts of lines that are in a range, of the days that it cuts."""
        where = "p.part IS NOT NULL AND l.billing_on = ANY(%(b_cut)s)"
        if self.is_whole:
            return self._all(_OF_HOUR, _CUT_LINE, where, "b_divided_revisions")
        which = self._of_families("b_divided_revisions")
        rows = self._select("charge_family_hours", _OF_SUM, _CUT_SUM, which, where)
        if self.only_booked:
            return rows
        return f"{rows} UNION ALL {self._running(_OF_HOUR, _CUT_LINE, where)}"

    def hours(self) -> str:
        """The hours of lines that are in a range."""
        inside = f"{_HOURS} CROSS JOIN unnest(h.hours, h.parts) AS p(hour_start, part)"
        where = f"{_between('l', *_TOUCHED)} AND {_hours_of('l', 'p')}"
        return self._all(_OF_HOUR, inside, where, "b_divided_revisions")

    def _all(self, part: str, joins: str, where: str, revisions: str) -> str:
        kinds = f" AND NOT {IS_LATER}" if self.only_booked else ""
        booked = f"v.id = ANY(%({revisions})s) AND l.kind <> 'rounding'{kinds}"
        rows = self._select(self._table("charge_line"), part, joins, booked, where)
        if self.only_booked:
            return rows
        return f"{rows} UNION ALL {self._running(part, joins, where)}"

    def _running(self, part: str, joins: str, where: str) -> str:
        later = f"v.reopened_at IS NULL AND v.closed_at IS NULL AND {IS_LATER}"
        return self._select(self._table("running_line"), part, joins, later, where)

    def _of_families(self, revisions: str) -> str:
        which = f"v.id = ANY(%({revisions})s)"
        return f"{which} AND NOT l.is_later" if self.only_booked else which

    def _select(self, table: str, part: str, joins: str, which: str, where: str) -> str:
        fields = _LINE if self.is_whole else _FAMILY
        return f"""SELECT {fields}, v.currency, {part} FROM {table} l
            JOIN accounting_periodrevision v ON v.id = l.revision_id {joins}
            WHERE {" AND ".join((which, *self.where, where))}"""

    def _table(self, table: str) -> str:
        if self.has_family:
            return lines_with_family(table)
        return f"(SELECT *, '' AS family FROM {table})"


_OF_LINE = """NULL::timestamptz AS hour_start, l.charge AS charge_part,
    CASE WHEN l.charge IS NULL THEN l.ms ELSE 0 END AS unpriced_part"""
_OF_HOUR = """p.hour_start, CASE WHEN l.charge IS NOT NULL THEN p.part END AS charge_part,
    CASE WHEN l.charge IS NULL THEN p.part ELSE 0 END AS unpriced_part"""
_OF_SUM = """NULL::timestamptz AS hour_start, CASE WHEN l.is_priced THEN p.part END AS charge_part,
    CASE WHEN l.is_priced THEN 0 ELSE p.part END AS unpriced_part"""


# Each line has its row: a join of two columns is taken for a tenth of the rows, and hours, of which
# there are hundreds of thousands, are then sorted instead of added up as they come.
_HOURS = """CROSS JOIN LATERAL (SELECT h.hours, h.parts FROM line_hours h
    WHERE h.revision_id = l.revision_id AND h.line_id = l.line_id OFFSET 0) h"""
# The last instant before the range, and its last one; of a day that it does not cut, any.
_CUT = (
    "CASE l.billing_on WHEN %(b_low_day)s::date THEN %(b_low_hour)s::timestamptz - interval '1 us'"
    " ELSE '-infinity' END AS first,"
    " CASE l.billing_on WHEN %(b_high_day)s::date THEN %(b_high_hour)s::timestamptz"
    " - interval '1 us' ELSE 'infinity' END AS last"
)
# The hours of a line are in order: those in a range are one part of the array.
_CUT_LINE = f"""JOIN line_hours h ON h.revision_id = l.revision_id AND h.line_id = l.line_id
    CROSS JOIN LATERAL (SELECT {_CUT}) e
    CROSS JOIN LATERAL (SELECT width_bucket(e.first, h.hours) + 1 AS low,
                               width_bucket(e.last, h.hours) AS high) b
    CROSS JOIN LATERAL (
        SELECT h.hours[b.low] AS hour_start,
               (SELECT sum(n) FROM (SELECT unnest(h.parts[b.low:b.high]) AS n) parts) AS part
        OFFSET 0) p"""
_CUT_SUM = f"""CROSS JOIN LATERAL (SELECT {_CUT}) e
    CROSS JOIN LATERAL (SELECT width_bucket(e.first, l.hours) AS before,
                               width_bucket(e.last, l.hours) AS until OFFSET 0) b
    CROSS JOIN LATERAL (SELECT CASE WHEN b.until > b.before
        THEN l.sums[b.until] - coalesce(l.sums[b.before], 0) END AS part) p"""


def _between(alias: str, first: str, after: str) -> str:
    return f"{alias}.billing_on >= %({first})s AND {alias}.billing_on < %({after})s"


def _hours_of(day: str, hour: str) -> str:
    """Days of a range; of its first and last one, the hours. As pairs, few would be guessed."""
    day, hour = f"{day}.billing_on", f"{hour}.hour_start"
    return f"""{day} >= %(b_low_day)s::date AND {day} <= %(b_high_day)s::date
        AND NOT ({day} = %(b_low_day)s::date AND {hour} < %(b_low_hour)s::timestamptz)
        AND NOT ({day} = %(b_high_day)s::date AND {hour} >= %(b_high_hour)s::timestamptz)"""


def _days(period: Interval | None) -> tuple[date, date]:
    """The first billing day that a range touches, and the day after the last one."""
    period = period or Interval.of(FIRST, LAST)
    last = billing_day(period.end)
    if period.end_ms > to_ms(midnight(last)):
        last += timedelta(days=1)
    return billing_day(period.start), last


def _ends(period: Interval) -> dict[str, Any]:
    """The first hour of a billing day that is within a range, and the first one that is not.

    An hour that a billing day cuts is two of them (rules.md N31).
    """
    start = period.start
    day = billing_day(start)
    if period.start_ms % HOUR_MS and start != midnight(day):
        start = min(
            _hour(start) + timedelta(hours=1), midnight(day + timedelta(days=1))
        )
    return {
        "b_low_day": billing_day(start),
        "b_low_hour": _hour(start),
        "b_high_day": billing_day(period.end),
        "b_high_hour": _hour(period.end),
    }


def _hour(instant: datetime) -> datetime:
    return instant.replace(minute=0, second=0, microsecond=0)
