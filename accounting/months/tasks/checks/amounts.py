"""Checks of a close that read money: prices, conversions, unmapped time, conservation."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.core.unmapped import UNMAPPED
from accounting.metering.sql.states_sql import held, wall
from accounting.months.models.period import PeriodRevision
from accounting.months.rules.close_checks import Cause
from accounting.months.tasks import own_lines
from accounting.months.tasks.periods import PeriodTerms, first_day, previous_period
from accounting.prices.sql.line_sql import DATED, LINES, line_parts

# Money of GPUs at their own price, and what lacks a price or a conversion. Per day, because
# lines are compared by day.
_FLEET = f"""
    SELECT billing_on, cluster, model, sum({wall()}) AS ms,
           sum({wall()} * own_rate * own_fx) AS raw,
           sum({wall()}) FILTER (WHERE rate IS NULL OR own_rate IS NULL) AS unpriced_ms,
           sum({wall()}) FILTER (WHERE rate * own_rate IS NOT NULL
                                 AND (fx IS NULL OR own_fx IS NULL)) AS unconverted_ms,
           sum({held()}) FILTER (WHERE team = '{UNMAPPED}' AND is_held) AS unmapped_ms,
           sum({held()} * rate * fx) FILTER (WHERE team = '{UNMAPPED}' AND is_held)
               AS unmapped_raw,
           sum({held()} * rate * fx) FILTER (WHERE is_held) AS held_raw
    FROM dated
    GROUP BY billing_on, cluster, model
"""
_LACKING = f"""
    WITH dated AS ({DATED})
    SELECT cluster || ' ' || model, coalesce(sum(unpriced_ms), 0),
           coalesce(sum(unconverted_ms), 0), coalesce(sum(unmapped_ms), 0),
           coalesce(sum(unmapped_raw), 0), coalesce(sum(held_raw), 0)
    FROM ({_FLEET}) fleet GROUP BY cluster, model
"""
_UNBALANCED = """
    WITH {dated}, fleet AS ({fleet}), booked AS (
        SELECT billing_on, cluster, model, sum(ms) AS ms, coalesce(sum(raw), 0) AS raw
        FROM ({lines}) lines
        GROUP BY billing_on, cluster, model
    )
    SELECT cluster || ' ' || billing_on || ' ' || model || ' (lines)', 1
    FROM fleet f FULL JOIN booked b USING (billing_on, cluster, model)
    WHERE coalesce(f.ms, 0) <> coalesce(b.ms, 0)
       OR (f.unpriced_ms IS NULL AND f.unconverted_ms IS NULL
           AND coalesce(f.raw, 0) <> coalesce(b.raw, 0))
"""
_BOOKED = """
    SELECT * FROM {table}
    WHERE corrects = '' AND kind IN ('usage', 'platform', 'difference', 'spread')
"""


def causes(terms: PeriodTerms, lines: str | None) -> Mapping[str, Sequence[Cause]]:
    """What the checks of money found, by code.

    Args:
        terms: of the period.
        lines: a table of its booking, or None: what its own lines would be.
    """
    values = own_lines.parameters(terms)
    with connection.cursor() as cursor:
        cursor.execute(_LACKING, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    held_raw = sum((row[5] for row in rows), Decimal(0))
    unmapped_raw = sum((row[4] for row in rows), Decimal(0))
    unmapped_ms = sum((row[3] for row in rows), Decimal(0))
    return {
        "unpriced": [Cause(row[0], row[1]) for row in rows if row[1]],
        "unconverted": [Cause(row[0], row[2]) for row in rows if row[2]],
        "unmapped": [Cause(UNMAPPED, unmapped_raw / held_raw)] if held_raw else [],
        "unmapped_any": [Cause(UNMAPPED, unmapped_ms)],
        "conservation": _unbalanced(values, lines),
        "moved": _moved(terms, is_computed=lines is not None),
    }


def _unbalanced(values: Mapping[str, Any], lines: str | None) -> list[Cause]:
    dated, select = line_parts(DATED), LINES
    if lines:
        dated, select = f"dated AS ({DATED})", _BOOKED.format(table=lines)
    query = _UNBALANCED.format(dated=dated, fleet=_FLEET, lines=select)
    with connection.cursor() as cursor:
        cursor.execute(query, dict(values))
        return [Cause(subject, Decimal(value)) for subject, value in cursor.fetchall()]


def _moved(terms: PeriodTerms, *, is_computed: bool) -> list[Cause]:
    """The change of the total from the month before, as a share of that.

    By day with data: a ledger that began late in a month has few of its days. Its subject is the
    month that is compared with, and its days.
    """
    period, earlier = terms.name, previous_period(terms.name)
    totals = dict(
        PeriodRevision.objects.filter(
            period__in=(period, earlier), reopened_at=None
        ).values_list("period", "total6")
    )
    if is_computed:
        with connection.cursor() as cursor:
            cursor.execute("SELECT sum(total6) FROM booking_statement")
            totals[period] = cursor.fetchone()[0]
    before, total = totals.get(earlier), totals.get(period)
    first = first_day(earlier)
    days, of_days = _days_with_data(terms.first, terms.after)
    days_before, of_days_before = _days_with_data(first, terms.first)
    if not before or total is None or not days or not days_before:
        return []
    share = abs(total * days_before / (before * days) - 1)
    few = (
        f" ({days_before} of {of_days_before} days with data; "
        f"this month: {days} of {of_days})"
    )
    is_whole = (days, days_before) == (of_days, of_days_before)
    return [Cause(f"{first:%B %Y}{'' if is_whole else few}", share)]


def _days_with_data(first: date, after: date) -> tuple[int, int]:
    """The billing days that have data, and all days."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(DISTINCT billing_on) FROM usage_day_total
               WHERE billing_on >= %s AND billing_on < %s""",
            [first, after],
        )
        return int(cursor.fetchone()[0]), (after - first).days
