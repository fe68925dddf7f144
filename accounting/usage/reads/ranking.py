"""The largest of many rows, selected by the database.

An organization has thousands of workloads and families; a page shows ten of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from accounting.core.interval import HOUR_MS, Interval
from accounting.core.ledger_line import HELD_STATES as HELD
from accounting.core.money import NOTHING, Money
from accounting.kit.reads.selection import Selection
from accounting.metering.reads.clusters import has_one_cluster
from accounting.metering.sql.states_sql import held
from accounting.prices.rules.charge import charge_of
from accounting.prices.sql.charge_sql import raw, raw_sum
from accounting.usage.reads.booked import booked_part
from accounting.usage.reads.breakdown import Mover
from accounting.usage.reads.money_rows import MoneyColumns, money_of
from accounting.usage.reads.relation.relation import relation
from accounting.usage.reads.usage import BOOKED, fetch_usage, key_columns, usage_row
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
        first=_first_workloads(selection, by, order),
    )
    rows = rounded_each([_row(row, names) for row in found], places)
    return Ranking(tuple(rows), found[0]["listed"] if found else 0)


def _first_workloads(selection: Selection, by: Sequence[str], order: str) -> str:
    """A SELECT of the ids of the first `limit` rows of an order; `listed`: how many rows it has.

    So names, and all other sums, are read of a few workloads. Empty where rows have more than one
    id, or lines, which have none: several clusters may have workloads of one name.
    """
    if "workload" not in by or not set(by) <= {"team", "workload"}:
        return ""
    if not (has_one_cluster() or _names_one(selection)):
        return ""
    if booked_part(selection, by, is_held=True).parameters:
        return ""
    chosen = relation(selection, by)
    key = ", ".join(f"u.{name}_id" for name in by)
    milliseconds = _HELD_MS if order == "charge" else f"u.{order}_ms"
    money = "" if order == "unknown" else f"{raw_sum('u.ms')} DESC,"
    return f"""
        SELECT u.workload_id, count(*) OVER () AS listed
        FROM (SELECT {key}, u.rate, sum({milliseconds})::bigint AS ms
              FROM ({chosen.body}) u {" ".join(chosen.filter_joins)}
              WHERE {chosen.condition} AND {chosen.is_held} GROUP BY {key}, u.rate) u
        GROUP BY {key} HAVING sum(u.ms) > 0 OR {order != "unknown"}
        ORDER BY {money} sum(u.ms) DESC FETCH FIRST %(limit)s ROWS WITH TIES
    """  # built from this module's own constants


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
        SELECT u.team, u.namespace, u.family, {_WAS}, {_IS_NOW}
        FROM ({_money(earlier, "true")} UNION ALL {_money(selection, "false")}) u
        GROUP BY u.team, u.namespace, u.family
        HAVING {_WAS} <> {_IS_NOW} AND coalesce(max(u.currency) = min(u.currency), true)
        ORDER BY abs({_IS_NOW} - {_WAS}) DESC, team, family, namespace
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


def _names_one(selection: Selection) -> bool:
    return len(selection.filters.get("cluster", ())) == 1


# Most families are in one of the periods only: a sum of nothing takes no time.
_WAS, _IS_NOW = (
    f"coalesce(sum(u.money) FILTER (WHERE {which}), 0)"
    for which in ("u.is_before", "NOT u.is_before")
)


def _money(selection: Selection, is_before: str) -> str:
    """A SELECT of raw money by key and rate, with literal values: both have the same names."""
    chosen = relation(selection, _NAMES)
    booked = booked_part(selection, _NAMES, is_held=True)
    rows = money_of(chosen, _NAMES, _COLUMNS, booked, chosen.is_held, only_money=True)
    # A number, because largest and smallest texts take half as long as all the rest.
    currency = "CASE WHEN u.currency <> '' THEN hashtextextended(u.currency, 0) END"
    text = f"""SELECT u.team, u.namespace, u.family, {currency} AS currency,
               coalesce({raw(_HELD_MS)}, 0) + u.rest_booked * {HOUR_MS} AS money,
               {is_before} AS is_before {rows}"""
    composed = connection.ops.compose_sql(text, chosen.parameters)  # type: ignore[attr-defined]  # PostgreSQL has it
    return str(composed)
