"""The seven states of every GPU and their money (`report ledger`)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from django.db import connection

from accounting.domain.billing.charge import charge_list
from accounting.domain.core.ledger_line import STATES
from accounting.domain.core.money import NOTHING, Cell
from accounting.domain.reports.rows import LedgerRow
from accounting.queries.dimensions import LEDGER_DIMENSIONS
from accounting.queries.relation.relation import relation
from accounting.queries.selection import Selection, check_word
from accounting.queries.usage.usage import key_columns
from accounting.rating.charge_sql import (
    CURRENCY,
    HAS_RATES,
    difference,
    raw_sum,
    unpriced_sum,
)
from accounting.rating.states_sql import held, sums


class HiddenError(PermissionError):
    """The person may not see unallocated time (the platform's line)."""


def ledger_rows(selection: Selection, by: Sequence[str]) -> list[LedgerRow]:
    """One row for each combination of dimensions, in order of its key.

    The money of a state is that of its priced time, as in `usage_rows`.

    Raises:
        HiddenError: the scope does not cover all teams.
        SelectionError: an unknown dimension, or facts that have expired.
    """
    if not selection.scope.sees_all:
        raise HiddenError(
            "only finance and administrators can see the ledger of all GPUs"
        )
    for name in by:
        check_word("by", name, LEDGER_DIMENSIONS)
    return _priced(_fetch(selection, by), list(key_columns(by)))


def ledger_total(selection: Selection) -> LedgerRow:
    """The whole selection as one row."""
    rows = ledger_rows(selection, ())
    if rows:
        return rows[0]
    return LedgerRow({}, dict.fromkeys(STATES, 0), dict.fromkeys(STATES, NOTHING))


def _fetch(selection: Selection, by: Sequence[str]) -> list[dict[str, Any]]:
    chosen = relation(selection, by)
    columns = key_columns(by)
    names = "".join(f"{sql} AS {name}, " for name, sql in columns.items())
    money = ", ".join(
        f"{raw_sum(f'u.{s}_ms', HAS_RATES)} AS {s}_money, "
        f"{unpriced_sum(f'u.{s}_ms', HAS_RATES)} AS {s}_unpriced"
        for s in STATES
    )
    query = f"""
        SELECT {names} {CURRENCY}, {sums("u")}, {money},
               coalesce(sum({difference(held("u"))}), 0) AS difference,
               sum(u.samples_expected)::bigint AS samples_expected,
               sum(u.samples_used)::bigint AS samples_used
        {chosen.text()}
        GROUP BY {", ".join(columns.values()) or "()"} HAVING count(*) > 0
        {f"ORDER BY {', '.join(columns)}" if columns else ""}
    """  # built from this module's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters)
        names_of = [column.name for column in cursor.description]
        return [dict(zip(names_of, row, strict=True)) for row in cursor.fetchall()]


def _priced(found: list[dict[str, Any]], keys: Sequence[str]) -> list[LedgerRow]:
    """Rows with money; differences of a profile's or tier's rate belong to the platform (N27)."""
    keyed = {tuple(row[name] or "" for name in keys): row for row in found}
    cells: dict[tuple[tuple[str, ...], int], Cell] = {}
    for key, row in keyed.items():
        for i, state in enumerate(STATES):
            if not _has_money(row, state):
                continue
            amount = Fraction(row[f"{state}_money"])
            if state == "free":
                amount += Fraction(row["difference"])
            cells[key, i] = amount, row["currency"]
    amounts = charge_list(cells)
    return [
        LedgerRow(
            key=dict(zip(keys, key, strict=True)),
            milliseconds={state: row[f"{state}_ms"] for state in STATES},
            charges={s: amounts.get((key, i)) for i, s in enumerate(STATES)},
            samples_expected=row["samples_expected"],
            samples_used=row["samples_used"],
            unpriced_ms=_sum(row, "unpriced"),
        )
        for key, row in keyed.items()
    ]


def _sum(row: dict[str, Any], part: str) -> int:
    return sum(row[f"{state}_{part}"] for state in STATES)


def _has_money(row: dict[str, Any], state: str) -> bool:
    """Some of the state's time has a price; a state without time where some of the row has.

    Free time also has the difference of held time (N27), which may be all that it has.
    """
    time, unpriced = row[f"{state}_ms"], row[f"{state}_unpriced"]
    some = _sum(row, "unpriced") < _sum(row, "ms") or not _sum(row, "ms")
    own = unpriced < time or not time or (state == "free" and row["difference"])
    return bool(row["is_one_currency"] and some and own)
