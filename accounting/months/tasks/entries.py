"""Entries of a period as lines: the team's, and their opposite on the platform's (money.md M25)."""

from django.db import connection

from accounting.core.charge_lines import PLATFORM
from accounting.core.interval import HOUR_MS
from accounting.months.tasks.periods import PeriodTerms

_SIDES = f"""
INSERT INTO booking_line (kind, team, billing_on, raw, charge, reference)
SELECT e.kind, side.team, e.billing_on, side.sign * e.amount * {HOUR_MS},
       side.sign * e.amount, e.number
FROM accounting_entry e
JOIN accounting_team t ON t.id = e.team_id
CROSS JOIN LATERAL (VALUES (t.slug, 1), ('{PLATFORM}', -1)) side(team, sign)
WHERE e.billing_on >= %(first)s AND e.billing_on < %(after)s
"""


def insert(terms: PeriodTerms) -> None:
    """Add both sides of each entry of the period to `booking_line`."""
    with connection.cursor() as cursor:
        cursor.execute(_SIDES, {"first": terms.first, "after": terms.after})
