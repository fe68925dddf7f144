"""Money of closed billing days in reports: the charges of their lines (money.md M5).

A row of a report has the time that is known now and, for closed days, the money that was booked.
Hours of closed days have the parts of lines that were stored with them (decision 42). Days of open
periods, parts of an hour, and reports by GPU, node or pod follow rules.md N28.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from accounting.domain.billing.charge_lines import FIELDS, PLATFORM
from accounting.domain.core.interval import HOUR_MS, Interval, to_ms
from accounting.queries.dimensions import (
    BY_NAME,
    DimensionKey,
    StoredIn,
    keys_of,
    named,
)
from accounting.queries.relation.families import lines_with_family
from accounting.queries.relation.relation import Relation
from accounting.queries.selection import FIRST, LAST, Amounts, Selection, is_on_days
from accounting.rating.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.rating.line_hours_sql import IS_DIVIDED, IS_LATER

_CLOSED = (
    "accounting_periodrevision r WHERE closed_at IS NOT NULL AND reopened_at IS NULL"
)
_DAY = """coalesce(u.billing_on <@ (SELECT range_agg(daterange(to_date(period, 'YYYY-MM'),
    (to_date(period, 'YYYY-MM') + interval '1 month')::date)) FROM {closed}), false)"""
_CLOSED_DAY = _DAY.format(closed=_CLOSED)
_DIVIDED_DAY = _DAY.format(closed=f"{_CLOSED} AND {IS_DIVIDED}")
_Table = Callable[[str], str]  # a table of lines, with their family if it is needed
_FIELDS = (*FIELDS, "family")
_LINE = ", ".join(f"l.{name}" for name in ("revision_id", "line_id", *_FIELDS))


@dataclass(frozen=True, slots=True)
class MoneyColumns:
    """What a report with money sums.

    Attributes:
        rates: columns, as `rate`.
        summed: columns of integers.
        states: whose money is summed.
    """

    rates: tuple[str, ...]
    summed: tuple[str, ...]
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BookedPart:
    """The part of a report whose money is as booked.

    Attributes:
        condition: SQL over the rows `u` of a relation: their money is not that of N28.
        rows: a SELECT of lines with `hour_start`, `charge_part` and `unpriced_part`; "" for none.
        parameters: of both.
    """

    condition: str = "false"
    rows: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)


@billing_remembered()
def booked_part(
    selection: Selection, by: Sequence[str], *, is_held: bool
) -> BookedPart:
    """What of a report is booked.

    Args:
        selection: the report; its `amounts` say how.
        by: its dimensions.
        is_held: only what teams held, with what is spread over them; else the platform's, too.
    """
    dimensions = named((*by, *selection.filters))
    if selection.amounts is Amounts.MEASURED:
        return BookedPart()
    if not all(one.is_of_lines for one in dimensions):
        return BookedPart()
    where = [f"l.team <> '{PLATFORM}'"] if is_held else []
    where += [f"l.{name} = ANY(%(f_{name})s)" for name in selection.filters]
    if selection.scope.team_ids is not None:
        where.append(
            "l.team IN (SELECT slug FROM accounting_team WHERE id = ANY(%(scope)s))"
        )
    table = lines_with_family if BY_NAME["family"] in dimensions else _as_booked
    by_hour = any(one.stored is StoredIn.HOURS for one in dimensions)
    if not by_hour and (selection.period is None or is_on_days(selection.period)):
        return _whole_days(selection, where, table)
    return _by_hour(selection, where, table, by_hour=by_hour)


def _as_booked(table: str) -> str:
    return f"(SELECT *, '' AS family FROM {table})"


def _whole_days(
    selection: Selection, where: Sequence[str], table: _Table
) -> BookedPart:
    first, after = _days(selection.period)
    whole = [*where, _between("l", "b_first", "b_after")]
    lines = _lines(selection.amounts, whole, table)
    rows = f"""SELECT {_LINE}, l.currency, NULL::timestamptz AS hour_start,
               {_WHOLE} FROM ({lines}) l"""
    return BookedPart(_CLOSED_DAY, rows, {"b_first": first, "b_after": after})


_WHOLE = "l.charge AS charge_part, CASE WHEN l.charge IS NULL THEN l.ms ELSE 0 END AS unpriced_part"


def _by_hour(
    selection: Selection, where: Sequence[str], table: _Table, *, by_hour: bool
) -> BookedPart:
    """Whole days as they are, and the stored hours of those that are cut or shown by hour."""
    period = selection.period or Interval.of(FIRST, LAST)
    lower, upper = _whole_hours(period)
    first, after = _days(period)
    inside = (
        first if period.start_ms == to_ms(midnight(first)) else first + timedelta(1),
        _last(period),
    )
    values: dict[str, Any] = {
        "b_low_day": lower[0],
        "b_low_hour": lower[1],
        "b_high_day": upper[0],
        "b_high_hour": upper[1],
        "b_first": first,
        "b_after": after,
        "b_inside": inside[0],
        "b_beyond": max(inside),
    }
    days, whole = (_between("l", *ends) for ends in (_TOUCHED, _INSIDE))
    cut = days if by_hour else f"{days} AND NOT ({whole})"
    rows = f"""SELECT {_LINE}, l.currency, p.hour_start,
               CASE WHEN l.charge IS NOT NULL THEN p.part END AS charge_part,
               CASE WHEN l.charge IS NULL THEN p.part ELSE 0 END AS unpriced_part
               FROM ({_lines(selection.amounts, [*where, cut], table)}) l
               JOIN line_hours h USING (revision_id, line_id)
               CROSS JOIN unnest(h.hours, h.parts) AS p(hour_start, part)
               WHERE {_hours_of("l", "p")}"""
    if by_hour:
        return BookedPart(f"({_DIVIDED_DAY} AND {_hours_of('u', 'u')})", rows, values)
    lines = _lines(selection.amounts, [*where, whole], table)
    rows = f"""{rows} UNION ALL
               SELECT {_LINE}, l.currency, NULL::timestamptz, {_WHOLE} FROM ({lines}) l"""
    condition = f"""({_CLOSED_DAY} AND {_hours_of("u", "u")}
        AND ({_between("u", *_INSIDE)} OR {_DIVIDED_DAY}))"""
    return BookedPart(condition, rows, values)


_TOUCHED, _INSIDE = ("b_first", "b_after"), ("b_inside", "b_beyond")
"""Parameters: the days that a range touches, and those that it has as a whole."""


def _lines(amounts: Amounts, where: Sequence[str], table: _Table) -> str:
    """Lines of closed days; corrected: of every day, what any month has booked for it."""
    text = " AND ".join(where)
    if amounts is Amounts.BOOKED:
        kinds = f"l.kind <> 'rounding' AND NOT {IS_LATER}"
        return _of_table(table("charge_line"), "NOT NULL", kinds, text)
    closed = _of_table(table("charge_line"), "NOT NULL", "l.kind <> 'rounding'", text)
    running = _of_table(table("running_line"), "NULL", IS_LATER, text)
    return f"{closed} UNION ALL {running}"


def _of_table(table: str, closed: str, kinds: str, where: str) -> str:
    return f"""SELECT {_LINE}, v.currency FROM {table} l
    JOIN accounting_periodrevision v ON v.id = l.revision_id
        AND v.reopened_at IS NULL AND v.closed_at IS {closed}
    WHERE {kinds} AND {where}"""


def _between(alias: str, first: str, after: str) -> str:
    return f"{alias}.billing_on >= %({first})s AND {alias}.billing_on < %({after})s"


def _hours_of(day: str, hour: str) -> str:
    pair = f"({day}.billing_on, {hour}.hour_start)"
    return f"""{pair} >= (%(b_low_day)s::date, %(b_low_hour)s::timestamptz)
        AND {pair} < (%(b_high_day)s::date, %(b_high_hour)s::timestamptz)"""


def _days(period: Interval | None) -> tuple[date, date]:
    """The first billing day that a range touches, and the day after the last one."""
    period = period or Interval.of(FIRST, LAST)
    last = billing_day(period.end)
    if period.end_ms > to_ms(midnight(last)):
        last += timedelta(days=1)
    return billing_day(period.start), last


def _last(period: Interval) -> date:
    """The day after the last billing day that a range has as a whole."""
    return billing_day(period.end)


def _whole_hours(
    period: Interval,
) -> tuple[tuple[date, datetime], tuple[date, datetime]]:
    """The first hour of a billing day that is within a range, and the first one that is not.

    An hour that a billing day cuts is two of them (rules.md N31).
    """
    start = period.start
    day = billing_day(start)
    if period.start_ms % HOUR_MS and start != midnight(day):
        start = min(
            _hour(start) + timedelta(hours=1), midnight(day + timedelta(days=1))
        )
    return (billing_day(start), _hour(start)), (
        billing_day(period.end),
        _hour(period.end),
    )


def _hour(instant: datetime) -> datetime:
    return instant.replace(minute=0, second=0, microsecond=0)


def money_of(
    chosen: Relation,
    by: Sequence[str],
    columns: MoneyColumns,
    booked: BookedPart,
    where: str = "true",
) -> str:
    """The FROM of a report with money: its rows `u`, summed by key, rates and currency.

    A row with `is_booked` has no rate: its time is of closed days, whose money is in other rows, as
    `<state>_booked` (six places) with `<state>_lines` (how many have a charge) and
    `<state>_unpriced` (milliseconds without money). `rest_booked` is what has no state of its own:
    differences, what is spread, entries.

    Args:
        chosen: the table of the report.
        by: its dimensions.
        columns: what is summed.
        booked: from `booked_part`; its parameters are those of `chosen` from now on.
        where: a further condition on time.
    """
    keys = {key.name: key.sql for key in keys_of(by)}
    rates, summed, states = columns.rates, columns.summed, columns.states
    nothing = [
        *(f"0::numeric AS {state}_booked" for state in states),
        "0::numeric AS rest_booked",
        *(f"0 AS {state}_{what}" for state in states for what in ("lines", "unpriced")),
    ]
    if not booked.rows:
        more = ("false AS is_booked", *nothing)
        return f"FROM ({chosen.by_rate(keys, rates, summed, where, more)}) u"
    chosen.parameters.update(booked.parameters)
    time = chosen.by_rate(keys, rates, summed, where, nothing, booked.condition)
    return f"FROM ({time} UNION ALL {_summed_lines(by, columns, booked.rows)}) u"


def _summed_lines(by: Sequence[str], columns: MoneyColumns, rows: str) -> str:
    """The same columns of booked lines, by key.

    Parts of lines are summed by what makes the key first, so that it is made once for each sum.
    """
    keys = {key.name: _line_key(key) for key in keys_of(by)}
    is_time = "kind IN ('usage', 'platform')"
    of_state = [f"{is_time} AND state = '{state}'" for state in columns.states]
    texts = [
        *(f"{text} AS {name}" for name, text in keys.items()),
        *("NULL::numeric" for _ in columns.rates),
        "CASE WHEN sum(charges) > 0 THEN max(currency) ELSE '' END",
        *("0::bigint" for _ in columns.summed),
        "true",
        *(_sum("charge_part", which) for which in of_state),
        _sum("charge_part", f"NOT ({is_time})"),
    ]
    for which in of_state:
        texts.append(f"{_sum('charges', which)}::bigint")
        texts.append(f"{_sum('unpriced_part', which)}::bigint")
    grouped = f"GROUP BY {', '.join(keys.values())}" if keys else "HAVING count(*) > 0"
    parts = ", ".join(
        dict.fromkeys(
            ("hour_start", "billing_on", "kind", "state", "currency", *_fields(keys))
        )
    )
    return f"""SELECT {", ".join(texts)} FROM (
        SELECT {parts}, sum(charge_part) AS charge_part, count(charge_part) AS charges,
               sum(unpriced_part) AS unpriced_part
        FROM ({rows}) l GROUP BY {parts}
    ) u {grouped}"""


def _fields(keys: Iterable[str]) -> Iterator[str]:
    """The fields of lines among keys."""
    return (name for name in keys if name in _FIELDS)


def _sum(column: str, condition: str) -> str:
    return f"coalesce(sum({column}) FILTER (WHERE {condition}), 0)"


def _line_key(key: DimensionKey) -> str:
    """A key over lines, which have names where time has references."""
    return f"u.{key.name}" if key.name in _FIELDS else key.sql
