"""The months whose amounts are booked, for reports (money.md M5)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from django.db import connection

from accounting.core.read_once import read_once


@dataclass(frozen=True, slots=True)
class ClosedMonth:
    """A closed month in effect, as one statement saw it.

    Attributes:
        first, after: its first billing day, and the first one of the next month.
        is_divided: the hours of its lines are stored.
    """

    revision_id: int
    first: date
    after: date
    is_divided: bool


# The first line in the order of the key: looked up, not searched.
_MONTHS = """
    SELECT r.id, m.first, (m.first + interval '1 month')::date,
           r.line_count = 0 OR (SELECT line_id FROM line_hours WHERE revision_id = r.id
                                ORDER BY line_id LIMIT 1) IS NOT NULL
    FROM accounting_periodrevision r,
         LATERAL (SELECT to_date(r.period, 'YYYY-MM') AS first) m
    WHERE r.closed_at IS NOT NULL AND r.reopened_at IS NULL
    ORDER BY r.period
"""


@read_once
def closed_months() -> tuple[ClosedMonth, ...]:
    """In order; one query.

    Lines of a closed month stay when it is reopened, so that all statements of an answer that use
    one reading agree, whatever is closed, reopened or divided meanwhile.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MONTHS)
        return tuple(ClosedMonth(*row) for row in cursor.fetchall())


def days_of(months: Iterable[ClosedMonth]) -> str:
    """Their days as a PostgreSQL datemultirange."""
    days = ",".join(f"[{one.first},{one.after})" for one in months)
    return f"{{{days}}}"
