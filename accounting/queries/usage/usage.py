"""Held time and its money, by any dimensions (`report usage`)."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from accounting.domain.billing.charge import charge_list
from accounting.domain.core.ledger_line import HELD_STATES as HELD
from accounting.domain.core.money import NOTHING
from accounting.domain.reports.rows import UsageRow
from accounting.queries.dimensions import USAGE_DIMENSIONS, keys_of
from accounting.queries.relation import relation
from accounting.queries.selection import Selection, check_word
from accounting.rating.charge_sql import raw_sum, unpriced_sum
from accounting.rating.states_sql import sums


def usage_rows(selection: Selection, by: Sequence[str]) -> list[UsageRow]:
    """One row for each combination of dimensions, in order of its key.

    The money of a row is that of its priced time; `unpriced_ms` is the rest. It is None if none of
    its time has a price (rules.md N26, decision 17).

    Args:
        selection: period, filters and scope.
        by: dimensions.

    Raises:
        SelectionError: an unknown dimension, or facts that have expired.
    """
    _check(by, USAGE_DIMENSIONS)
    return _priced(_fetch(selection, by), by)


def usage_total(selection: Selection) -> UsageRow:
    """The whole selection as one row."""
    rows = _priced(_fetch(selection, ()), ())
    if rows:
        return rows[0]
    return UsageRow(0, 0, 0, {}, NOTHING, NOTHING, estimated=False)


def key_columns(by: Sequence[str]) -> dict[str, str]:
    """SQL by key name, in order, each once."""
    return {key.name: key.sql for key in keys_of(by)}


def _check(by: Sequence[str], allowed: Sequence[str]) -> None:
    for name in by:
        check_word("by", name, allowed)


def _fetch(selection: Selection, by: Sequence[str]) -> list[dict[str, Any]]:
    chosen = relation(selection, by)
    columns = key_columns(by)
    names = "".join(f"{sql} AS {name}, " for name, sql in columns.items())
    money = ", ".join(
        f"{raw_sum(f'u.{s}_ms')} AS {s}_money, "
        f"{unpriced_sum(f'u.{s}_ms')} AS {s}_unpriced"
        for s in HELD
    )
    query = f"""
        SELECT {names} u.currency AS currency,
               {sums("u", HELD)},
               {money}, sum(u.estimated_ms) > 0 AS estimated,
               sum(u.samples_expected)::bigint AS samples_expected,
               sum(u.samples_used)::bigint AS samples_used
        {chosen.text()} AND {chosen.is_held}
        GROUP BY {", ".join((*columns.values(), "u.currency"))}
        ORDER BY {", ".join((*columns, "currency"))}
    """  # built from this module's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters)
        names_of = [column.name for column in cursor.description]
        return [dict(zip(names_of, row, strict=True)) for row in cursor.fetchall()]


def _priced(found: list[dict[str, Any]], by: Sequence[str]) -> list[UsageRow]:
    """Rows with money, split over the list by largest remainder (N28)."""
    keys = list(key_columns(by))
    merged = _merge_unpriced(found, keys)
    amounts = charge_list(
        {
            (key, state): (row[f"{state}_money"], row["currency"])
            for key, row in merged.items()
            if _has_money(row)
            for state in HELD
        }
    )
    return [
        UsageRow(
            key=dict(zip(keys, key, strict=True)),
            busy_ms=row["busy_ms"],
            idle_ms=row["idle_ms"],
            unknown_ms=row["unknown_ms"],
            charge=sum((amounts[key, s] for s in HELD), NOTHING)
            if _has_money(row)
            else None,
            idle_charge=amounts[key, "idle"] if _has_money(row) else None,
            estimated=row["estimated"],
            samples_expected=row["samples_expected"],
            samples_used=row["samples_used"],
            unpriced_ms=_unpriced(row),
        )
        for key, row in merged.items()
    ]


def _unpriced(row: dict[str, Any]) -> int:
    return sum(row[f"{state}_unpriced"] for state in HELD)


def _has_money(row: dict[str, Any]) -> bool:
    """True if some of its time has a price, or it has no time; one currency."""
    held = sum(row[f"{state}_ms"] for state in HELD)
    return row["is_one_currency"] and (_unpriced(row) < held or not held)


def _merge_unpriced(
    found: list[dict[str, Any]], keys: Sequence[str]
) -> dict[tuple[str, ...], dict[str, Any]]:
    """One row for each key: unpriced time has no currency and is a separate row of the query."""
    merged: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in found:
        key = tuple(row[name] or "" for name in keys)
        row["is_one_currency"] = True
        known = merged.get(key)
        merged[key] = row if known is None else _both(known, row)
    return merged


_ADDED = (
    *(f"{s}_{part}" for s in HELD for part in ("ms", "money", "unpriced")),
    "samples_expected",
    "samples_used",
)


def same_currency(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """False for money in two currencies, which has no sum. Unpriced time has no currency."""
    return len({one["currency"], other["currency"]} - {""}) < 2


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The sum of two rows with one key."""
    return {
        **one,
        **{name: one[name] + other[name] for name in _ADDED},
        "is_one_currency": one["is_one_currency"] and same_currency(one, other),
        "currency": one["currency"] or other["currency"],
        "estimated": one["estimated"] or other["estimated"],
    }
