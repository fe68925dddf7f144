"""Own lines of a period: its usage at today's prices and mapping (money.md M9-M11, M17, M23)."""

from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import billing_remembered, midnight
from accounting.core.billing_calendar import DayRange
from accounting.core.charge_lines import KEY_FIELDS
from accounting.metering.sql.largest_remainder_sql import half_even, row_shares
from accounting.months.rules.methods import Spread
from accounting.months.sql.line_text_sql import key_text
from accounting.months.sql.spread_sql import spread_lines
from accounting.months.tasks.periods import PeriodTerms
from accounting.prices.sql.line_sql import OWN_FIELDS, OWN_LINES

MICRO_RAW = "3.6"  # currency-milliseconds in a millionth of the currency
KEY_TEXTS = tuple(key_text("floored", name) for name in KEY_FIELDS)
"""The key of a line as `largest_remainder` compares it."""

_COLUMNS = ", ".join(OWN_FIELDS)


@billing_remembered()
def parameters(terms: PeriodTerms) -> dict[str, Any]:
    """Parameters of SQL over the billing days of a period."""
    days = DayRange(terms.first, terms.after).each()
    return {
        "days": days,
        "starts": [midnight(day) for day in days],
        "first": terms.first,
        "after": terms.after,
        "currency": terms.currency,
        "paid_states": list(terms.method.paid_states),
        "corrects": "",
    }


def insert(terms: PeriodTerms, corrects: str = "", lines: str = OWN_LINES) -> None:
    """Add the own lines of a period to `booking_line`, exact and without charges.

    Args:
        terms: of the period.
        corrects: a mark for the lines, where those of a closed period are computed again.
        lines: a SELECT of `line_sql.own_lines`.
    """
    with connection.cursor() as cursor:
        cursor.execute(_inserted(lines), parameters(terms) | {"corrects": corrects})
    insert_spread(terms, corrects)


def insert_spread(terms: PeriodTerms, corrects: str = "") -> None:
    """Add the lines of the method's spread; the platform's lines are in `booking_line`."""
    if terms.method.spread is Spread.NONE:
        return
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE booking_line")
        cursor.execute(
            _inserted(spread_lines(terms.method.spread)),
            parameters(terms) | {"corrects": corrects},
        )


def _inserted(select: str) -> str:
    return f"""
        INSERT INTO booking_line ({_COLUMNS}, corrects)
        SELECT own.*, %(corrects)s FROM ({select}) own"""


# Each team's lines come to the rounded sum of what they are exactly (M4b).
_SHARES = f"""
UPDATE booking_line l SET charge = shared.share * 0.000001
FROM ({
    row_shares(
        "booking_line",
        "l.raw IS NOT NULL AND l.corrects = %(corrects)s",
        number="l.raw",
        unit=MICRO_RAW,
        total=half_even("sum(l.raw)", MICRO_RAW),
        within="l.team",
        key=[key_text("l", name) for name in KEY_FIELDS],
    )
}) shared
WHERE l.ctid = shared.row_at
"""


def share_charges(corrects: str) -> None:
    """Give each line of a list its charge: largest remainder to the statement's sum."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE booking_line")  # new, so that its size is not known
        cursor.execute(_SHARES, {"corrects": corrects})
