"""The months whose amounts are booked, for reports (money.md M5)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from django.db import connection

from accounting.core.read_once import read_once
from accounting.kit.reads.selection import SelectionError


@dataclass(frozen=True, slots=True)
class ClosedMonth:
    """A closed month in effect, as one statement saw it.

    Attributes:
        first, after: its first billing day, and the first one of the next month.
        is_divided: the hours of its lines are stored.
        revision: its number among the closes of the month.
    """

    revision_id: int
    first: date
    after: date
    is_divided: bool
    revision: int

    @property
    def name(self) -> str:
        """As in addresses: `2026-10-r1`."""
        return f"{self.first:%Y-%m}-r{self.revision}"


# The first line in the order of the key: looked up, not searched.
_MONTHS = """
    SELECT r.id, m.first, (m.first + interval '1 month')::date,
           r.line_count = 0 OR (SELECT line_id FROM line_hours WHERE revision_id = r.id
                                ORDER BY line_id LIMIT 1) IS NOT NULL, r.revision
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


_CLOSES = """
    SELECT r.id, m.first, (m.first + interval '1 month')::date, false, r.revision
    FROM accounting_periodrevision r,
         LATERAL (SELECT to_date(r.period, 'YYYY-MM') AS first) m
    WHERE r.closed_at IS NOT NULL AND r.period || '-r' || r.revision = ANY(%s)
    ORDER BY r.period, r.revision
"""


@read_once
def closes_named(names: Sequence[str]) -> tuple[ClosedMonth, ...]:
    """Closes by their names, as `2026-10-r1`, whether they were reopened or not; in order.

    Raises:
        SelectionError: a name of no close, or two closes of one month.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CLOSES, [list(names)])
        found = tuple(ClosedMonth(*row) for row in cursor.fetchall())
    if len(found) < len(set(names)):
        raise SelectionError(
            f"{', '.join(names)} is not a close; use a month and its revision, like 2026-10-r1",
            parameter="close",
        )
    if len({one.first for one in found}) < len(found):
        raise SelectionError("two closes of one month", parameter="close")
    return found


def days_of(months: Iterable[ClosedMonth]) -> str:
    """Their days as a PostgreSQL datemultirange."""
    days = ",".join(f"[{one.first},{one.after})" for one in months)
    return f"{{{days}}}"
