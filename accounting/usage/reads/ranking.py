"""The largest of many rows, selected by the database.

An organization has thousands of workloads and families; a page shows ten of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from accounting.core.interval import (
    HOUR_MS,
    Interval,
)
from accounting.core.ledger_line import HELD_STATES as HELD
from accounting.core.money import (
    NOTHING,
    Money,
)
from accounting.kit.reads.selection import Selection
from accounting.metering.sql.states_sql import held
from accounting.prices.rules.charge import charge_of
from accounting.prices.sql.charge_sql import raw, raw_sum
from accounting.usage.reads.booked import booked_part
from accounting.usage.reads.breakdown import Mover
from accounting.usage.reads.money_rows import (
    MoneyColumns,
    money_of,
)
from accounting.usage.reads.relation.relation import relation
from accounting.usage.reads.usage import (
    BOOKED,
    fetch_usage,
    key_columns,
    usage_row,
)
from accounting.usage.rules.comparison import change
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import rounded_each

_HELD_MS = held("u")
_COLUMNS = MoneyColumns(("rate",), tuple(f"{state}_ms" for state in HELD), ())
# Raw: of open days as it is, of closed ones what their charges are.
_HELD_MONEY = f"({raw_sum(_HELD_MS)} + {BOOKED} * {HOUR_MS})"
_IDLE_MONEY = f"({raw_sum('u.idle_ms')} + sum(u.idle_booked) * {HOUR_MS})"
_ORDERS = {  # what is largest: money first, then time, so that unpriced rows are ranked too
    "charge": f"{_HELD_MONEY} DESC, sum({_HELD_MS}) DESC",
    "idle": f"{_IDLE_MONEY} DESC, sum(u.idle_ms) DESC",
    "unknown": "sum(u.unknown_ms) DESC",
}
# only such rows are listed
_HAVING = {"unknown": "sum(u.unknown_ms) > 0"}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The first rows of an order, and the total number of rows."""

    rows: tuple[UsageRow, ...]
    count: int


def largest(
    selection: Selection, by: Sequence[str], order: str, count: int, places: int
) -> Ranking:
    """The rows with the most `charge`, `idle` cost or `unknown` time; one query.

    Money is in `places`, of each row alone.
    """
    names = tuple(key_columns(by))
    found = fetch_usage(
        selection,
        by,
        order=f"{_ORDERS[order]}, {', '.join(names)}",
        having=_HAVING.get(order, "true"),
        limit=count,
    )
    rows = rounded_each([_row(row, names) for row in found], places)
    return Ranking(tuple(rows), found[0]["listed"] if found else 0)


def _row(row: Mapping[str, Any], names: Sequence[str]) -> UsageRow:
    """With money in six places."""
    if not row["is_one_currency"]:
        return usage_row(row, names, NOTHING, NOTHING)
    held = sum(row[f"{state}_money"] for state in HELD)
    charge, idle = (
        Money(charge_of(raw) + booked, row["currency"])
        for raw, booked in (
            (held, row["booked"]),
            (row["idle_money"], row["idle_booked"]),
        )
    )
    return usage_row(row, names, charge, idle)


_NAMES = ("team", "family")  # the key of a mover: team, namespace, family


def moved_most(
    selection: Selection, before: Interval, count: int, places: int
) -> list[Mover]:
    """The families whose charge changed most between two periods; one query.

    A family that is only in one of the periods counts as 0 in the other. Time without a price is
    excluded in both, and so are families with amounts in two currencies.
    """
    earlier = replace(selection, period=before)
    query = f"""
        SELECT u.team, u.namespace, u.family, sum(u.was) AS was, sum(u.is_now) AS is_now
        FROM ({_money(earlier, "u.money", "0")} UNION ALL {_money(selection, "0", "u.money")}) u
        GROUP BY u.team, u.namespace, u.family
        HAVING sum(u.was) <> sum(u.is_now)
           AND coalesce(max(u.currency) = min(u.currency), true)
        ORDER BY abs(sum(u.is_now) - sum(u.was)) DESC, team, family, namespace
        LIMIT {int(count)}
    """  # built from this module's own constants, and values that the driver quoted
    with connection.cursor() as cursor:
        cursor.execute(query)
        found = cursor.fetchall()
    movers = []
    for team, namespace, family, was, is_now in found:
        amounts = (charge_of(money, places) for money in (was, is_now))
        moved = change(*amounts)
        if moved is not None and moved.difference:
            movers.append(Mover(team, namespace, family, moved))
    return movers


def _money(selection: Selection, was: str, is_now: str) -> str:
    """A SELECT of raw money by key and rate, with literal values: both have the same names."""
    chosen = relation(selection, _NAMES)
    booked = booked_part(selection, _NAMES, is_held=True)
    rows = money_of(chosen, _NAMES, _COLUMNS, booked, chosen.is_held, only_money=True)
    # A number, because largest and smallest texts take half as long as all the rest.
    currency = "CASE WHEN u.currency <> '' THEN hashtextextended(u.currency, 0) END"
    text = f"""SELECT u.team, u.namespace, u.family, {currency} AS currency,
               {was} AS was, {is_now} AS is_now
        FROM (SELECT u.*, coalesce({raw(_HELD_MS)}, 0) + u.rest_booked * {HOUR_MS} AS money
              {rows}) u"""
    composed = connection.ops.compose_sql(text, chosen.parameters)  # type: ignore[attr-defined]  # PostgreSQL has it
    return str(composed)
