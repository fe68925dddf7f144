"""The seven states of every GPU and their money (`report ledger`)."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from django.db import connection

from accounting.core.ledger_line import STATES
from accounting.core.money import NOTHING, Money
from accounting.kit.reads.dimensions import LEDGER_DIMENSIONS
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.selection import Selection, check_word
from accounting.metering.sql.states_sql import STATE_COLUMNS, held, sums
from accounting.prices.rules.charge import charge_list
from accounting.prices.sql.charge_sql import (
    CURRENCY,
    HAS_RATES,
    difference,
    raw_sum,
    unpriced_sum,
)
from accounting.usage.reads.booked import booked_part
from accounting.usage.reads.money_rows import MoneyColumns, money_of
from accounting.usage.reads.relation.relation import relation
from accounting.usage.reads.usage import key_columns
from accounting.usage.rules.rows import LedgerRow

_COLUMNS = MoneyColumns(
    ("rate", "gpu_rate"), (*STATE_COLUMNS, "samples_expected", "samples_used"), STATES
)


def ledger_rows(selection: Selection, by: Sequence[str]) -> list[LedgerRow]:
    """One row for each combination of dimensions, in order of its key.

    The money of a state is that of its priced time, as in `usage_rows`. Of closed days it is what
    was booked; differences and what is spread are with free time (money.md M5).

    Raises:
        HiddenError: the scope does not cover all teams.
        SelectionError: an unknown dimension, or facts that have expired.
    """
    _check(selection, by)
    return _priced(_fetch(selection, by), list(key_columns(by)))


def _check(selection: Selection, by: Sequence[str]) -> None:
    if not selection.scope.sees_all:
        raise HiddenError(
            "only finance and administrators can see the ledger of all GPUs"
        )
    for name in by:
        check_word("by", name, LEDGER_DIMENSIONS)


def ledger_total(selection: Selection) -> LedgerRow:
    """The whole selection as one row."""
    return _total(ledger_rows(selection, ()))


def ledger_days(selection: Selection) -> tuple[list[LedgerRow], LedgerRow]:
    """One row for each billing day, and the whole selection as one row; one query.

    Raises:
        HiddenError: the scope does not cover all teams.
    """
    _check(selection, ())
    found = _fetch(selection, ("day",))
    return _priced(found, ["day"]), _total(_priced(_added(found), []))


def _added(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of all days as one row before it is rounded; none of none."""
    if not found:
        return []
    currencies = sorted({one for row in found for one in row["currencies"] or ()})
    with localcontext(prec=MAX_DIGITS):
        sums = {
            name: sum(row[name] for row in found)
            for name, value in found[0].items()
            if isinstance(value, int | Decimal)
        }
    return [
        sums
        | {
            "currency": max(row["currency"] for row in found),
            "is_one_currency": len(currencies) < 2,
            "currencies": currencies,
        }
    ]


MAX_DIGITS = 200
"""Of a sum of raw money: more than any has, so that it is exact."""


def _total(rows: Sequence[LedgerRow]) -> LedgerRow:
    if rows:
        return rows[0]
    return LedgerRow({}, dict.fromkeys(STATES, 0), dict.fromkeys(STATES, NOTHING))


def _fetch(selection: Selection, by: Sequence[str]) -> list[dict[str, Any]]:
    chosen = relation(selection, by)
    columns = key_columns(by)
    names = [f"u.{name}" for name in columns]
    booked = booked_part(selection, by, is_held=False)
    rows = money_of(chosen, by, _COLUMNS, booked)
    money = ",\n".join(map(_money_columns, STATES))
    samples = ", ".join(
        f"sum(u.{name})::bigint AS {name}"
        for name in ("samples_expected", "samples_used")
    )
    query = f"""
        SELECT {"".join(f"{name}, " for name in names)} {CURRENCY}, {sums("u")}, {money},
               coalesce(sum({difference(held("u"))}), 0) AS difference,
               sum(u.rest_booked) AS rest_booked, {samples},
               array_agg(u.currency) FILTER (WHERE u.currency <> '') AS currencies
        {rows}
        GROUP BY {", ".join(names) or "()"} HAVING count(*) > 0
        {f"ORDER BY {', '.join(columns)}" if columns else ""}
    """  # built from this module's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters)
        names_of = [column.name for column in cursor.description]
        return [dict(zip(names_of, row, strict=True)) for row in cursor.fetchall()]


def _money_columns(state: str) -> str:
    """Raw money of open days, charges of closed ones, and time without money."""
    time = f"u.{state}_ms"
    unpriced = unpriced_sum(time, f"({HAS_RATES}) OR u.is_booked")
    has_priced = f"coalesce(sum({time}) FILTER (WHERE {HAS_RATES}), 0) > 0"
    return (
        f"{raw_sum(time, HAS_RATES)} AS {state}_money, sum(u.{state}_booked) AS {state}_booked, "
        f"{unpriced} + sum(u.{state}_unpriced)::bigint AS {state}_unpriced, "
        f"sum(u.{state}_lines) > 0 OR {has_priced} AS {state}_has_priced"
    )


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
            charges={
                s: _charge(row, s, amounts.get((key, i))) for i, s in enumerate(STATES)
            },
            samples_expected=row["samples_expected"],
            samples_used=row["samples_used"],
            unpriced_ms=_sum(row, "unpriced"),
            currencies=()
            if row["is_one_currency"]
            else tuple(sorted({*row["currencies"]})),
        )
        for key, row in keyed.items()
    ]


def _charge(row: dict[str, Any], state: str, opened: Money | None) -> Money | None:
    """What open days come to, and what was booked for closed ones."""
    if opened is None:
        return None
    rest = row["rest_booked"] if state == "free" else 0
    return opened + Money(row[f"{state}_booked"] + rest, row["currency"])


def _sum(row: dict[str, Any], part: str) -> int:
    return sum(row[f"{state}_{part}"] for state in STATES)


def _money(row: dict[str, Any]) -> Iterator[tuple[str, Fraction | Decimal]]:
    """The raw money of each state of which some time has a price; none if no time of the row has.

    A state without time has an amount too. Free time also has the difference of held time (N27),
    which may be all that it has.
    """
    has_priced = any(row[f"{state}_has_priced"] for state in STATES)
    if not row["is_one_currency"] or (_sum(row, "unpriced") and not has_priced):
        return
    for state in STATES:
        amount = row[f"{state}_money"]
        if state == "free" and (row["difference"] or row["rest_booked"]):
            yield state, Fraction(amount) + Fraction(row["difference"])
        elif row[f"{state}_has_priced"] or not row[f"{state}_unpriced"]:
            yield state, amount
