"""Rows of reports with money: time of open days at its price, and what was booked (money.md M5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from accounting.kit.reads.dimensions import DimensionKey, keys_of, named
from accounting.prices.sql.line_hours_sql import IS_TIME
from accounting.usage.reads.booked import LINE_FIELDS, BookedPart
from accounting.usage.reads.relation.relation import ALL, Relation


@dataclass(frozen=True, slots=True)
class MoneyColumns:
    """What a report with money sums.

    Attributes:
        rates: columns, as `rate`.
        summed: columns of integers.
        states: whose money is summed by state; the others' is in `rest_booked`.
    """

    rates: tuple[str, ...]
    summed: tuple[str, ...]
    states: tuple[str, ...]


def money_of(
    chosen: Relation,
    by: Sequence[str],
    columns: MoneyColumns,
    booked: BookedPart,
    where: str = "true",
    *,
    only_money: bool = False,
) -> str:
    """The FROM of a report with money: its rows `u`, summed by key, rates and currency.

    A row with `is_booked` has no rate: its time is of closed days, whose money is in other rows, as
    `<state>_booked` (six places) with `<state>_lines` (how many have a charge) and
    `<state>_unpriced` (milliseconds without money). `rest_booked` is what has no such state:
    differences, what is spread, entries.

    Args:
        chosen: the table of the report.
        by: its dimensions.
        columns: what is summed.
        booked: from `booked_part`; its parameters are those of `chosen` from now on.
        where: a further condition on time.
        only_money: time of closed days is left out, because other rows have its money.
    """
    keys = named(by)
    rates, summed, states = columns.rates, columns.summed, columns.states
    nothing = [
        *(f"0::numeric AS {state}_booked" for state in states),
        "0::numeric AS rest_booked",
        *(f"0 AS {state}_{what}" for state in states for what in ("lines", "unpriced")),
    ]
    if not booked.parameters:
        more = ("false AS is_booked", *nothing)
        return f"FROM ({chosen.by_rate(keys, rates, summed, where, more)}) u"
    chosen.parameters.update(booked.parameters)
    money = (
        name for state in states for name in (f"{state}_lines", f"{state}_unpriced")
    )
    names = (
        *(key.name for key in keys_of(by)),
        *(*rates, "currency", *summed, "is_booked"),
        *(*(f"{state}_booked" for state in states), "rest_booked", *money),
    )
    parts = []
    if only_money:
        where = f"{where} AND NOT b.is_booked"
    if not (only_money and booked.is_all):
        which = ALL if booked.is_all else booked.condition
        parts.append(chosen.by_rate(keys, rates, summed, where, nothing, which))
    if booked.rows:
        parts.append(_summed_lines(by, columns, booked.rows))
    if booked.sums:
        parts.append(_stored_sums(by, columns, booked.sums))
    return f"FROM ({' UNION ALL '.join(parts)}) u({', '.join(names)})"


def lines_of(by: Sequence[str], columns: MoneyColumns, booked: BookedPart) -> str:
    """The same FROM for lines alone, with their time: nothing else is read."""
    states = columns.states
    money = (
        name for state in states for name in (f"{state}_lines", f"{state}_unpriced")
    )
    names = (
        *(key.name for key in keys_of(by)),
        *(*columns.rates, "currency", *columns.summed, "is_booked"),
        *(*(f"{state}_booked" for state in states), "rest_booked", *money),
    )
    rows = _summed_lines(by, columns, booked.rows, has_time=True)
    return f"FROM ({rows}) u({', '.join(names)})"


def _time_of(column: str, states: Sequence[str], *, has_time: bool) -> str:
    """A sum of time over lines, which say nothing of samples."""
    state = column.removesuffix("_ms")
    if has_time and state in states:
        which = f"{IS_TIME} AND state = '{state}'"
        return f"{_sum('ms_part', which)}::bigint"
    return "0::bigint"


def _summed_lines(
    by: Sequence[str], columns: MoneyColumns, rows: str, *, has_time: bool = False
) -> str:
    """The same columns of booked lines, by key.

    Parts of lines are summed by what makes the key first, so that it is made once for each sum.
    """
    keys = {key.name: _line_key(key) for key in keys_of(by)}
    of_state = [f"{IS_TIME} AND state = '{state}'" for state in columns.states]
    texts = [
        *(f"{text} AS {name}" for name, text in keys.items()),
        *("NULL::numeric" for _ in columns.rates),
        "CASE WHEN sum(charges) > 0 THEN max(currency) ELSE '' END",
        *(_time_of(name, columns.states, has_time=has_time) for name in columns.summed),
        "true",
        *(_sum("charge_part", which) for which in of_state),
        _sum("charge_part", f"NOT ({IS_TIME})" if columns.states else "true"),
    ]
    for which in of_state:
        texts.append(f"{_sum('charges', which)}::bigint")
        texts.append(f"{_sum('unpriced_part', which)}::bigint")
    grouped = f"GROUP BY {', '.join(keys.values())}" if keys else "HAVING count(*) > 0"
    parts = ", ".join(
        dict.fromkeys((*_instants(keys), "kind", "state", "currency", *_fields(keys)))
    )
    time = ", sum(ms) AS ms_part" if has_time else ""
    return f"""SELECT {", ".join(texts)} FROM (
        SELECT {parts}, sum(charge_part) AS charge_part, count(charge_part) AS charges,
               sum(unpriced_part) AS unpriced_part{time}
        FROM ({rows}) l GROUP BY {parts}
    ) u {grouped}"""


def _stored_sums(by: Sequence[str], columns: MoneyColumns, source: str) -> str:
    """The same columns of `charge_family_day`."""
    keys = {key.name: _line_key(key) for key in keys_of(by)}
    parts = [*_instants(keys), *_fields(keys)]
    rest = "rest_charge" if columns.states else "charge"
    sums = [
        *(f"coalesce(sum(l.{state}_charge), 0)" for state in columns.states),
        f"coalesce(sum(l.{rest}), 0)",
        *(
            f"coalesce(sum(l.{state}_{what}), 0)::bigint"
            for state in columns.states
            for what in ("lines", "unpriced")
        ),
    ]
    named = [f"{sql} AS sum_{n}" for n, sql in enumerate(sums)]
    texts = [
        *(f"{text} AS {name}" for name, text in keys.items()),
        *("NULL::numeric" for _ in columns.rates),
        "CASE WHEN u.charges > 0 THEN u.currency ELSE '' END",
        *("0::bigint" for _ in columns.summed),
        "true",
        *(f"u.sum_{n}" for n in range(len(sums))),
    ]
    groups = ", ".join(("v.currency", *(f"l.{name}" for name in parts)))
    return f"""SELECT {", ".join(texts)} FROM (
        SELECT {groups}, sum(l.charges) AS charges, {", ".join(named)}
        {source} GROUP BY {groups}
    ) u"""


def _instants(keys: Mapping[str, str]) -> list[str]:
    """What keys are texts of: such a text is made once for each sum."""
    return [at for at in _INSTANTS if any(at in text for text in keys.values())]


_INSTANTS = ("hour_start", "billing_on")


def _fields(keys: Iterable[str]) -> Iterator[str]:
    """The fields of lines among keys."""
    return (name for name in keys if name in LINE_FIELDS)


def _sum(column: str, condition: str) -> str:
    return f"coalesce(sum({column}) FILTER (WHERE {condition}), 0)"


def _line_key(key: DimensionKey) -> str:
    """A key over lines, which have names where time has references."""
    return f"u.{key.name}" if key.name in LINE_FIELDS else key.sql
