"""The seven states of every GPU and their money (`report ledger`)."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.db import connection

from accounting.domain.billing.charge import charge_list
from accounting.domain.core.ledger_line import STATES
from accounting.domain.core.money import NOTHING
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
from accounting.rating.states_sql import STATE_COLUMNS, held, sums

_SUMMED = (*STATE_COLUMNS, "samples_expected", "samples_used")


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
    names = [f"u.{name}" for name in columns]
    money = ", ".join(
        f"{raw_sum(f'u.{s}_ms', HAS_RATES)} AS {s}_money, "
        f"{unpriced_sum(f'u.{s}_ms', HAS_RATES)} AS {s}_unpriced"
        for s in STATES
    )
    query = f"""
        SELECT {"".join(f"{name}, " for name in names)} {CURRENCY}, {sums("u")}, {money},
               coalesce(sum({difference(held("u"))}), 0) AS difference,
               sum(u.samples_expected)::bigint AS samples_expected,
               sum(u.samples_used)::bigint AS samples_used
        {chosen.by_rate(columns, ("rate", "gpu_rate"), _SUMMED)}
        GROUP BY {", ".join(names) or "()"} HAVING count(*) > 0
        {f"ORDER BY {', '.join(columns)}" if columns else ""}
    """  # built from this module's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters)
        names_of = [column.name for column in cursor.description]
        return [dict(zip(names_of, row, strict=True)) for row in cursor.fetchall()]


def _priced(found: list[dict[str, Any]], keys: Sequence[str]) -> list[LedgerRow]:
    """Rows with money; differences of a profile's or tier's rate belong to the platform (N27)."""
    keyed = {tuple(row[name] or "" for name in keys): row for row in found}
    cells = {
        (key, STATES.index(state)): (amount, row["currency"])
        for key, row in keyed.items()
        for state, amount in _money(row)
    }
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


def _money(row: dict[str, Any]) -> Iterator[tuple[str, Fraction | Decimal]]:
    """The raw money of each state of which some time has a price; none if no time of the row has.

    A state without time has an amount too. Free time also has the difference of held time (N27),
    which may be all that it has.
    """
    time, unpriced = _sum(row, "ms"), _sum(row, "unpriced")
    if not row["is_one_currency"] or (time and unpriced >= time):
        return
    for state in STATES:
        amount, own_ms = row[f"{state}_money"], row[f"{state}_ms"]
        if state == "free" and row["difference"]:
            yield state, Fraction(amount) + Fraction(row["difference"])
        elif not own_ms or row[f"{state}_unpriced"] < own_ms:
            yield state, amount
