"""Held time and its money, by any dimensions (`report usage`)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

from accounting.core.ledger_line import HELD_STATES as HELD
from accounting.core.money import NOTHING, Money
from accounting.core.read_once import read_once
from accounting.kit.reads.dimensions import USAGE_DIMENSIONS, keys_of
from accounting.kit.reads.selection import Selection, check_word
from accounting.metering.sql.states_sql import sums
from accounting.prices.rules.charge import charge_list
from accounting.prices.sql.charge_sql import CURRENCY, HAS_RATE, raw_sum, unpriced_sum
from accounting.usage.reads.booked import booked_part, pinned_part
from accounting.usage.reads.money_rows import MoneyColumns, lines_of, money_of
from accounting.usage.reads.relation.relation import relation
from accounting.usage.rules.rows import UsageRow

_COLUMNS = MoneyColumns(
    ("rate",),
    (
        *(f"{state}_ms" for state in HELD),
        *("estimated_ms", "samples_expected", "samples_used"),
    ),
    HELD,
)
BOOKED = f"sum({' + '.join(f'u.{s}_booked' for s in HELD)} + u.rest_booked)"
"""Charges of closed days, in the rows of `money_of`."""


@read_once
def usage_rows(selection: Selection, by: Sequence[str]) -> list[UsageRow]:
    """One row for each combination of dimensions, in order of its key.

    The money of a row is that of its priced time; `unpriced_ms` is the rest. It is None if none of
    its time has a price (rules.md N26, decision 17). Of closed days it is what was booked,
    with what the method spreads over teams (money.md M5).

    Args:
        selection: period, filters and scope.
        by: dimensions.

    Raises:
        SelectionError: an unknown dimension, or facts that have expired.
    """
    return list(usage_stream(selection, by))


def usage_stream(selection: Selection, by: Sequence[str]) -> Iterator[UsageRow]:
    """The rows of `usage_rows` one by one, for long files.

    All of them are read and rounded by this call; only the rows themselves are made later.
    """
    for name in by:
        check_word("by", name, USAGE_DIMENSIONS)
    names = tuple(key_columns(by))
    return _stream(fetch_usage(selection, by, order=", ".join(names)), names)


def _stream(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[UsageRow]:
    found = {tuple(row[name] or "" for name in names): row for row in rows}
    amounts = charge_list(
        {
            (key, state): (row[f"{state}_money"], row["currency"])
            for key, row in found.items()
            if row["is_one_currency"]
            for state in HELD
        }
    )
    return (_row(row, names, key, amounts) for key, row in found.items())


def _row(
    row: Mapping[str, Any],
    names: Sequence[str],
    key: tuple[str, ...],
    amounts: Mapping[Any, Money],
) -> UsageRow:
    """With the charges of open days, which are one list, and those that were booked."""
    if not row["is_one_currency"]:
        return usage_row(row, names, NOTHING, NOTHING)
    opened = sum((amounts[key, state] for state in HELD), NOTHING)
    booked = Money(row["booked"], row["currency"])
    idle = Money(row["idle_booked"], row["currency"])
    return usage_row(row, names, opened + booked, amounts[key, "idle"] + idle)


def usage_total(selection: Selection) -> UsageRow:
    """The whole selection as one row."""
    rows = usage_rows(selection, ())
    if rows:
        return rows[0]
    return UsageRow(0, 0, 0, {}, NOTHING, NOTHING, estimated=False)


def key_columns(by: Sequence[str]) -> dict[str, str]:
    """SQL by key name, in order, each once."""
    return {key.name: key.sql for key in keys_of(by)}


def fetch_usage(
    selection: Selection,
    by: Sequence[str],
    *,
    order: str,
    having: str = "true",
    limit: int | None = None,
    first: str = "",
) -> list[dict[str, Any]]:
    """Sums of held time and its raw money, one row for each combination of dimensions.

    Args:
        selection, by: as for `usage_rows`.
        order, having: SQL over the sums; `limit` rows are returned, and all are `listed`.
        first: a SELECT of `workload_id` and `listed`: only time of these is read.
    """
    names = [f"u.{name}" for name in key_columns(by)]
    listed = "(SELECT max(listed) FROM first)" if first else "count(*) OVER ()"
    rows, parameters = _rows(selection, by, is_first=bool(first))
    query = f"""
        {f"WITH first AS MATERIALIZED ({first})" if first else ""}
        SELECT {"".join(f"{name}, " for name in names)} {CURRENCY}, {sums("u", HELD)},
               {", ".join(f"{raw_sum(f'u.{s}_ms')} AS {s}_money" for s in HELD)},
               {BOOKED} AS booked, sum(u.idle_booked) AS idle_booked,
               {_unpriced(HELD)} AS unpriced_ms, {_has_priced(HELD)} AS has_priced,
               {_unpriced(("idle",))} AS idle_unpriced_ms,
               {_has_priced(("idle",))} AS has_priced_idle,
               array_agg(u.currency) FILTER (WHERE u.currency <> '') AS currencies,
               sum(u.estimated_ms) > 0 AS estimated,
               sum(u.samples_expected)::bigint AS samples_expected,
               sum(u.samples_used)::bigint AS samples_used
               {"" if limit is None else f", {listed} AS listed"}
        {rows}
        GROUP BY {", ".join(names) or "()"}
        HAVING count(*) > 0 AND {having}
        {f"ORDER BY {order}" if order else ""}
        {"" if limit is None else "LIMIT %(limit)s"}
    """  # built from this project's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, {**parameters, "limit": limit})
        names_of = [column.name for column in cursor.description]
        return [dict(zip(names_of, row, strict=True)) for row in cursor.fetchall()]


def _rows(
    selection: Selection, by: Sequence[str], *, is_first: bool
) -> tuple[str, Mapping[str, Any]]:
    """The FROM of a report and its parameters: what closes booked, or stored time with money."""
    if selection.revisions:
        pinned = pinned_part(selection, by)
        return lines_of(by, _COLUMNS, pinned), pinned.parameters
    chosen = relation(selection, by)
    booked = booked_part(selection, by, is_held=True)
    where = chosen.is_held
    if is_first:
        where += " AND u.workload_id = ANY(ARRAY(SELECT workload_id FROM first))"
    return money_of(chosen, by, _COLUMNS, booked, where), chosen.parameters


def _unpriced(states: Sequence[str]) -> str:
    """SQL of the time in these states that has no price, of open and of closed days."""
    opened = unpriced_sum(_added(states, "ms"), f"{HAS_RATE} OR u.is_booked")
    return f"{opened} + sum({_added(states, 'unpriced')})::bigint"


def _has_priced(states: Sequence[str]) -> str:
    """SQL: whether any time in these states has a price."""
    return f"""sum({_added(states, "lines")}) > 0 OR coalesce(
        sum({_added(states, "ms")}) FILTER (WHERE {HAS_RATE}), 0) > 0"""


def _added(states: Sequence[str], what: str) -> str:
    return " + ".join(f"u.{state}_{what}" for state in states)


def usage_row(
    found: Mapping[str, Any], names: Sequence[str], charge: Money, idle_charge: Money
) -> UsageRow:
    """A row of `fetch_usage` with its rounded money; without it, if none of its time has a price.

    The same holds for its idle time alone. Money in two currencies has no sum.
    """
    is_one = found["is_one_currency"]
    has_price = is_one and (found["has_priced"] or not found["unpriced_ms"])
    is_idle_known = found["has_priced_idle"] or not found["idle_unpriced_ms"]
    return UsageRow(
        *(found["busy_ms"], found["idle_ms"], found["unknown_ms"]),
        key={name: found[name] or "" for name in names},
        charge=charge if has_price else None,
        idle_charge=idle_charge if has_price and is_idle_known else None,
        estimated=found["estimated"],
        samples_expected=found["samples_expected"],
        samples_used=found["samples_used"],
        unpriced_ms=found["unpriced_ms"],
        currencies=()
        if found["is_one_currency"]
        else tuple(sorted({*found["currencies"]})),
    )
