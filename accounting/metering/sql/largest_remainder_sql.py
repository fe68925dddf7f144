"""Largest remainder in SQL, on exact numbers (money.md M2, M3).

Only `div()` and `mod()`, floored for negatives: `/` and `round()` of PostgreSQL round. The rule
over values is `accounting/core/rounding.py`; a test compares both.
"""

from collections.abc import Sequence


def floor_div(number: str, unit: str) -> str:
    """Whole units in a number, towards minus infinity. `unit` is positive."""
    return f"(div({number}, {unit}) - (mod({number}, {unit}) < 0)::int)"


def floor_mod(number: str, unit: str) -> str:
    """What `floor_div` leaves: 0 <= rest < unit."""
    return (
        f"(mod({number}, {unit}) + CASE WHEN mod({number}, {unit}) < 0"
        f" THEN {unit} ELSE 0 END)"
    )


def half_even(number: str, unit: str) -> str:
    """A number in units, rounded half to even (M2)."""
    whole, rest = floor_div(number, unit), floor_mod(number, unit)
    return (
        f"({whole} + (2 * {rest} > {unit}"
        f" OR (2 * {rest} = {unit} AND mod({whole}, 2) <> 0))::int)"
    )


def largest_remainder(
    rows: str,
    number: str,
    unit: str,
    total: str,
    within: str,
    key: Sequence[str],
    *,
    is_text: bool = True,
) -> str:
    """A SELECT of all columns of `rows` and `share`, whole units whose sum is the total.

    Each gets its whole units; what the total needs beyond them is divided equally, and the
    remainder goes to the largest rests, with ties in the order of the key's bytes.

    Args:
        rows: name of a table or common table expression.
        number: column with exact amounts, not null.
        unit: how much of `number` is one unit.
        total: column with the list's total in units, the same in each of its rows.
        within: columns that name a list.
        key: texts over the rows, named `floored`, that break ties, compared as bytes one by one.
        is_text: False for a key of values whose order is that of their texts, such as instants.
    """
    order = ' COLLATE "C"' if is_text else ""
    ties = ", ".join(f"{column}{order}" for column in key)
    return f"""
    SELECT counted.*, floored + each_gets + (place <= one_more_for)::int AS share
    FROM (
        SELECT floored.*,
               {floor_div("(total_units - sum(floored) OVER list)", "count(*) OVER list")}
                   AS each_gets,
               {floor_mod("(total_units - sum(floored) OVER list)", "count(*) OVER list")}
                   AS one_more_for,
               row_number() OVER (PARTITION BY {within} ORDER BY rest DESC, {ties}) AS place
        FROM (
            SELECT {rows}.*, {total} AS total_units,
                   {floor_div(number, unit)} AS floored, {floor_mod(number, unit)} AS rest
            FROM {rows}
        ) floored
        WINDOW list AS (PARTITION BY {within})
    ) counted"""


def row_shares(
    table: str,
    condition: str,
    *,
    number: str,
    unit: str,
    total: str,
    within: str,
    key: Sequence[str],
) -> str:
    """A SELECT of `row_at` and `share`: `largest_remainder` of wide rows, sorted by little.

    Rows are sorted by their rests alone. Keys are made and compared only for equal rests of which
    some get one more unit and others do not: a million lines take half of the time.

    Args:
        table: whose rows, named `l`; `row_at` is their `ctid`.
        condition: which rows.
        number, unit, within: as for `largest_remainder`, over `l`.
        total: an aggregate over the rows `l` of a list: its total in units.
        key: texts over the rows `l` that break ties, compared as bytes one by one.
    """
    ties = ", ".join(f'{column} COLLATE "C"' for column in key)
    return f"""
    WITH floored AS MATERIALIZED (
        SELECT l.ctid AS row_at, {within} AS list,
               {floor_div(number, unit)} AS floored, {floor_mod(number, unit)} AS rest
        FROM {table} l WHERE {condition}
    ), missing AS (
        SELECT {within} AS list, {total} - sum({floor_div(number, unit)}) AS units,
               count(*) AS row_count
        FROM {table} l WHERE {condition} GROUP BY {within}
    ), ranked AS MATERIALIZED (
        SELECT row_at, list, floored + {floor_div("units", "row_count")} AS least,
               {floor_mod("units", "row_count")} AS one_more_for,
               rank() OVER by_rest AS first_place, count(*) OVER by_rest AS last_place
        FROM floored JOIN missing USING (list)
        WINDOW by_rest AS (PARTITION BY list ORDER BY rest DESC)
    ), tied AS (
        SELECT r.row_at, r.first_place - 1
                   + row_number() OVER (PARTITION BY r.list ORDER BY {ties}) AS place
        FROM ranked r JOIN {table} l ON l.ctid = r.row_at
        WHERE r.first_place <= r.one_more_for AND r.last_place > r.one_more_for
    )
    SELECT row_at, least + (coalesce(place, last_place) <= one_more_for)::int AS share
    FROM ranked LEFT JOIN tied USING (row_at)"""
