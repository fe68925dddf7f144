"""Stores what was computed: the lines and statements of a revision, and its totals."""

from collections.abc import Iterator
from typing import Any

from django.db import connection

from accounting.core.charge_lines import FIELDS
from accounting.months.models.period import PeriodRevision
from accounting.months.rules.close_hash import CloseHeader, close_hash
from accounting.months.sql.line_text_sql import line_id, line_text

_FIELDS = ", ".join(FIELDS)
TEXTS_AT_ONCE = 20_000


def store_lines(table: str, revision: PeriodRevision) -> None:
    """Insert `booking_line` and `booking_statement` as those of a revision; sum up its totals.

    Args:
        table: `running_line` or `charge_line`.
        revision: whose statements are replaced.
    """
    values: dict[str, Any] = {
        "id": revision.pk,
        "period": revision.period,
        "revision": revision.revision,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO {table} (revision_id, line_id, {_FIELDS})
                SELECT %(id)s, {line_id("l")}, {_FIELDS} FROM booking_line l
                ORDER BY l.team""",  # a statement reads few pages
            values,
        )
        revision.line_count = cursor.rowcount
        revision.statements.all().delete()
        cursor.execute(
            """INSERT INTO accounting_statement
                   (revision_id, team, own6, entries6, corrections6, total6, payable,
                    busy_ms, idle_ms, unknown_ms, without_money_ms)
               SELECT %(id)s, team, own6, entries6, corrections6, total6, payable,
                      busy_ms, idle_ms, unknown_ms, without_money_ms
               FROM booking_statement""",
            values,
        )
        cursor.execute(
            """SELECT sum(total6), sum(payable), sum(without_money_ms)
               FROM booking_statement"""
        )
        revision.total6, revision.payable, revision.without_money_ms = cursor.fetchone()


def hash_lines(table: str, revision: PeriodRevision) -> str:
    """The hash of a revision's stored lines, read in the order of their bytes (M29)."""
    header = CloseHeader(
        period=revision.period,
        revision=revision.revision,
        starts_at=revision.starts_at,
        ends_at=revision.ends_at,
        timezone=revision.timezone,
        currency=revision.currency,
        minor_places=revision.minor_places,
        method=revision.method,
        line_count=revision.line_count,
        payable=revision.payable,
        previous=revision.previous_hash,
    )
    return close_hash(header, line_texts(table, revision))


def line_texts(table: str, revision: PeriodRevision) -> Iterator[str]:
    """The texts of a revision's lines in the order of their bytes; in a transaction.

    A cursor on the server: memory does not grow with the number of lines.
    """
    name = f"line_texts_{revision.pk}"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""DECLARE {name} NO SCROLL CURSOR FOR
                SELECT text FROM (
                    SELECT {line_text("l")} AS text FROM {table} l WHERE l.revision_id = %s
                ) texts ORDER BY text COLLATE "C" """,
            [revision.pk],
        )
        try:
            while rows := _fetched(name):
                yield from rows
        finally:
            cursor.execute(f"CLOSE {name}")


def _fetched(name: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"FETCH {TEXTS_AT_ONCE} FROM {name}")
        return [row[0] for row in cursor.fetchall()]
