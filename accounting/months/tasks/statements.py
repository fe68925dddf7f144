"""Statements of a booking, and its rounding lines (money.md M4, M8)."""

from django.db import connection

from accounting.core.charge_lines import PLATFORM
from accounting.metering.sql.largest_remainder_sql import half_even
from accounting.months.tasks.periods import PeriodTerms

ENTRY_KINDS = "('credit', 'adjustment')"
_MONEY = f"""
    SELECT team,
           coalesce(sum(charge) FILTER (WHERE corrects = '' AND kind NOT IN {ENTRY_KINDS}), 0)
               AS own6,
           coalesce(sum(charge) FILTER (WHERE kind IN {ENTRY_KINDS}), 0) AS entries6,
           coalesce(sum(charge) FILTER (WHERE corrects <> ''), 0) AS corrections6,
           coalesce(sum(charge), 0) AS total6
    FROM (
        SELECT team, charge, corrects, kind FROM booking_line
        UNION ALL SELECT '{PLATFORM}', 0, '', 'platform'
    ) lines
    GROUP BY team
"""
_TIME = """
    SELECT team, coalesce(sum(ms) FILTER (WHERE state = 'busy'), 0) AS busy_ms,
           coalesce(sum(ms) FILTER (WHERE state = 'idle'), 0) AS idle_ms,
           coalesce(sum(ms) FILTER (WHERE state = 'unknown'), 0) AS unknown_ms,
           coalesce(sum(ms) FILTER (WHERE status <> 'priced'), 0) AS without_money_ms
    FROM booking_line WHERE corrects = '' AND kind IN ('usage', 'platform')
    GROUP BY team
"""
# The platform's payable is what the period's leaves after all others' (M4e).
_STATEMENTS = f"""
INSERT INTO booking_statement
WITH money AS ({_MONEY}), time AS ({_TIME}), rounded AS (
    SELECT money.*, {half_even("total6", "%(minor)s::numeric")} * %(minor)s::numeric AS payable
    FROM money
), period AS (
    SELECT {half_even("sum(total6)", "%(minor)s::numeric")} * %(minor)s::numeric
           - coalesce(sum(payable) FILTER (WHERE team <> '{PLATFORM}'), 0) AS of_platform
    FROM rounded
)
SELECT team, own6, entries6, corrections6, total6,
       CASE WHEN team = '{PLATFORM}' THEN of_platform ELSE payable END,
       coalesce(busy_ms, 0), coalesce(idle_ms, 0), coalesce(unknown_ms, 0),
       coalesce(without_money_ms, 0)
FROM rounded CROSS JOIN period LEFT JOIN time USING (team)
"""
_ROUNDING = """
INSERT INTO booking_line (kind, team, charge)
SELECT 'rounding', team, payable - total6 FROM booking_statement WHERE payable <> total6
"""


def insert(terms: PeriodTerms) -> None:
    """Sum up `booking_line` by team into `booking_statement`, and add the rounding lines."""
    minor = f"{10**-terms.minor_places:.{terms.minor_places}f}"
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENTS, {"minor": minor})
        cursor.execute(_ROUNDING)
