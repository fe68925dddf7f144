"""Corrections of a booking with their cause (money.md M31, M32)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Annotated, Any

from django.db import connection
from psycopg import sql

from accounting.core.charge_lines import KEY_FIELDS
from accounting.core.decimal_text import plain
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek
from accounting.kit.rows import GpuHours, column, listed
from accounting.months.reads.lines import Booking
from accounting.months.sql.line_text_sql import key_text

_WITHOUT = frozenset({"team", "profile", "price_currency", "rate", "status"})
GROUP = tuple(name for name in KEY_FIELDS if name not in _WITHOUT)
"""Fields that facts decide: a cause is found for lines that are equal in them."""


@listed("Correction")
class CorrectionRow:
    """What is corrected of one closed revision, for one cause and team.

    Attributes:
        ms, raw, charge: differences; raw in currency-milliseconds, exact.
    """

    corrects: str = column("the closed revision, as 2026-10-r1")
    cause: str = column(
        "facts (time changed), mapping (another team has it), price, or derived (a "
        "difference or spread of those)"
    )
    team: str = column()
    ms: GpuHours = column(name="gpu_hours")
    raw: Annotated[Decimal, plain] = column(
        "exact, in currency-milliseconds; for charges of 0.000000"
    )
    charge: Decimal = column()
    line_count: int = column(name="lines")


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """Lines of a booking that are corrected for one cause.

    Attributes:
        key: the texts of `KEY_FIELDS`; "" for those that do not matter to the cause.
    """

    corrects: str
    key: tuple[str, ...]
    cause: str


_ALL = """
WITH line AS (
    SELECT * FROM {table} WHERE revision_id = {revision} AND corrects <> ''
)"""
# Lines of some teams, and of others that are equal to them in the group: only time of `usage` moves
# between teams. Each group is looked up in the partial index of corrections (OFFSET 0: the planner
# would read the corrections of all teams).
_OF_TEAMS = """
WITH mine AS MATERIALIZED (
    SELECT * FROM {table}
    WHERE revision_id = {revision} AND corrects <> '' AND team = ANY({teams})
), shared AS MATERIALIZED (
    SELECT DISTINCT {group}, corrects FROM mine WHERE kind = 'usage'
), line AS (
    SELECT * FROM mine
    UNION ALL
    SELECT other.* FROM shared CROSS JOIN LATERAL (
        SELECT * FROM {table} line
        WHERE revision_id = {revision} AND line.corrects <> '' AND team <> ALL({teams})
          AND line.corrects = shared.corrects AND {equal}
        OFFSET 0
    ) other
)"""
_CAUSED = """, by_team AS (
    SELECT {group}, corrects, team, sum(ms) AS team_ms FROM line
    GROUP BY {group}, corrects, team
), changed AS (
    SELECT {group}, corrects, sum(team_ms) AS ms, bool_or(team_ms <> 0) AS is_moved
    FROM by_team GROUP BY {group}, corrects
), caused AS (
    SELECT line.*, CASE WHEN line.kind IN ('difference', 'spread') THEN 'derived'
                        WHEN changed.ms <> 0 THEN 'facts'
                        WHEN changed.is_moved THEN 'mapping' ELSE 'price' END AS cause
    FROM line JOIN changed ON line.corrects = changed.corrects AND {same}
)
"""
_ROWS = """
SELECT corrects, cause, team, sum(ms)::bigint, coalesce(sum(raw), 0), coalesce(sum(charge), 0),
       count(*)
FROM caused
WHERE ({teams}::text[] IS NULL OR team = ANY({teams}))
  AND ({after}::text[] IS NULL
       OR (corrects COLLATE "C", cause COLLATE "C", team COLLATE "C")
          > (({after}::text[])[1], ({after}::text[])[2], ({after}::text[])[3]))
GROUP BY corrects, cause, team
ORDER BY corrects COLLATE "C", cause COLLATE "C", team COLLATE "C" LIMIT {limit}
"""
_KEY = ", ".join(
    f"CASE WHEN cause = 'derived' THEN {text} ELSE '' END" if name in _WITHOUT else text
    for name in KEY_FIELDS
    for text in [key_text("caused", name)]
)
_GROUPS = f"SELECT DISTINCT corrects, cause, {_KEY} FROM caused"


def correction_rows(
    booking: Booking, teams: Sequence[str] | None = None, seek: Seek = ALL_ROWS
) -> list[CorrectionRow]:
    """The corrections of a booking by closed revision, cause and team, in this order.

    Args:
        booking: that has booked them.
        teams: only theirs; None for all. Causes are those of all teams together. Those of a few
            teams are read without reading the others'.
        seek: the rows of a page; a key is `correction_key` of a row.
    """
    only = {
        "teams": sql.Literal(None if teams is None else list(teams)),
        "after": sql.Literal(None if seek.after is None else list(seek.after)),
        "limit": sql.Literal(seek.limit),
    }
    lines = _ALL if teams is None else _OF_TEAMS
    names = [one.name for one in fields(CorrectionRow)]
    rows = _fetched(booking, lines, _ROWS, **only)
    return [CorrectionRow(**dict(zip(names, row, strict=True))) for row in rows]


def correction_key(row: CorrectionRow) -> Key:
    """The position of a row in its list."""
    return [row.corrects, row.cause, row.team]


def cause_groups(booking: Booking) -> list[CauseGroup]:
    """The cause of each correction of a booking, in no order."""
    return [
        CauseGroup(corrects, tuple(key), cause)
        for corrects, cause, *key in _fetched(booking, _ALL, _GROUPS)
    ]


def _fetched(
    booking: Booking, lines: str, select: str, **more: sql.Composable
) -> list[tuple[Any, ...]]:
    statement = sql.SQL(lines + _CAUSED + select).format(
        table=sql.Identifier(booking.table),
        revision=booking.revision_id,
        group=sql.SQL(", ").join(sql.Identifier(name) for name in GROUP),
        same=_equal("changed"),
        equal=_equal("shared"),
        **more,
    )
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string())  # the audit's hook expects text
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _equal(other: str) -> sql.Composable:
    """A condition: a line and a row of another relation are of one group."""
    return sql.SQL(" AND ").join(
        sql.SQL("line.{0} = {1}.{0}").format(
            sql.Identifier(name), sql.Identifier(other)
        )
        for name in GROUP
    )
