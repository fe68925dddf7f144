"""The largest of many rows, selected by the database.

An organization has thousands of workloads; a page shows ten of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from accounting.domain.billing.charge import charge_list, charge_of
from accounting.domain.core.interval import Interval
from accounting.domain.core.ledger_line import HELD_STATES as HELD
from accounting.domain.core.money import Money
from accounting.domain.reports.comparison import change
from accounting.domain.reports.rows import UsageRow
from accounting.queries.relation import Relation, relation
from accounting.queries.selection import Selection
from accounting.queries.usage.breakdown import Mover
from accounting.queries.usage.usage import key_columns
from accounting.rating.charge_sql import raw_sum, unpriced_sum
from accounting.rating.states_sql import held, sums

_HELD_MS = held("u")
_HELD_MONEY, _IDLE_MONEY = raw_sum(_HELD_MS), raw_sum("u.idle_ms")
_ORDERS = {  # what is largest: money first, then time, so that unpriced rows are ranked too
    "charge": f"{_HELD_MONEY} DESC, sum({_HELD_MS}) DESC",
    "idle": f"{_IDLE_MONEY} DESC, sum(u.idle_ms) DESC",
    "unknown": "sum(u.unknown_ms) DESC",
}
# only such rows are listed
_HAVING = {"unknown": "HAVING sum(u.unknown_ms) > 0"}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The first rows of an order, and the total number of rows."""

    rows: tuple[UsageRow, ...]
    count: int


def largest(
    selection: Selection, by: Sequence[str], order: str, count: int, places: int
) -> Ranking:
    """The rows with the most `charge`, `idle` cost or `unknown` time; one query.

    Money is in `places`, rounded over this list.
    """
    chosen = relation(selection, by)
    columns = key_columns(by)
    names = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    grouped = ", ".join(columns.values())
    query = f"""
        SELECT {names}, coalesce(max(u.currency), '') AS currency,
               max(u.currency) = min(nullif(u.currency, '')) AS is_one_currency,
               {sums("u", HELD)},
               {_HELD_MONEY} AS money, {_IDLE_MONEY} AS idle_money,
               {unpriced_sum(_HELD_MS)} AS unpriced_ms,
               sum(u.estimated_ms) > 0 AS estimated,
               sum(u.samples_expected)::bigint AS samples_expected,
               sum(u.samples_used)::bigint AS samples_used,
               count(*) OVER () AS listed
        {chosen.text()} AND {chosen.is_held}
        GROUP BY {grouped} {_HAVING.get(order, "")}
        ORDER BY {_ORDERS[order]}, {", ".join(columns)} LIMIT %(count)s
    """  # built from this module's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters | {"count": count})
        names_of = [column.name for column in cursor.description]
        found = [dict(zip(names_of, row, strict=True)) for row in cursor.fetchall()]
    amounts = charge_list(
        {
            (i, part): (amount, row["currency"])
            for i, row in enumerate(found)
            for part, amount in (
                ("held", row["money"] - row["idle_money"]),
                ("idle", row["idle_money"]),
            )
        },
        places,
    )
    rows = tuple(
        _row(row, list(columns), amounts[i, "held"], amounts[i, "idle"])
        for i, row in enumerate(found)
    )
    return Ranking(rows, found[0]["listed"] if found else 0)


def _row(
    found: dict[str, Any], keys: Sequence[str], held: Money, idle: Money
) -> UsageRow:
    time = sum(found[f"{state}_ms"] for state in HELD)
    has_price = (found["unpriced_ms"] < time or not time) and (
        found["is_one_currency"] is not False  # NULL: no currency
    )
    return UsageRow(
        key={name: found[name] or "" for name in keys},
        busy_ms=found["busy_ms"],
        idle_ms=found["idle_ms"],
        unknown_ms=found["unknown_ms"],
        charge=held + idle if has_price else None,
        idle_charge=idle if has_price else None,
        estimated=found["estimated"],
        samples_expected=found["samples_expected"],
        samples_used=found["samples_used"],
        unpriced_ms=found["unpriced_ms"],
    )


_NAMES = ("team", "workload")  # the key of a mover: team, namespace, kind, name


def moved_most(
    selection: Selection, before: Interval, count: int, places: int
) -> list[Mover]:
    """The workloads whose charge changed most between two periods; one query.

    A workload that is only in one of the periods counts as 0 in the other. Time without a
    price is excluded in both.
    """
    columns = key_columns(_NAMES)
    names = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    grouped = ", ".join(columns.values())
    now = relation(selection, _NAMES)
    then = relation(replace(selection, period=before), _NAMES)

    def side(chosen: Relation) -> str:
        """SQL with literal values: both sides have parameters of the same names."""
        text = f"""SELECT {names}, {_HELD_MONEY} AS money
                   {chosen.text()} AND {chosen.is_held} GROUP BY {grouped}"""
        composed = connection.ops.compose_sql(text, chosen.parameters)  # type: ignore[attr-defined]  # PostgreSQL has it
        return str(composed)

    query = f"""
        WITH later AS ({side(now)}), earlier AS ({side(then)})
        SELECT team, namespace, workload,
               coalesce(earlier.money, 0), coalesce(later.money, 0)
        FROM later FULL JOIN earlier USING ({", ".join(columns)})
        WHERE coalesce(later.money, 0) <> coalesce(earlier.money, 0)
        ORDER BY abs(coalesce(later.money, 0) - coalesce(earlier.money, 0)) DESC,
                 team, workload, namespace
        LIMIT {int(count)}
    """  # built from this module's own constants, and values that the driver quoted
    with connection.cursor() as cursor:
        cursor.execute(query)
        found = cursor.fetchall()
    movers = []
    for team, namespace, workload, was, is_now in found:
        amounts = (charge_of(money, places) for money in (was, is_now))
        moved = change(*amounts)
        if moved is not None and moved.difference:
            movers.append(Mover(team, namespace, workload, moved))
    return movers
